package faults_test

import (
	"testing"

	"github.com/seer-engine/seer/engine/enginetest/faults"
)

// TestOrderAndCounts: the first fault that fits and is not used up hits, and a request that
// one lets pass may be hit by the next.
func TestOrderAndCounts(t *testing.T) {
	var l faults.List[string]
	even := func(fault string) bool { return len(fault)%2 == 0 }
	hits := func(want ...string) {
		t.Helper()
		for _, w := range want {
			if got, ok := l.Pick(even); got != w || ok != (w != "") {
				t.Errorf("hit by %q, %v, not %q", got, ok, w)
			}
		}
	}
	hits("")
	l.Inject("odd", faults.Count{})
	l.Inject("twice!", faults.Count{Skip: 1, Times: 2})
	remove := l.Inject("ever", faults.Count{})
	hits("ever", "twice!", "twice!", "ever", "ever")
	remove()
	remove() // a second time is no mistake
	hits("")
	l.Inject("last", faults.Count{})
	l.Clear()
	hits("")
}
