package runpodcloud_test

import (
	"context"
	"net/http"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/runtime/loader"
	"github.com/seer-engine/seer/internal/testbuild"
)

// quote makes one word of a string for whatever splits words.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// bootable is a request whose pod waits for a runtime.
func bootable(t *testing.T, token string) object {
	t.Helper()
	env, err := loader.BootEnv(loader.Boot{Listen: "tcp:0.0.0.0:8717", AdminSHA256: protocol.HashToken(token), Machine: "rp-" + token[:12]})
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
	r := start(t)
	token := protocol.NewToken()
	id := r.create(bootable(t, token))
	client, err := protocol.NewClient(r.at(id, "8717"), token)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	health, err := client.Boot(ctx, protocol.BootOptions{Binary: func(goos, goarch string) (string, error) {
		return filepath.Join(artifacts.Runtime, "seer-runtime-"+goos+"-"+goarch), nil
	}})
	if err != nil || health.Version == "" {
		t.Fatalf("%+v, %v", health, err)
	}
	r.do(http.StatusNoContent, "DELETE", "/v2/pods/"+id, nil)
	await(t, "nothing of the pod is left", func() bool { return r.Machine(id) == nil })
}
