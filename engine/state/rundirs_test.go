package state_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/state"
)

// What sandboxes that live and programs that run have made stays; the rest goes.
func TestRunDirs(t *testing.T) {
	t.Parallel()
	run := filepath.Join(t.TempDir(), "run")
	open := func() *state.Store {
		s, err := state.Open(state.Options{StateDir: filepath.Join(t.TempDir(), "state"), CacheDir: t.TempDir(), RuntimeDir: run, Getenv: os.Getenv})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s, other, removed := open(), open(), open()
	made := func(dir string, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return dir
	}
	cmd := exec.Command("true")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	gone := strconv.Itoa(cmd.Process.Pid)
	dirs := s.RunDirs()
	stays := []string{made(dirs.Relay("sb-live")), made(dirs.PortRelay("sb-live", 80)), made(dirs.Page("sb-live")), made(dirs.Replay()), made(dirs.Agent())}
	goes := []string{made(dirs.Relay("sb-dead")), made(dirs.PortRelay("sb-dead", 80)), made(dirs.Page("sb-dead")),
		filepath.Join(s.RuntimeDir(), "replay-"+gone+"-1"), filepath.Join(filepath.Dir(stays[4]), gone+"-1")}
	for _, dir := range goes[3:] {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	// Of a program of another computer that has the same files, whose number means nothing here.
	elsewhere := filepath.Join(filepath.Dir(stays[4]), gone+"-2")
	lock, err := state.Acquire(t.Context(), filepath.Join(filepath.Dir(elsewhere), "."+gone+"-2.lock"))
	if err = errors.Join(err, os.Mkdir(elsewhere, 0o700)); err != nil {
		t.Fatal(err)
	}
	stays = append(stays, elsewhere)
	// Of other stores, and of an earlier version, which has not said whose they are.
	stays = append(stays, made(other.RunDirs().Relay("sb-other")), filepath.Join(run, "relay-sb-new"))
	goes = append(goes, made(removed.RunDirs().Relay("sb-removed")), filepath.Join(run, "relay-sb-old"))
	yesterday := time.Now().Add(-24 * time.Hour)
	if err := errors.Join(os.Mkdir(filepath.Join(run, "relay-sb-new"), 0o700), os.Mkdir(filepath.Join(run, "relay-sb-old"), 0o700),
		os.Chtimes(filepath.Join(run, "relay-sb-old"), yesterday, yesterday), os.RemoveAll(removed.StateDir())); err != nil {
		t.Fatal(err)
	}
	if err := s.SweepRelays(func(id string) bool { return id == "sb-live" }); err != nil {
		t.Fatal(err)
	}
	made(dirs.Agent()) // sweeps its own
	for _, dir := range stays {
		if _, err := os.Stat(dir); err != nil {
			t.Errorf("lost: %v", err)
		}
	}
	for _, dir := range goes {
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("left: %s, %v", dir, err)
		}
	}
	lock.Release() // as when its program is killed
	if err := errors.Join(s.SweepAgents(), dirs.RemoveAgent(stays[4])); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(filepath.Dir(elsewhere)); len(left) != 2 { // that of the second call, and its lock
		t.Errorf("left: %v", left)
	}
	if err := s.RemovePageDir("sb-live"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(stays[2]); !os.IsNotExist(err) {
		t.Errorf("the page: %v", err)
	}
}
