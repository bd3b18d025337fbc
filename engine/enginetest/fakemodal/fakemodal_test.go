package fakemodal_test

import (
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	modal "github.com/modal-labs/modal-client/go"

	"github.com/seer-engine/seer/engine/enginetest/fakemodal"
	"github.com/seer-engine/seer/internal/testkit"
)

// begin starts a cloud and an official client of it.
func begin(t *testing.T, o fakemodal.Options) (*fakemodal.Cloud, *modal.Client) {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	if o.Pace == 0 {
		o.Pace = time.Millisecond
	}
	o.Logf = t.Logf
	if o.Grace == 0 {
		o.Grace = 100 * time.Millisecond
	}
	cloud := fakemodal.New(o)
	testkit.Start(t, cloud)
	return cloud, connect(t, cloud.Env())
}

func connect(t *testing.T, env map[string]string) *modal.Client {
	t.Helper()
	for name, value := range env {
		t.Setenv(name, value)
	}
	client, err := modal.NewClientWithOptions(&modal.ClientParams{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

func newApp(t *testing.T, client *modal.Client) *modal.App {
	t.Helper()
	app, err := client.Apps.FromName(t.Context(), "test", &modal.AppFromNameParams{CreateIfMissing: true})
	if err != nil {
		t.Fatal(err)
	}
	return app
}

func create(t *testing.T, client *modal.Client, p modal.SandboxCreateParams) *modal.Sandbox {
	t.Helper()
	return createFrom(t, client, client.Images.FromRegistry("python:3.12-slim", nil), p)
}

// createFrom creates a sandbox whose file system is an image.
func createFrom(t *testing.T, client *modal.Client, image *modal.Image, p modal.SandboxCreateParams) *modal.Sandbox {
	t.Helper()
	sb, err := client.Sandboxes.Create(t.Context(), newApp(t, client), image, &p)
	if err != nil {
		t.Fatal(err)
	}
	return sb
}

// backends runs a test with a GPU, on the first back end, and without, on the second.
func backends(t *testing.T, test func(t *testing.T, gpu string)) {
	t.Run("gpu", func(t *testing.T) { test(t, "H100") })
	t.Run("cpu", func(t *testing.T) { test(t, "") })
}

func TestLifeOfASandbox(t *testing.T) {
	backends(t, func(t *testing.T, gpu string) {
		cloud, client := begin(t, fakemodal.Options{})
		port := testkit.FreePort(t)
		sb := create(t, client, modal.SandboxCreateParams{GPU: gpu, Name: "n1", Tags: map[string]string{"key": "k1"}, EncryptedPorts: []int{port},
			Env:     map[string]string{"WHO": "me"},
			Command: []string{"sh", "-c", "echo hello $WHO; echo bad >&2; echo page > index.html; exec python3 -m http.server " + strconv.Itoa(port)}})
		tunnels, err := sb.Tunnels(t.Context(), 2*time.Minute, nil)
		if err != nil {
			t.Fatal(err)
		}
		tunnel := tunnels[port]
		url := "http://" + net.JoinHostPort(tunnel.Host, strconv.Itoa(tunnel.Port)) + "/index.html"
		testkit.Eventually(t, "the page", func() bool { return get(url) == "page\n" })
		if m := cloud.Machines(); len(m) != 1 || m[0].State != fakemodal.Running || !m[0].Billing || m[0].Tags["key"] != "k1" || m[0].GPU != gpu {
			t.Errorf("machines: %+v", m)
		}
		if code, err := sb.Poll(t.Context(), nil); err != nil || code != nil {
			t.Errorf("poll: %v %v", code, err)
		}
		if code, err := sb.Terminate(t.Context(), &modal.SandboxTerminateParams{Wait: true}); err != nil || code != 137 {
			t.Errorf("terminate: %d %v", code, err)
		}
		out, err := io.ReadAll(sb.Stdout)
		if err != nil || string(out) != "hello me\n" {
			t.Errorf("stdout: %q %v", out, err)
		}
		if errs, err := io.ReadAll(sb.Stderr); err != nil || !strings.HasPrefix(string(errs), "bad\n") {
			t.Errorf("stderr: %q %v", errs, err)
		}
		if m := cloud.Machines(); m[0].State != fakemodal.Ended || m[0].Billing || m[0].Result != "TERMINATED" {
			t.Errorf("machines: %+v", m)
		}
		if left, err := os.ReadDir(filepath.Join(strings.TrimSuffix(cloud.Env()["MODAL_CONFIG_PATH"], "modal.toml"), "machines")); err != nil || len(left) != 0 {
			t.Errorf("left behind: %v %v", left, err)
		}
	})
}

func get(url string) string {
	resp, err := http.Get(url)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	return string(body)
}
