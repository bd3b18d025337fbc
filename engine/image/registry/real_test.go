package registry_test

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/crypto/bcrypt"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/seer-engine/seer/engine/image"
	"github.com/seer-engine/seer/engine/image/registry"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

// TestRegistryOfImages takes an image from the real registry server, which wants a login.
func TestRegistryOfImages(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	host := serve(t, "me", "secret")
	credentials := func(context.Context, string) (string, string, error) { return "me", "secret", nil }
	want := push(t, host)
	o := image.Options{Dir: t.TempDir(), Open: registry.Open, Insecure: true, Platform: "linux/amd64", Credentials: credentials}
	root, err := image.Unpack(t.Context(), host+"/team/tools:1", o)
	if err != nil || root.Digest != want {
		t.Fatalf("%+v, %v", root, err)
	}
	if data, err := os.ReadFile(filepath.Join(root.Dir, "etc/motd")); err != nil || string(data) != "hello" {
		t.Errorf("%q, %v", data, err)
	}
	if _, err := image.Unpack(t.Context(), host+"/team/tools:2", o); sdk.CodeOf(err) != sdk.NotFound {
		t.Errorf("no such tag: %v", err)
	}
	o.Credentials = nil
	if _, err := image.Unpack(t.Context(), host+"/team/tools:1", o); sdk.CodeOf(err) != sdk.Unauthorized {
		t.Errorf("without a login: %v", err)
	}
	if again, err := image.Unpack(t.Context(), host+"/team/tools@"+want, image.Options{Dir: o.Dir, Open: registry.Open, Insecure: true, Platform: "linux/amd64", Credentials: credentials}); err != nil || again.Dir != root.Dir {
		t.Errorf("by its digest: %v", err)
	}
}

// push makes an image of one file.
func push(t *testing.T, host string) string {
	repo, err := remote.NewRepository(host + "/team/tools")
	if err != nil {
		t.Fatal(err)
	}
	repo.PlainHTTP = true
	repo.Client = &auth.Client{Credential: auth.StaticCredential(host, auth.Credential{Username: "me", Password: "secret"})}
	var plain bytes.Buffer
	w := tar.NewWriter(&plain)
	if err := w.WriteHeader(&tar.Header{Name: "etc/motd", Size: 5, Mode: 0o644, Typeflag: tar.TypeReg}); err != nil {
		t.Fatal(err)
	}
	_, _ = w.Write([]byte("hello"))
	_ = w.Close()
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	send := func(kind string, data []byte) v1.Descriptor {
		desc := v1.Descriptor{MediaType: kind, Digest: digest.FromBytes(data), Size: int64(len(data))}
		if err := repo.Push(t.Context(), desc, bytes.NewReader(data)); err != nil {
			t.Fatal(err)
		}
		return desc
	}
	layer := send(v1.MediaTypeImageLayerZstd, z.EncodeAll(plain.Bytes(), nil))
	config := send(v1.MediaTypeImageConfig, fmt.Appendf(nil, `{"os":"linux","architecture":"amd64","rootfs":{"type":"layers","diff_ids":[%q]}}`, digest.FromBytes(plain.Bytes())))
	text, err := json.Marshal(v1.Manifest{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: v1.MediaTypeImageManifest, Config: config, Layers: []v1.Descriptor{layer}})
	if err != nil {
		t.Fatal(err)
	}
	desc := send(v1.MediaTypeImageManifest, text)
	if err := repo.Tag(t.Context(), desc, "1"); err != nil {
		t.Fatal(err)
	}
	return desc.Digest.String()
}

// serve runs the registry server for one user, and returns where.
func serve(t *testing.T, user, password string) string {
	found, err := filepath.Glob("../../../.tools/registry-v*")
	if err != nil || len(found) == 0 {
		t.Fatal("the registry server is missing: run scripts/setup e2e")
	}
	dir := t.TempDir()
	hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	config := fmt.Sprintf("version: 0.1\nlog: {level: info}\nstorage: {filesystem: {rootdirectory: %s/data}}\nhttp: {addr: '127.0.0.1:0'}\nauth: {htpasswd: {realm: x, path: %s/users}}\n", dir, dir)
	for name, text := range map[string]string{"users": user + ":" + string(hash) + "\n", "config.yml": config} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(found[len(found)-1], "serve", filepath.Join(dir, "config.yml"))
	cmd.Env, cmd.Stderr = []string{"OTEL_TRACES_EXPORTER=none", "HOME=" + dir}, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	listeningAt := regexp.MustCompile(`listening on (127\.0\.0\.1:\d+)`)
	var listening []string
	testkit.EventuallyNil(t, "the registry server to listen", func() error {
		text, err := os.ReadFile(log.Name())
		if listening = listeningAt.FindStringSubmatch(string(text)); err == nil && listening == nil {
			err = errors.New(string(text))
		}
		return err
	})
	return listening[1]
}
