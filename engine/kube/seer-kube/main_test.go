package main

import (
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
)

// TestLastWords asks what a plugin has said, at once when it has ended.
func TestLastWords(t *testing.T) {
	stderr := os.Stderr
	t.Cleanup(func() { os.Stderr = stderr })
	said, err := listen()
	if err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		cmd := exec.Command("sh", "-c", fmt.Sprintf("echo before >&2; echo words %d >&2", i))
		cmd.Stderr = os.Stderr
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
		if got := said.last(); got != fmt.Sprintf("words %d", i) {
			t.Fatalf("after %d: %q", i, got)
		}
	}
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if got := said.last(); got != "words 199" {
				t.Errorf("beside others: %q", got)
			}
		})
	}
	all.Wait()
}
