package gpumemory

import (
	"io"
	"testing"
	"testing/synctest"
)

type discard struct{ io.Writer }

func (discard) Close() error { return nil }

// An answer that comes late is not taken for that of the next call.
func TestLateAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &helper{in: discard{io.Discard}, answers: make(chan answer, 1)}
		_, failure := h.call(restore, 1)
		if failure == nil {
			t.Fatal("an answer that did not come")
		}
		h.answers <- answer{}
		if a, err := h.call(getState, 2); err != failure {
			t.Errorf("the answer to another call: %+v, %v", a, err)
		}
	})
}
