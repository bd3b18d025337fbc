package task

import (
	"slices"
	"sync"
)

// Set is the work that a server knows by its ID: all that runs, and the last that has
// ended. The zero value remembers nothing that has ended.
type Set[T any] struct {
	Keep int // how many that have ended are remembered

	mu    sync.Mutex
	byID  map[string]T
	ended []string
}

// Get is the work of that ID.
func (s *Set[T]) Get(id string) (T, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, ok := s.byID[id]
	return w, ok
}

// Put adds work, in the place of another of that ID.
func (s *Set[T]) Put(id string, w T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(id, w)
}

// GetOrPut is the work of that ID, or else what begin returns. Only one caller begins.
func (s *Set[T]) GetOrPut(id string, begin func() T) T {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, ok := s.byID[id]
	if !ok {
		w = begin()
		s.put(id, w)
	}
	return w
}

func (s *Set[T]) put(id string, w T) {
	if s.byID == nil {
		s.byID = map[string]T{}
	}
	s.byID[id] = w
	s.ended = slices.DeleteFunc(s.ended, func(ended string) bool { return ended == id }) // followed again
}

// Ended says that the work of that ID has ended, and forgets the oldest ones that have.
func (s *Set[T]) Ended(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = append(s.ended, id)
	for len(s.ended) > s.Keep {
		delete(s.byID, s.ended[0])
		s.ended = s.ended[1:]
	}
}

// All is all that is known, in no order.
func (s *Set[T]) All() []T {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]T, 0, len(s.byID))
	for _, w := range s.byID {
		all = append(all, w)
	}
	return all
}
