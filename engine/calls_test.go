package engine_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/protocol/value"
)

const callable = `
import time

@expose
def back(data: bytes):
    return data[::-1]

@expose
def count(n: int):
    for i in range(n):
        print("at", i)
        yield i

@expose
def hold():
    time.sleep(60)
`

// TestCallsOfAService calls with buffers, follows streams, comes back to a call that
// went on alone, and gives somebody else a part of the service.
func TestCallsOfAService(t *testing.T) {
	e := newEngine(t)
	exp := load(t, map[string]string{
		"seer.yaml": "name: t\nserve:\n- file: interface.py\n  name: tools\n  limits: {keep: 1h}\n" +
			"  access: {functions: [back, count], calls: 2, rate: 100/min, arguments: {count: {n: {maximum: 3}}}}\n",
		"interface.py": callable,
	})
	s := up(t, e, exp, engine.UpOptions{})
	v, err := s.Serve(t.Context(), engine.ServeOptionsOf(exp.Serve[0]))
	if err != nil {
		t.Fatal(err)
	}
	var got []byte
	var whole value.Value
	if err := v.Call(t.Context(), "back", []any{[]byte("abc")}, nil, &got); err != nil || string(got) != "cba" {
		t.Fatalf("back gave %q, %v", got, err)
	}
	if err := v.Call(t.Context(), "back", []any{[]byte("abc")}, nil, &whole); err != nil || len(whole.Parts) != 1 {
		t.Fatalf("back gave %+v, %v", whole, err)
	}

	call, err := v.Submit(t.Context(), client.CallRequest{Function: "count", Args: []any{3}, CallOptions: protocol.CallOptions{Output: true}})
	if err != nil {
		t.Fatal(err)
	}
	var printed strings.Builder
	items := 0
	on := client.CallHandler{Item: func(client.Body) error { items++; return nil }, Output: func(_ int, text string) { printed.WriteString(text) }}
	if _, err := v.Attach(t.Context(), call.ID, 1, on).Wait(t.Context()); err != nil || items != 3 || printed.String() != "at 0\nat 1\nat 2\n" {
		t.Errorf("%d items, printed %q, %v", items, printed.String(), err)
	}

	p, err := v.Start(t.Context(), client.CallRequest{Function: "hold"}, client.CallHandler{})
	if err != nil {
		t.Fatal(err)
	}
	for running := false; !running; {
		calls, err := v.Calls(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range calls {
			running = running || c.ID == p.ID() && c.State == protocol.CallRunning
		}
	}
	if err := v.Cancel(t.Context(), p.ID()); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Wait(t.Context()); !errors.Is(err, &protocol.CallError{Code: protocol.CallCancelled}) {
		t.Errorf("the cancelled call ended with %v", err)
	}
	checkLimited(t, v, exp.Serve[0].Access)
	if info, err := e.Show(t.Context(), s.ID()); err != nil || info.Services[0].File != filepath.Join(filepath.Dir(exp.File), "interface.py") {
		t.Errorf("%+v, %v", info.Services, err)
	}
}

func checkLimited(t *testing.T, v *engine.Service, a *experiment.Access) {
	t.Helper()
	held, _, err := v.Limited(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(held.Interface().Functions); n != 2 {
		t.Errorf("the holder sees %d functions", n)
	}
	refused := &protocol.CallError{Code: protocol.CallRefused}
	if err := held.Call(t.Context(), "count", []any{4}, nil, nil); !errors.Is(err, refused) || engine.KindOf(err) != engine.KindUnauthorized {
		t.Errorf("beyond the bounds: %v", err)
	}
	if err := held.Call(t.Context(), "back", []any{[]byte("x")}, nil, nil); err != nil {
		t.Error(err)
	}
	theirs, err := held.Submit(t.Context(), client.CallRequest{Function: "count", Args: []any{2}})
	if err != nil {
		t.Fatal(err)
	}
	items := 0
	on := client.CallHandler{Item: func(client.Body) error { items++; return nil }}
	if _, err := v.Attach(t.Context(), theirs.ID, 1, on).Wait(t.Context()); err != nil || items != 2 {
		t.Errorf("the owner sees %d items of the holder's call, %v", items, err)
	}
	if err := held.Call(t.Context(), "back", []any{[]byte("x")}, nil, nil); !errors.Is(err, refused) {
		t.Errorf("a call too many: %v", err)
	}
	tokens, err := v.Tokens(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, token := range tokens {
		if token.Name != "agent" {
			continue
		}
		if token.Use == nil || token.Use.Calls != 2 || token.Use.Refused != 2 {
			t.Errorf("its use is %+v", token.Use)
		}
		if err := v.RevokeToken(t.Context(), token.ID); err != nil {
			t.Error(err)
		}
	}
	if err := held.Call(t.Context(), "back", []any{[]byte("x")}, nil, nil); engine.KindOf(err) != engine.KindUnauthorized {
		t.Errorf("a revoked token: %v", err)
	}
}
