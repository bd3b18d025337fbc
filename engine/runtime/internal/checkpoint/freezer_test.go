package checkpoint

import (
	"net/http"
	"net/http/httptest"
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

// TestThawOfAnotherFreeze has a client thaw late: its own freeze has ended by itself, and the
// one that another client has begun since goes on.
func TestThawOfAnotherFreeze(t *testing.T) {
	t.Parallel()
	c := New(Deps{})
	thaw := func(id string) error {
		return c.PostThaw(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/thaw?id="+id, nil))
	}
	var ids []string
	for range 2 {
		c.freezer.end()
		if len(ids) > 0 {
			c.freezer.release()
		}
		if _, err := c.freezer.begin(t.Context()); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, c.freezer.lastID())
	}
	if err := thaw(ids[0]); protocol.CodeOf(err) != protocol.Conflict || !c.Frozen() {
		t.Errorf("the freeze of another one was ended: %v", err)
	}
	if err := thaw(ids[1]); err != nil || c.Frozen() {
		t.Errorf("its own freeze goes on: %v", err)
	}
	c.freezer.release()
	if _, err := c.freezer.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := thaw(""); err != nil || c.Frozen() { // an older client
		t.Errorf("without an ID: %v", err)
	}
}
