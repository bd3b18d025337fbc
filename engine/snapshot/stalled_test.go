package snapshot_test

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

// Whoever stops an import or an export that waits for somebody else does not wait.
func TestStoppedWhileNothingMoves(t *testing.T) {
	s := newStore(t)
	save(t, s, "large", file("f", noise(t, 3<<20)))
	data := exported(t, s, "large")
	stalled := func(what string, run func(context.Context, *os.File, *os.File) error) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		defer w.Close()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		done := make(chan error, 1)
		go func() { done <- run(ctx, r, w) }()
		select {
		case err := <-done:
			t.Errorf("%s has ended: %v", what, err)
			return
		case <-time.After(50 * time.Millisecond): // any moment will do
		}
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", what, err)
		}
	}
	stalled("export", func(ctx context.Context, _, w *os.File) error { return s.Export(ctx, "large", w) })
	other := newStore(t)
	stalled("import", func(ctx context.Context, r, _ *os.File) error {
		_, err := other.Import(ctx, io.MultiReader(strings.NewReader(string(data[:1<<20])), r), "")
		return err
	})
	if got := filesIn(t, other); got != "names 0 blobs 0 tmp 0" {
		t.Errorf("it has left %s", got)
	}
}
