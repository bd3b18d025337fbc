package service

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/seer-engine/seer/engine/errdefs"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/sdk"
)

func TestNames(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		o    Options
		want string // empty = refused
	}{
		{Options{File: "/x/my_tools.py"}, "my_tools"},
		{Options{File: "/x/my-tools.py"}, ""},
		{Options{File: "/x/my-tools.py", Name: "tools"}, "tools"},
		{Options{File: "/x/tools.py", Name: "class"}, "class"},
		{Options{File: "/x/tools.py", Name: "class", ExposeAs: "library"}, ""},
	} {
		got, err := tc.o.name()
		if got != tc.want || (err != nil) != (tc.want == "") || err != nil && errdefs.KindOf(err) != errdefs.KindConfig {
			t.Errorf("%+v: %q, %v", tc.o, got, err)
		}
	}
}

// ledger has one record.
type ledger struct{ rec machine.Record }

func (l *ledger) Get(string) (machine.Record, error) { return l.rec, nil }

func (l *ledger) Update(context.Context, string, func(*machine.Record) error) (machine.Record, error) {
	return l.rec, errors.New("nothing is to be changed")
}

func TestServiceThatIsNotServed(t *testing.T) {
	t.Parallel()
	h := Host{ID: "sb-1", Ledger: &ledger{machine.Record{Services: []machine.Service{{Name: "a"}, {Name: "b"}}}}}
	_, err := h.Service("c")
	if errdefs.KindOf(err) != errdefs.KindNotFound || err.Error() != `the sandbox sb-1 serves nothing named "c"; it serves a, b` {
		t.Error(err)
	}
}

// Limits that could never be meant are refused before the runtime is asked.
func TestTokensThatCannotBeMeant(t *testing.T) {
	t.Parallel()
	v := &Service{face: sdk.Interface{Functions: []sdk.Function{{Name: "f", Params: []sdk.Param{{Name: "n"}}}}}}
	for _, limits := range []protocol.Token{
		{Functions: []string{"g"}},
		{Arguments: bounds("g", "n")},
		{Arguments: bounds("f", "m")},
	} {
		if _, _, err := v.NewToken(t.Context(), limits); errdefs.KindOf(err) != errdefs.KindConfig {
			t.Errorf("%+v: %v", limits, err)
		}
	}
	if err := v.RevokeToken(t.Context(), protocol.MainToken); errdefs.KindOf(err) != errdefs.KindConfig {
		t.Error(err)
	}
}

func bounds(fn, param string) map[string]map[string]json.RawMessage {
	return map[string]map[string]json.RawMessage{fn: {param: json.RawMessage(`{"maximum": 1}`)}}
}
