package hosts_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/hosts"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/internal/kubetest"
	"github.com/seer-engine/seer/internal/testbuild"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

// TestRemoveOfNothing ends a machine whose ports were never carried: that makes no folder.
func TestRemoveOfNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	store, err := state.Open(state.Options{StateDir: filepath.Join(dir, "s"), CacheDir: filepath.Join(dir, "c"), RuntimeDir: filepath.Join(dir, "r"), Getenv: os.Getenv})
	if err != nil {
		t.Fatal(err)
	}
	h := hosts.Open(store, "", false)
	if err := errors.Join(h.Remove(t.Context(), "one"), h.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Join(store.StateDir(), "forward")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder for nothing: %v", err)
	}
}

// A cluster is used by the user's kubeconfig, and a port of a pod is carried to this computer.
func TestKube(t *testing.T) {
	s := kubetest.New(t)
	t.Setenv("KUBECONFIG", s.Kubeconfig("config", "lab", map[string]any{"lab": map[string]string{"token": kubetest.Token}}))
	store, err := state.Open(state.Options{StateDir: filepath.Join(s.Dir, "s"), CacheDir: filepath.Join(s.Dir, "c"), RuntimeDir: filepath.Join(s.Dir, "r"), Getenv: os.Getenv})
	if err != nil {
		t.Fatal(err)
	}
	artifacts, err := testbuild.Kube(filepath.Join(s.Dir, "programs"))
	if err != nil {
		t.Fatal(err)
	}
	h := hosts.Open(store, artifacts, false)
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	k := h.Kube()
	if found, err := k.Context(t.Context(), ""); err != nil || found != (sdk.KubeContext{Name: "lab", Namespace: "lab"}) {
		t.Fatalf("%+v, %v", found, err)
	}
	r, err := k.Exec(t.Context(), "lab", sdk.KubeExec{Namespace: "lab", Pod: "seer-one", Container: "seer", Argv: []string{"echo", "x"}}, nil)
	if err != nil || string(r.Stdout) != "x\n" {
		t.Fatalf("%+v, %v", r, err)
	}
	l := testkit.Loopback(t)
	testkit.ServeHTTP(t, l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "of the pod") }))
	route := sdk.Route{Kube: &sdk.KubeRoute{Context: "lab", Namespace: "lab", Pod: "seer-one", Container: "seer", Target: fmt.Sprint("tcp:", testkit.Port(l))}}
	urls, err := h.Ensure(t.Context(), "one", time.Time{}, []machine.RoutedPort{{Port: 7070, Route: route}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Remove(context.WithoutCancel(t.Context()), "one"); err != nil {
			t.Error(err)
		}
	})
	testkit.EventuallyNil(t, urls[7070], func() error {
		resp, err := http.Get(urls[7070])
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if data, err := io.ReadAll(resp.Body); err != nil || string(data) != "of the pod" {
			return fmt.Errorf("%q, %w", data, err)
		}
		return nil
	})
	_, err = h.Ensure(t.Context(), "two", time.Time{}, []machine.RoutedPort{{Port: 1}})
	testkit.WantCode(t, err, sdk.Unsupported, "does not know the way to port 1")
}
