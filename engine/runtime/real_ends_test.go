package runtime_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/python"
	"github.com/seer-engine/seer/internal/testkit"
)

// What is written in pieces on both sides, tried with the real ones.

const endsCode = `
import os, time

state = 0

@expose
def bump():
    global state
    state += 1
    return state

@expose
def pid(): return os.getpid()

@expose
def wait(name):
    while not os.path.exists(name): time.sleep(0.02)
    return name

@expose
def echo(x): return x

@expose
def zeros(n: int): return bytes(n)

@expose(concurrent=True)
def count(n: int):
    for i in range(n):
        print("item", i)
        yield i
`

// put serves an edited file as somebody who watches it does.
func (m *machine) put(code string, change func(*protocol.ServiceSpec)) protocol.Service {
	m.t.Helper()
	ctx := testContext(m.t)
	spec := protocol.ServiceSpec{Filename: "interface.py", Code: code, TokenSHA256: protocol.HashToken(serviceToken + "tools"), LoadTimeoutSeconds: 300}
	change(&spec)
	put, err := m.client.Services().Put(ctx, "tools", spec)
	if err != nil {
		m.t.Fatal(err)
	}
	v, err := m.client.Services().Wait(ctx, "tools", put.Generation)
	if err != nil || v.State != protocol.ServiceReady {
		m.t.Fatalf("%+v %v", v, err)
	}
	return v
}

// goOn lets calls of wait end.
func (m *machine) goOn(name string) {
	m.t.Helper()
	if err := os.WriteFile(filepath.Join(m.boot.Roots["/workspace"], name), nil, 0o600); err != nil {
		m.t.Fatal(err)
	}
}

// start begins a call that goes on by itself.
func (m *machine) start(fn string, args ...any) protocol.Call {
	m.t.Helper()
	r := client.CallRequest{Service: "tools", Function: fn, Args: args}
	r.ID = protocol.NewCallID()
	call, err := m.client.Calls().Submit(testContext(m.t), r)
	if err != nil {
		m.t.Fatal(err)
	}
	return call
}

func (m *machine) state(id, want string) {
	m.t.Helper()
	testkit.EventuallyNil(m.t, "the call to be "+want, func() error {
		if call, err := m.client.Calls().Get(testContext(m.t), "tools", id); err != nil || string(call.State) != want {
			return fmt.Errorf("%+v %v", call, err)
		}
		return nil
	})
}

// An edit that its client gives up while it waits for a call is not taken over behind the back of the
// service: what runs is what the service says.
func TestRealWorkerForgetsAnEdit(t *testing.T) {
	t.Parallel()
	m, ctx := upReal(t), testContext(t)
	m.put(endsCode, func(*protocol.ServiceSpec) {})
	running := m.start("wait", "edit")
	m.state(running.ID, "running")
	for _, by := range []string{"10", "100"} { // the second one is given up as the first one may still be
		put, err := m.client.Services().Put(ctx, "tools", protocol.ServiceSpec{Filename: "interface.py", InPlace: true,
			Code: strings.Replace(endsCode, "state += 1", "state += "+by, 1), TokenSHA256: protocol.HashToken(serviceToken + "tools")})
		if err != nil {
			t.Fatal(err)
		}
		if err := m.client.Services().Abandon(ctx, "tools", put.Generation); err != nil {
			t.Fatal(err)
		}
	}
	m.goOn("edit")
	m.state(running.ID, "done")
	var before int
	testkit.EventuallyNil(t, "the service to say what runs", func() error { // the worker may have begun to take an edit over
		v, err := m.client.Services().Get(ctx, "tools")
		if err != nil {
			return err
		}
		got, err := m.call("bump")
		now, _ := strconv.Atoi(got)
		by := now - before
		before = now
		if want := map[int]int{1: 1, 2: 10, 3: 100}[v.Generation]; by != want || v.State != protocol.ServiceReady {
			return fmt.Errorf("generation %d, %s, adds %d; %w", v.Generation, v.State, by, err)
		}
		return nil
	})
}

func TestRealWorkerTakesAnEditOver(t *testing.T) {
	t.Parallel()
	m := upReal(t)
	inPlace := func(s *protocol.ServiceSpec) { s.InPlace = true }
	m.put(endsCode, inPlace)
	pid, _ := m.call("pid")
	if got, err := m.call("bump"); got != "1" {
		t.Errorf("%s %v", got, err)
	}
	running := m.start("wait", "edit")
	m.state(running.ID, "running")
	edited := make(chan protocol.Service, 1)
	go func() {
		edited <- m.put(strings.Replace(endsCode, "state += 1", "state += 10", 1), inPlace)
	}()
	time.Sleep(50 * time.Millisecond) // the edit waits for the call, not the other way round
	m.goOn("edit")
	if v := <-edited; v.InPlace == nil || !v.InPlace.Kept || v.Generation != 2 {
		t.Errorf("%+v %+v", v, v.InPlace)
	}
	m.state(running.ID, "done")
	if got, err := m.call("bump"); got != "11" {
		t.Errorf("%s %v", got, err)
	}
	if now, _ := m.call("pid"); now != pid {
		t.Errorf("%s is not %s", now, pid)
	}
	v := m.put(endsCode+"\nfor i in range(3): pass\n", inPlace)
	if v.InPlace == nil || v.InPlace.Kept || v.InPlace.Reason == "" {
		t.Errorf("%+v", v.InPlace)
	}
	_, a := m.answerOf("POST", "call/bump", noArguments) // loaded anew
	if fmt.Sprint(a["result"]) != "1" {
		t.Errorf("%v", a)
	}
}

