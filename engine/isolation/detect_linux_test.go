package isolation_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/isolation"
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
	deadline := time.Now().Add(2 * time.Minute)
	for len(trials(t)) > len(before) {
		if time.Now().After(deadline) {
			t.Fatalf("left running: %v", trials(t))
		}
		<-time.After(20 * time.Millisecond)
	}
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
