package isolation_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/internal/testkit"
)

// A trial that is cancelled while bubblewrap sets itself up leaves nothing that
// waits for ever.
func TestCancelledDetectLeavesNothing(t *testing.T) {
	before := trials(t)
	for after := time.Duration(0); after < 12*time.Millisecond; after += 50 * time.Microsecond {
		ctx, cancel := context.WithTimeout(t.Context(), after)
		isolation.Detect(ctx)
		cancel()
	}
	testkit.EventuallyNil(t, "the end of all trials", func() error {
		if now := trials(t); len(now) > len(before) {
			return fmt.Errorf("running: %v", now)
		}
		return nil
	})
}

// trials are the processes of bubblewrap that try it out.
func trials(t *testing.T) []string {
	t.Helper()
	var found []string
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range lines {
		if line, err := os.ReadFile(path); err == nil && bytes.Contains(line, []byte("bwrap\x00")) && bytes.Contains(line, []byte("/usr/bin/true")) {
			found = append(found, filepath.Base(filepath.Dir(path)))
		}
	}
	return found
}
