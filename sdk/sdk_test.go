package sdk_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/seer-engine/seer/sdk"
)

func TestErrorCodes(t *testing.T) {
	err := fmt.Errorf("creating: %w", &sdk.Error{Code: sdk.RateLimited, Message: "slow down", Seconds: 1.5})
	if sdk.CodeOf(err) != sdk.RateLimited || sdk.CodeOf(errors.New("x")) != sdk.Internal || sdk.CodeOf(nil) != "" {
		t.Error("CodeOf is wrong")
	}
	if !errors.Is(err, &sdk.Error{Code: sdk.RateLimited}) || errors.Is(err, &sdk.Error{Code: sdk.NotFound}) {
		t.Error("errors.Is does not match on the code")
	}
	var e *sdk.Error
	if !errors.As(err, &e) || e.After() != 1500*time.Millisecond || err.Error() != "creating: slow down" {
		t.Errorf("error = %v", err)
	}
}

// The names on the wire are the contract.
func TestWire(t *testing.T) {
	for want, v := range map[string]any{
		`{"error":{"code":"no_capacity","message":"none","after_seconds":2}}`: sdk.Envelope{Error: &sdk.Error{Code: sdk.NoCapacity, Message: "none", Seconds: 2}},
		`{"ok":{"handle":"h"}}`:                             sdk.Envelope{OK: json.RawMessage(`{"handle":"h"}`)},
		`{"handles":["a"]}`:                                 sdk.ObserveInput{Handles: []string{"a"}},
		`{"folder":"/m","path":"."}`:                        sdk.FolderInput{Folder: "/m", Path: "."},
		`{"source":"hub","name":"org/x","revision":"main"}`: sdk.ModelRef{Source: "hub", Name: "org/x", Revision: "main"},
	} {
		if got, err := json.Marshal(v); err != nil || string(got) != want {
			t.Errorf("%T is %s, want %s (%v)", v, got, want, err)
		}
	}
}

func TestExports(t *testing.T) {
	for kind, n := range map[sdk.Kind]int{sdk.KindProvider: 6, sdk.KindFetcher: 2, sdk.KindExpose: 1, "oracle": 0} {
		if got := kind.Exports(); len(got) != n {
			t.Errorf("%s exports %v", kind, got)
		}
	}
}
