package testkit

import (
	"strings"
	"testing"

	"github.com/seer-engine/seer/sdk"
)

// Must returns a function that fails the test if there is an error, and returns the value
// otherwise: Must(f())(t).
func Must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// WantCode checks that an error has a code and contains texts.
func WantCode(t testing.TB, err error, code sdk.Code, texts ...string) {
	t.Helper()
	if sdk.CodeOf(err) != code {
		t.Fatalf("error %v has the code %q, not %q", err, sdk.CodeOf(err), code)
	}
	WantError(t, err, texts...)
}

// WantError checks that there is an error and that it contains texts.
func WantError(t testing.TB, err error, texts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error; want one with %q", texts)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("error %q does not contain %q", err, text)
		}
	}
}
