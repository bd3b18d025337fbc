package testkit

import (
	"strings"
	"testing"
)

// WantEach checks what f makes of each input.
func WantEach[In, Out comparable](t testing.TB, f func(In) Out, want map[In]Out) {
	t.Helper()
	for in, out := range want {
		if got := f(in); got != out {
			t.Errorf("%#v became %#v, not %#v", in, got, out)
		}
	}
}

// WantErrors checks that f fails for each text, and that the error contains what is wanted.
func WantErrors(t testing.TB, f func(string) error, want map[string]string) {
	t.Helper()
	for text, part := range want {
		if err := f(text); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%q:\n got %v\nwant %s", text, err, part)
		}
	}
}
