package state_test

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/seer-engine/seer/engine/state"
)

// TestFullDisk runs itself on a file system of 64 KiB.
func TestFullDisk(t *testing.T) {
	if os.Getenv("SEER_TEST_FULL") != "" {
		fullDisk(t)
		return
	}
	bwrap, err := exec.LookPath("bwrap")
	if err != nil {
		t.Fatal("bubblewrap is needed for this test: apt-get install bubblewrap")
	}
	cmd := exec.Command(bwrap, "--unshare-user", "--ro-bind", "/", "/", "--size", "65536", "--tmpfs", "/mnt", "--dev", "/dev",
		"--setenv", "SEER_TEST_FULL", "1", os.Args[0], "-test.run=^TestFullDisk$", "-test.v")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func fullDisk(t *testing.T) {
	path := "/mnt/f"
	if err := state.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := state.WriteFile(path, make([]byte, 1<<20), 0o600)
	var full *state.NoSpaceError
	if !errors.Is(err, state.ErrNoSpace) || !errors.As(err, &full) || full.Path != path || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("error %v", err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "old" {
		t.Errorf("the file is %q, %v", got, err)
	}
	if entries, _ := os.ReadDir("/mnt"); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}
