package guest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/seer-engine/seer/sdk"
)

func TestAnswer(t *testing.T) {
	limited := &sdk.Error{Code: sdk.RateLimited, Message: "slow down", Seconds: 3}
	for name, tc := range map[string]struct {
		in   string
		f    func(context.Context, sdk.ListInput) ([]string, error)
		want string
	}{
		"ok": {`{"owner":"me","later":1}`,
			func(_ context.Context, in sdk.ListInput) ([]string, error) { return []string{in.Owner}, nil },
			`{"ok":["me"]}`},
		"bad input": {`[]`, nil,
			`{"error":{"code":"invalid","message":"the input is not what this plugin expects: json: cannot unmarshal array into Go value of type sdk.ListInput"}}`},
		"plain error": {`{}`,
			func(context.Context, sdk.ListInput) ([]string, error) { return nil, errors.New("no") },
			`{"error":{"code":"internal","message":"no"}}`},
		"wrapped error": {`{}`,
			func(context.Context, sdk.ListInput) ([]string, error) { return nil, fmt.Errorf("listing: %w", limited) },
			`{"error":{"code":"rate_limited","message":"listing: slow down","after_seconds":3}}`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := string(answer(context.Background(), []byte(tc.in), tc.f)); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

func TestAnswerUnwritable(t *testing.T) {
	out := answer(context.Background(), []byte(`{}`), func(context.Context, struct{}) (any, error) { return func() {}, nil })
	var e sdk.Envelope
	if err := json.Unmarshal(out, &e); err != nil || e.Error == nil || e.Error.Code != sdk.Internal {
		t.Errorf("answer = %s (%v)", out, err)
	}
}

// Outside Wasm a folder says that it cannot be read, and does not pretend.
func TestFolderNatively(t *testing.T) {
	f := OpenFolder("/models/tiny")
	for name, err := range map[string]error{
		"read":   second(f.ReadFile("a")),
		"list":   second(f.ReadDir(".")),
		"digest": second(f.Digest("a")),
	} {
		if sdk.CodeOf(err) != sdk.Unsupported {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := f.ReadFile("../a"); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("a path that leaves the folder: %v", err)
	}
}

func TestSettingsNatively(t *testing.T) {
	if _, err := Settings(); sdk.CodeOf(err) != sdk.Unsupported {
		t.Error(err)
	}
	if v := Setting("server_url"); v != "" {
		t.Errorf("Setting = %q", v)
	}
}

func second[T any](_ T, err error) error { return err }
