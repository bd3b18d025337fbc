// Package faults keeps what tests want to go wrong in a fake service, and counts what each
// fault has hit.
package faults

import (
	"slices"
	"sync"
)

// Count says which of the requests that a fault fits it hits.
type Count struct {
	Skip  int // how many pass first
	Times int // how many it hits; 0 = all, until it is removed
}

// List is the faults of a service, of type F. The zero value has none. It is safe for
// concurrent use.
type List[F any] struct {
	mu  sync.Mutex
	all []*injected[F]
}

type injected[F any] struct {
	fault         F
	count         Count
	skipped, hits int
}

// Inject adds a fault after those that are there. The function removes it.
func (l *List[F]) Inject(f F, c Count) (remove func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	added := &injected[F]{fault: f, count: c}
	l.all = append(l.all, added)
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.all = slices.DeleteFunc(l.all, func(have *injected[F]) bool { return have == added })
	}
}

// Clear removes all faults.
func (l *List[F]) Clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = nil
}

// Pick finds the first fault that fits a request and is not used up, and counts it.
func (l *List[F]) Pick(fits func(F) bool) (found F, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.all {
		if f.count.Times > 0 && f.hits >= f.count.Times || !fits(f.fault) {
			continue
		}
		if f.skipped < f.count.Skip {
			f.skipped++
			continue
		}
		f.hits++
		return f.fault, true
	}
	return found, false
}
