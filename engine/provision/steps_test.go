package provision

import (
	"context"
	"errors"
	"slices"
	"testing"
)

// What was made before a failure is undone, the last first, with the failure as its cause.
func TestRunUndoes(t *testing.T) {
	t.Parallel()
	failed, stuck := errors.New("no machine"), errors.New("cannot be ended")
	var did []string
	step := func(name string, err, undone error) Step {
		return Step{
			Do: func(context.Context) error { did = append(did, name); return err },
			Undo: func(_ context.Context, cause error) error {
				if cause != failed {
					t.Errorf("the cause is %v", cause)
				}
				did = append(did, "-"+name)
				return undone
			},
		}
	}
	without := Step{Do: func(context.Context) error { return nil }}
	err := Run(t.Context(), step("a", nil, nil), without, step("b", nil, stuck), step("c", failed, nil), step("d", nil, nil))
	if !errors.Is(err, failed) || !errors.Is(err, stuck) {
		t.Error(err)
	}
	if want := []string{"a", "b", "c", "-b", "-a"}; !slices.Equal(did, want) {
		t.Errorf("did %q, want %q", did, want)
	}
	did = nil
	if err := Run(t.Context(), step("a", nil, nil), without, step("b", nil, nil)); err != nil || !slices.Equal(did, []string{"a", "b"}) {
		t.Errorf("%q, %v", did, err)
	}
}
