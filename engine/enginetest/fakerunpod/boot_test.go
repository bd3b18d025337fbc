package fakerunpod_test

import (
	"context"
	"encoding/json"
	"net/http"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/enginetest/fakerunpod"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/runtime/loader"
	"github.com/seer-engine/seer/internal/testbuild"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

// quote makes one word of a string for whatever splits words.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// bootable is a request whose pod waits for a runtime, for two minutes or for some seconds.
func bootable(t *testing.T, token string, seconds float64) object {
	t.Helper()
	env, err := loader.BootEnv(loader.Boot{
		Listen: "tcp:0.0.0.0:8717", AdminSHA256: protocol.HashToken(token), Machine: "rp-" + token[:12], BootSeconds: seconds,
	})
	if err != nil {
		t.Fatal(err)
	}
	var args []string
	for _, word := range loader.Command("python3") {
		args = append(args, quote(word))
	}
	return object{"args": strings.Join(args, " "), "env": env}
}

// The real loader and runtime run on a pod, and are reached through the proxy alone.
func TestBootThroughTheProxy(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the containers of the tests are Linux")
	}
	artifacts, err := testbuild.Build(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := start(t, func(o *fakerunpod.Options) { o.ProxyCut = time.Second })
	token := protocol.NewToken()
	id := r.create(bootable(t, token, 0))
	m, err := client.New(r.at(id, "8717"), token)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	health, err := m.Boot(ctx, client.BootOptions{Binary: func(goos, goarch string) (string, error) {
		return filepath.Join(artifacts.Runtime, "seer-runtime-"+goos+"-"+goarch), nil
	}})
	if err != nil || health.Version == "" {
		t.Fatalf("%+v, %v", health, err)
	}
	r.do(http.StatusNoContent, "DELETE", "/v2/pods/"+id, nil)
	testkit.Eventually(t, "nothing of the pod is left", func() bool { return r.Machine(id) == nil })
}

// A machine whose lease ends stops its own bill, with the key that it has been given.
func TestLoaderEndsItsPod(t *testing.T) {
	r := start(t)
	body := bootable(t, protocol.NewToken(), 0.05)
	end, err := json.Marshal(sdk.SelfEnd{Method: "DELETE", URL: r.URL() + "/v2/pods/{RUNPOD_POD_ID}", Headers: map[string]string{
		"Authorization": "Bearer {RUNPOD_API_KEY}", "User-Agent": "seer",
	}})
	if err != nil {
		t.Fatal(err)
	}
	body["env"].(map[string]string)[sdk.SelfEndVariable] = string(end)
	id := r.create(body)
	testkit.Eventually(t, "the pod has ended itself", func() bool { return len(r.Live()) == 0 && r.Machine(id) == nil })
	if p := r.Pods()[0]; p.Status != "TERMINATED" || p.Restarts != 0 {
		t.Errorf("%+v", p)
	}
}
