package store

import (
	"context"
	"testing"
	"time"

	"github.com/seer-engine/seer/internal/testplugin"
)

func BenchmarkRecord(b *testing.B) {
	w := newWorld(b)
	r := w.NewRecorder()
	defer r.Close()
	for b.Loop() {
		r.Record(request(1, "/m"))
	}
}

// BenchmarkDecide is what each call of a plugin waits for.
func BenchmarkDecide(b *testing.B) {
	w := newWorld(b)
	in := w.put(testplugin.Tiny(b, "1.0.0", "/m", "/n"))
	w.grant(in)
	p := inspect(b, in.File())
	time.Sleep(settled + 100*time.Millisecond)
	for b.Loop() {
		if _, err := w.Decide(context.Background(), p); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkUse is what a warm run in a folder with a lock waits for.
func BenchmarkUse(b *testing.B) {
	w := newWorld(b)
	l := &Lock{Plugins: map[string]Locked{"provider-tiny": LockedOf(w.put(testplugin.Tiny(b, "1.0.0", "/m"))), "expose-tiny": LockedOf(w.put(expose(b)))}}
	for b.Loop() {
		if _, err := w.Use(l); err != nil {
			b.Fatal(err)
		}
	}
}