func TestRealTokensChangeWhileCallsRun(t *testing.T) {
	t.Parallel()
	m := upReal(t)
	m.put(endsCode, func(*protocol.ServiceSpec) {})
	ctx := testContext(t)
	token := protocol.Token{ID: "t-guest", SHA256: protocol.HashToken("guest"), Calls: 2}
	set := func() {
		t.Helper()
		if err := m.client.Tokens().Put(ctx, "tools", token); err != nil {
			t.Fatal(err)
		}
	}
	set()
	guest := newClient(t, m.boot.Listen, "guest")
	called := make(chan error, 1)
	go func() {
		_, err := guest.Calls().Call(ctx, "tools", "wait", []any{"guest"}, nil)
		called <- err
	}()
	testkit.EventuallyNil(t, "the call", func() error {
		if calls, err := m.client.Calls().List(ctx, "tools"); err != nil || len(calls) != 1 || calls[0].State != "running" {
			return fmt.Errorf("%+v %v", calls, err)
		}
		return nil
	})
	token.Calls = 1
	set()
	m.goOn("guest")
	if err := <-called; err != nil {
		t.Errorf("a call that ran: %v", err)
	}
	if _, err := guest.Calls().Call(ctx, "tools", "pid", nil, nil); !errors.Is(err, &protocol.CallError{Code: protocol.CallRefused}) {
		t.Errorf("beyond the new limit: %v", err)
	}
	if err := m.client.Tokens().Delete(ctx, "tools", "t-guest"); err != nil {
		t.Fatal(err)
	}
	if _, err := guest.Calls().Call(ctx, "tools", "pid", nil, nil); protocol.CodeOf(err) != protocol.Unauthorized {
		t.Errorf("a token that was revoked: %v", err)
	}
}

// TestRealRecordIsTaken reads a record as the engine does; what has been taken goes.
func TestRealRecordIsTaken(t *testing.T) {
	t.Parallel()
	m := upReal(t)
	m.put(endsCode, func(s *protocol.ServiceSpec) { s.Record = true })
	ctx := testContext(t)
	for range 4 {
		if _, err := m.client.Calls().Do(ctx, client.CallRequest{Service: "tools", Function: "zeros", Args: []any{20 << 20}}, client.CallHandler{}); err != nil {
			t.Fatal(err)
		}
	}
	read := func(segment int) (int64, int, int) {
		t.Helper()
		s, err := m.client.Services().Journal(ctx, "tools", segment, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		n, err := io.Copy(io.Discard, s)
		if err != nil {
			t.Fatal(err)
		}
		return n, s.Segment, s.Next()
	}
	if n, segment, next := read(1); n < 60<<20 || segment != 1 || next != 2 {
		t.Errorf("%d bytes of %d, then %d", n, segment, next)
	}
	if n, segment, _ := read(2); n < 20<<20 || segment != 2 { // says that the first has been taken
		t.Errorf("%d bytes of %d", n, segment)
	}
	testkit.EventuallyNil(t, "the first segment to go", func() error {
		if _, segment, _ := read(1); segment != 2 {
			return errors.New("it is there")
		}
		return nil
	})
}

// TestRealCallGoesOnInTheOldWorker serves again while a call runs.
func TestRealCallGoesOnInTheOldWorker(t *testing.T) {
	t.Parallel()
	m := upReal(t)
	m.put(endsCode, func(*protocol.ServiceSpec) {})
	old, _ := m.call("pid")
	call := m.start("wait", "old")
	m.state(call.ID, "running")
	m.put(endsCode+"\n# another\n", func(*protocol.ServiceSpec) {})
	_, a := m.answerOf("POST", "call/pid", noArguments)
	if fmt.Sprintf("%.0f", a["result"]) == old {
		t.Error("the worker was not replaced")
	}
	waiting := m.client.Calls().Attach(testContext(t), "tools", call.ID, 1, client.CallHandler{})
	m.state(call.ID, "running")
	m.goOn("old")
	if _, err := waiting.Wait(testContext(t)); err != nil {
		t.Errorf("%v", err)
	}
	m.state(call.ID, "done")
	testkit.EventuallyNil(t, "the old worker to end", func() error {
		n := 0
		for _, line := range marked("SEER_MACHINE=" + m.boot.Machine) {
			if strings.Contains(line, python.Main) {
				n++
			}
		}
		if n != 1 {
			return fmt.Errorf("%d workers", n)
		}
		return nil
	})
}

// TestRealPythonClientComesBack uses what the plain client has for long calls and
// large values, through a tunnel that cuts.
func TestRealPythonClientComesBack(t *testing.T) {
	t.Parallel()
	m, c := upBehindCuts(t, 300*time.Millisecond, 600*time.Millisecond, false)
	m.mustServe("tools", endsCode)
	out, err := m.python(c.URL, `
import os
big = os.urandom(12 << 20)
print(c.call("echo", (big,)) == big)
pending = c.submit("wait", ("later",))
print(pending.state() in ("queued", "running"))
print(list(c.submit("count", (4,))), flush=True)
`)
	if want := "True\nTrue\n"; err != nil || !strings.HasPrefix(out, want) || !strings.HasSuffix(out, "[0, 1, 2, 3]\n") {
		t.Errorf("%v %s", err, out)
	}
	calls, err := m.client.Calls().List(testContext(t), "tools")
	if err != nil {
		t.Fatal(err)
	}
	m.goOn("later")
	for _, call := range calls {
		if call.Function == "wait" {
			if out, err := m.python(c.URL, fmt.Sprintf("print(c.attach(%q).result(30))", call.ID)); err != nil || out != "later\n" {
				t.Errorf("%v %s", err, out)
			}
			return
		}
	}
	t.Errorf("%+v", calls)
}
