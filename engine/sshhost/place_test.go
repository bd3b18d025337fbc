package sshhost

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seer-engine/seer/internal/testkit"
)

// On a network file system neither sockets nor locks work; machines are kept elsewhere.
func TestPlace(t *testing.T) {
	t.Parallel()
	home, disk := t.TempDir(), t.TempDir()
	own := fmt.Sprintf("%s/seer-%d", disk, os.Geteuid())
	getenv := func(name string) string { return map[string]string{"HOME": home}[name] }
	for name, c := range map[string]struct {
		far   func(string) (bool, error)
		state string
		moved string
		err   string
	}{
		"own disk": {far: func(string) (bool, error) { return false, nil }, state: filepath.Join(home, ".local/state/seer")},
		"network": {far: func(dir string) (bool, error) { return strings.HasPrefix(dir, home), nil },
			state: own + "/state", moved: "is on a network file system"},
		"all":     {far: func(string) (bool, error) { return true, nil }, err: "set XDG_STATE_HOME"},
		"unknown": {far: func(string) (bool, error) { return false, errors.New("stale handle") }, err: "stale handle"},
	} {
		got, err := choose(getenv, c.far, disk)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil || got.state != c.state || !strings.Contains(got.moved, c.moved) || (got.moved != "") != (c.moved != "") {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if c.moved != "" {
			store, err := got.store(getenv)
			if err != nil || store.CacheDir() != own+"/cache" || strings.HasPrefix(store.RuntimeDir(), home) {
				t.Errorf("%s: %+v, %v", name, store, err)
			}
		}
	}
	if err := os.Chmod(own, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := choose(getenv, func(dir string) (bool, error) { return strings.HasPrefix(dir, home), nil }, disk); err == nil || !strings.Contains(err.Error(), "mode 0755") {
		t.Errorf("others can enter: %v", err)
	}
	if far, err := networkDisk(home); err != nil || far {
		t.Errorf("the disk of this test: %v, %v", far, err)
	}
}

func TestPythons(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	fake := func(name, version string) {
		script := fmt.Sprintf("#!/bin/sh\necho '{\"executable\":\"%s/%s\",\"version\":\"%s\",\"paths\":[]}'\n", bin, name, version)
		testkit.WriteProgram(t, filepath.Join(bin, name), script)
	}
	fake("old", "3.6.8")
	fake("usual", "3.11.2")
	fake("python3.12", "3.12.4")
	getenv := func(usual string) func(string) string {
		return func(name string) string {
			return map[string]string{"SEER_PYTHON": filepath.Join(bin, usual), "PATH": bin}[name]
		}
	}
	if _, err := anyPython(t.Context(), getenv("old")); err == nil || !strings.Contains(err.Error(), "3.6.8") {
		t.Errorf("the one that was named is too old: %v", err)
	}
	if found, err := python(t.Context(), getenv("usual"), "3.11"); err != nil || found.Version != "3.11.2" {
		t.Errorf("%+v, %v", found, err)
	}
	for wanted, text := range map[string]string{"3.99": "no python3.99 in the PATH", "3.1": "Python 3.1 is wanted"} {
		if _, err := python(t.Context(), getenv("usual"), wanted); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", wanted, err)
		}
	}
}
