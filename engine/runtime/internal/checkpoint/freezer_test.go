package checkpoint

import (
	"testing"
	"testing/synctest"

	"github.com/seer-engine/seer/engine/protocol"
)

// TestFreezeAfterThaw freezes a machine whose processes are going on just now: it waits
// until all do, for what is stopped meanwhile would be continued.
func TestFreezeAfterThaw(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var f freezer
		if _, err := f.begin(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := f.begin(t.Context()); protocol.CodeOf(err) != protocol.Conflict {
			t.Errorf("frozen twice: %v", err)
		}
		if !f.end() {
			t.Error("it was not frozen")
		}
		begun := make(chan error, 1)
		go func() {
			_, err := f.begin(t.Context())
			begun <- err
		}()
		synctest.Wait()
		select {
		case err := <-begun:
			t.Fatalf("it did not wait: %v", err)
		default:
		}
		f.release()
		if err := <-begun; err != nil {
			t.Error(err)
		}
		f.end()
		f.release()
	})
}
