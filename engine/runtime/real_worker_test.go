package runtime_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
)

// The tests here use the worker that is shipped; the others use a small one
// that does what no sound worker would.
func upReal(t testing.TB) *machine {
	t.Helper()
	m := startIn(t, nil, func(m *machine) { m.env = append(m.env, realWorkerVariable+"=1") })
	m.push()
	return m
}

// upTools is upReal with realCode served as tools.
func upTools(t testing.TB) *machine {
	t.Helper()
	m := upReal(t)
	m.mustServe("tools", realCode)
	return m
}

const realCode = `
"""Tools for the tests."""
import os, time, math

calls = 0

@expose
def add(a: int, b: int = 2) -> int:
    """Adds."""
    global calls
    calls += 1
    return a + b

@expose
def count(): return calls

@expose
def leak(): return os.environ["TOKEN"]

@expose
def nan(): return [math.nan, 1]

@expose
def forever():
    while True: pass

@expose
def nap(s): time.sleep(s); return "slept"

@expose
def wait(name):
    while not os.path.exists(name): time.sleep(0.02)
    return name

@expose
def leave(): raise SystemExit(3)

@expose
def where(): return get_model_path("org/m"), list_configured_models()
`

func TestRealWorker(t *testing.T) {
	t.Parallel()
	m := upReal(t)
	ctx := testContext(t)
	cfg := protocol.Config{Secrets: map[string]string{"TOKEN": "s3cr3t-value"},
		Models: []protocol.Model{{Name: "org/m", Path: "/workspace/m", EnvName: "MODEL_ORG_M_PATH"}}}
	m.configure(cfg)
	v := m.mustServe("tools", realCode)
	if v.Interface.Doc != "Tools for the tests." || v.Interface.Functions[0].Name != "add" || v.Interface.Module != "interface" {
		t.Errorf("%+v", v.Interface)
	}
	for _, c := range []struct{ fn, want string }{
		{"leak", `"[secret TOKEN]"`}, {"nan", `[{"$seer":{"float":"nan"}},1]`}, {"count", "0"},
	} {
		m.wantCall(c.want, c.fn)
	}
	if got, err := m.client.Calls().Call(ctx, "tools", "add", []any{1}, map[string]any{"b": 5}); err != nil || string(got) != "6" {
		t.Errorf("%s %v", got, err)
	}
	if got, err := m.call("where"); err != nil || !strings.Contains(got, m.boot.Roots["/workspace"]+"/m") {
		t.Errorf("%s %v", got, err)
	}
	for fn, code := range map[string]protocol.CallCode{"none": protocol.CallUnknownFunction, "add": protocol.CallBadArguments, "leave": protocol.CallExited} {
		if _, err := m.call(fn); !errors.Is(err, &protocol.CallError{Code: code}) {
			t.Errorf("%s: %v", fn, err)
		}
	}
	resp := m.raw("POST", "/v1/services/tools/call/forever", m.token, strings.NewReader(`{"args":[],"kwargs":{},"timeout_seconds":0.5}`))
	if resp.StatusCode != 422 {
		t.Errorf("timeout: %s", resp.Status)
	}
	m.wantCall("1", "count")
	_, err := m.serve("tools", "x = 1\nraise ValueError('no')\n")
	var call *protocol.CallError
	if !errors.As(err, &call) || call.Code != protocol.CallLoadFailed || !strings.Contains(call.Traceback, "line 2") {
		t.Errorf("%v", err)
	}
}

func TestRealWorkerCancels(t *testing.T) {
	t.Parallel()
	m := upTools(t)
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	if _, err := m.client.Calls().Call(ctx, "tools", "forever", nil, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	m.wantCall("2", "add", 1, 1)
}

func TestRealWorkerHandOver(t *testing.T) {
	t.Parallel()
	m := upTools(t)
	ctx := testContext(t)
	conn, err := newClient(t, m.boot.Listen, serviceToken+"tools").Calls().Connect(ctx, "tools")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for i := range 5 {
		if got, err := conn.Call(ctx, "add", []any{i}, nil); err != nil || string(got) != string(rune('2'+i)) {
			t.Errorf("%s %v", got, err)
		}
	}
	// A replaced service closes the connections of the old one after the running call.
	slow := make(chan error, 1)
	go func() {
		_, err := conn.Call(ctx, "wait", []any{"slow"}, nil)
		slow <- err
	}()
	m.busy()
	m.mustServe("tools", realCode)
	m.goOn("slow")
	if err := <-slow; err != nil {
		t.Errorf("the running call: %v", err)
	}
}
