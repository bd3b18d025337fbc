package remedy_test

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"testing"

	"github.com/seer-engine/seer/engine/remedy"
)

// TestOf finds remedies behind wrapping and joining, each once.
func TestOf(t *testing.T) {
	end := remedy.Remedy{Action: remedy.EndSandbox, Sandbox: "sb-1"}
	list := remedy.Remedy{Action: remedy.ListSandboxes}
	first := remedy.For(fmt.Errorf("taken: %w", io.EOF), end)
	both := fmt.Errorf("start: %w", errors.Join(first, errors.New("plain"), remedy.For(first, list, end)))

	if got := remedy.Of(both); !reflect.DeepEqual(got, []remedy.Remedy{end, list}) {
		t.Errorf("%v", got)
	}
	if both.Error() != "start: taken: EOF\nplain\ntaken: EOF" || !errors.Is(both, io.EOF) {
		t.Errorf("%v", both)
	}
	var found *remedy.Error
	if !errors.As(both, &found) || found.Remedies[0] != end {
		t.Errorf("%v", found)
	}
	if remedy.For(nil, end) != nil || remedy.Of(nil) != nil || remedy.Of(io.EOF) != nil {
		t.Error("no error has no remedy")
	}
}
