package fakemodal_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	modal "github.com/modal-labs/modal-client/go"

	"github.com/seer-engine/seer/engine/enginetest/fakemodal"
	"github.com/seer-engine/seer/internal/testkit"
)

// Starts that are given up at any moment leave nothing that costs money for ever.
func TestManyAtOnce(t *testing.T) {
	dir := t.TempDir()
	t.Run("many", func(t *testing.T) {
		cloud, client := begin(t, fakemodal.Options{Dir: dir, StartTime: 10 * time.Millisecond})
		app := newApp(t, client)
		image, err := client.Images.FromRegistry("a", nil).Build(t.Context(), app, nil)
		if err != nil {
			t.Fatal(err)
		}
		var work sync.WaitGroup
		for i := range 24 {
			work.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), rand.N(300*time.Millisecond))
				defer cancel()
				p := modal.SandboxCreateParams{Name: fmt.Sprint("n", i), Timeout: 2 * time.Second, EncryptedPorts: []int{1234}}
				if i%2 == 0 {
					p.GPU = "T4"
				}
				sb, err := client.Sandboxes.Create(ctx, app, image, &p)
				if err != nil {
					return
				}
				if i%4 < 2 {
					_, _ = sb.Exec(ctx, []string{"sleep", "1000"}, nil)
					_, _ = sb.SnapshotFilesystem(ctx, nil)
				}
				if i%3 > 0 {
					_, _ = sb.Terminate(ctx, nil)
				}
			})
		}
		work.Wait()
		testkit.Eventually(t, "the end of all", func() bool {
			for _, m := range cloud.Machines() {
				if m.State != fakemodal.Ended {
					return false
				}
			}
			return true
		})
		if left, err := os.ReadDir(filepath.Join(dir, "machines")); err != nil || len(left) != 0 {
			t.Errorf("left behind: %v %v", left, err)
		}
	})
	testkit.Eventually(t, "the end of the cloud's goroutines", func() bool {
		buf := make([]byte, 4<<20)
		stacks := string(buf[:runtime.Stack(buf, true)])
		return !strings.Contains(stacks, "enginetest/fakemodal.") && !strings.Contains(stacks, "enginetest/container.")
	})
}
