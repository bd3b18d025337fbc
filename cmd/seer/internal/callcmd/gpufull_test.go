package callcmd

import (
	"errors"
	"testing"

	"github.com/seer-engine/seer/engine/protocol"
)

// The error of a call for which the memory of a GPU was too small says who uses it. Nobody is asked
// for other errors.
func TestFullGPUHasUsers(t *testing.T) {
	asked := 0
	c := &callee{users: func() []string { asked++; return []string{"GPU 0: sandbox lab of alice"} }}
	full := &protocol.CallError{Code: "raised", Type: "OutOfMemoryError", Message: "CUDA out of memory. Tried to allocate 2 GiB.", Traceback: "line 1"}
	var got *protocol.CallError
	if err := c.explain(full); !errors.As(err, &got) || got.Error() != full.Error()+"\nGPU 0: sandbox lab of alice" || got.Traceback != full.Traceback || asked != 1 {
		t.Errorf("%v", err)
	}
	other := &protocol.CallError{Code: "raised", Type: "ValueError", Message: "no"}
	if err := c.explain(other); !errors.As(err, &got) || got.Error() != "ValueError: no" || asked != 1 {
		t.Errorf("%v", err)
	}
	if err := (&callee{}).explain(full); !errors.As(err, &got) || got.Error() != full.Error() {
		t.Errorf("by a connection file: %v", err)
	}
}
