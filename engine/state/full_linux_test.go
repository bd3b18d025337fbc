package state_test

import (
	"errors"
	"os"
	"syscall"
	"testing"

	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/internal/testkit"
)

// TestFullDisk runs itself on a file system of 64 KiB.
func TestFullDisk(t *testing.T) { testkit.OnSmallDisk(t, 64<<10, fullDisk) }

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
