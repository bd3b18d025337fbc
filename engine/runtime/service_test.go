package runtime_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/internal/testkit"
)

const counter = `
import os, time, sys
n = 0
@expose
def add(by=1):
    global n
    n += by
    return n
@expose
def pid(): return os.getpid()
@expose
def die(): os._exit(9)
@expose
def boom(): raise ValueError("no " + os.environ.get("TOKEN", ""))
@expose
def big(size): return "x" * size
@expose
def leak(): return os.environ["TOKEN"]
@expose
def sleep(s):
    time.sleep(s)
    return "slept"
@expose
def until(name):
    while not os.path.exists(name): time.sleep(0.02)
    return name
@expose
def length(s): return len(s)
print("loaded", flush=True)
`

const serviceToken = "a token for one service"

func (m *machine) serve(name, code string) (protocol.Service, error) {
	m.t.Helper()
	ctx := testContext(m.t)
	spec := protocol.ServiceSpec{Filename: "interface.py", Code: code, TokenSHA256: protocol.HashToken(serviceToken + name), LoadTimeoutSeconds: 300}
	v, err := m.client.Services().Put(ctx, name, spec)
	if err != nil {
		return v, err
	}
	return m.client.Services().Wait(ctx, name, v.Generation)
}

func (m *machine) mustServe(name, code string) protocol.Service {
	m.t.Helper()
	v, err := m.serve(name, code)
	if err != nil || v.State != protocol.ServiceReady {
		m.t.Fatalf("serve: %+v %v", v, err)
	}
	return v
}

// wantCall calls a function of the service tools and wants a result, as JSON.
func (m *machine) wantCall(want, fn string, args ...any) {
	m.t.Helper()
	if got, err := m.call(fn, args...); err != nil || got != want {
		m.t.Errorf("%s: %s %v", fn, got, err)
	}
}

func (m *machine) call(fn string, args ...any) (string, error) {
	m.t.Helper()
	out, err := m.client.Calls().Call(testContext(m.t), "tools", fn, args, nil)
	return string(out), err
}

func TestServiceCalls(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	v := m.mustServe("tools", counter)
	if v.Interface == nil || len(v.Interface.Functions) == 0 || v.Generation != 1 {
		t.Errorf("%+v", v)
	}
	for want := 1; want <= 3; want++ { // module state is kept
		m.wantCall(strconv.Itoa(want), "add")
	}
	_, err := m.call("boom")
	var call *protocol.CallError
	if !errors.As(err, &call) || call.Code != protocol.CallRaised || call.Type != "ValueError" || !strings.Contains(call.Traceback, "boom") {
		t.Errorf("%v", err)
	}
	var log bytes.Buffer
	if _, err := m.client.Services().Logs(testContext(t), "tools", 0, false, &log, nil); err != nil || log.String() != "loaded\n" {
		t.Errorf("%q %v", log.String(), err)
	}
	if _, err := m.client.Calls().Call(testContext(t), "none", "add", nil, nil); protocol.CodeOf(err) != protocol.NotFound {
		t.Errorf("an unknown service: %v", err)
	}
	if err := m.client.Services().Delete(testContext(t), "tools"); err != nil {
		t.Error(err)
	}
	if _, err := m.client.Services().Get(testContext(t), "tools"); protocol.CodeOf(err) != protocol.NotFound {
		t.Errorf("after the delete: %v", err)
	}
}

func TestServiceLargeValues(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	m.mustServe("tools", counter)
	before := m.peakMemory()
	resp := m.raw(http.MethodPost, "/v1/services/tools/call/big", m.token, strings.NewReader(`{"args":[104857600],"kwargs":{}}`))
	if n, _ := io.Copy(io.Discard, resp.Body); resp.StatusCode != 200 || n < 100<<20 {
		t.Errorf("%d bytes, %s", n, resp.Status)
	}
	m.wantCall(strconv.Itoa(20<<20), "length", strings.Repeat("y", 20<<20))
	if grown := m.peakMemory() - before; grown > 64<<20 {
		t.Errorf("the runtime grew by %d MiB", grown>>20)
	}
}

func TestServiceSecretsAreScrubbed(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	m.configure(protocol.Config{Secrets: map[string]string{"TOKEN": "s3cr3t-value"}})
	m.mustServe("tools", counter)
	m.wantCall(`"[secret TOKEN]"`, "leak")
	if _, err := m.call("boom"); err == nil || strings.Contains(fmt.Sprintf("%+v", err), "s3cr3t") || !strings.Contains(err.Error(), "[secret TOKEN]") {
		t.Errorf("%v", err)
	}
	if _, err := m.serve("other", "import os\nprint(os.environ['TOKEN'])\nraise ValueError(os.environ['TOKEN'])"); err == nil || strings.Contains(fmt.Sprintf("%+v", err), "s3cr3t") {
		t.Errorf("%v", err)
	}
}

func TestServiceReplace(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	m.mustServe("tools", counter)
	slow := make(chan error, 1)
	go func() {
		out, err := m.call("until", "slow")
		if err == nil && out != `"slow"` {
			err = fmt.Errorf("got %s", out)
		}
		slow <- err
	}()
	m.busy()
	v := m.mustServe("tools", "@expose\ndef answer(): return 42")
	if got, err := m.call("answer"); err != nil || got != "42" || v.Generation != 2 {
		t.Errorf("%s %v %+v", got, err, v)
	}
	m.goOn("slow")
	if err := <-slow; err != nil {
		t.Errorf("the call that was running: %v", err)
	}
	// What fails to load leaves the old one in place.
	_, err := m.serve("tools", "def f(:\n")
	if !errors.Is(err, &protocol.CallError{Code: protocol.CallLoadFailed}) {
		t.Errorf("%v", err)
	}
	m.wantCall("42", "answer")
	if v, err := m.client.Services().Get(testContext(t), "tools"); err != nil || v.Generation != 2 || v.State != protocol.ServiceReady {
		t.Errorf("%+v %v", v, err)
	}
}

func TestServiceLoadFailures(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	for name, c := range map[string]struct {
		code, want string
		seconds    float64
	}{
		"raises":  {"raise KeyError('k')", "KeyError", 300},
		"exits":   {"import os; os._exit(5)", "exit code 5", 300},
		"killed":  {"import os; os.kill(os.getpid(), 9)", "signal KILL", 300},
		"endless": {"while True: pass", "still loading", 2},
	} {
		spec := protocol.ServiceSpec{Filename: "interface.py", Code: c.code, TokenSHA256: protocol.HashToken("x"), LoadTimeoutSeconds: c.seconds}
		v, err := m.client.Services().Put(testContext(t), "tools", spec)
		if err != nil {
			t.Fatal(err)
		}
		_, err = m.client.Services().Wait(testContext(t), "tools", v.Generation)
		if !errors.Is(err, &protocol.CallError{Code: protocol.CallLoadFailed}) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := m.call("x"); !errors.Is(err, &protocol.CallError{Code: protocol.CallLoadFailed}) {
			t.Errorf("%s: a call: %v", name, err)
		}
	}
	testkit.EventuallyNil(t, "no worker to be left", func() error {
		for _, line := range marked("SEER_MACHINE=" + m.boot.Machine) {
			if strings.Contains(line, "worker") {
				return errors.New(line)
			}
		}
		return nil
	})
	_, err := m.client.Services().Put(testContext(t), "a b", protocol.ServiceSpec{Filename: "i.py", TokenSHA256: protocol.HashToken("x")})
	if protocol.CodeOf(err) != protocol.Invalid {
		t.Errorf("a bad name: %v", err)
	}
}

func TestServiceCrash(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	m.mustServe("tools", counter)
	for try, call := range []func() string{
		func() string {
			_, a := m.answerOf("POST", "call/die", noArguments)
			return fmt.Sprint(errorCode(a), errorText(a))
		},
		func() string { _, err := m.call("die"); return fmt.Sprint("interrupted", err) },
	} {
		text := call()
		for _, part := range []string{"interrupted", "exit code 9", fmt.Sprintf("try %d of 3", try+1)} {
			if !strings.Contains(text, part) {
				t.Errorf("%q is not said: %s", part, text)
			}
		}
	}
	// The next call waits for the worker that is started in its place.
	m.wantCall("1", "add")
	if v, err := m.client.Services().Get(testContext(t), "tools"); err != nil || v.Restarts != 2 || v.Generation != 1 {
		t.Errorf("%+v %v", v, err)
	}
	out, err := m.call("pid")
	if err != nil {
		t.Fatal(err)
	}
	pid, _ := strconv.Atoi(out)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	testkit.EventuallyNil(t, "a new worker", func() error {
		if again, err := m.call("pid"); err != nil || again == out {
			return fmt.Errorf("%s %v", again, err)
		}
		return nil
	})
}

func TestServiceCrashesTooOften(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	ctx := testContext(t)
	m.mustServe("tools", "import os\n@expose\ndef f(): return 1\nif os.path.exists('broken'): os._exit(1)\nopen('broken', 'w')\n@expose\ndef die(): os._exit(2)\n")
	_, _ = m.call("die")
	testkit.EventuallyNil(t, "the runtime to give up", func() error {
		v, err := m.client.Services().Get(ctx, "tools")
		if err != nil || v.State != protocol.ServiceCrashed || v.Error == nil || !strings.Contains(v.Error.Message, "exit code 1") {
			return fmt.Errorf("%+v %v", v, err)
		}
		_, err = m.client.Calls().Call(ctx, "tools", "f", nil, nil)
		if !errors.Is(err, &protocol.CallError{Code: protocol.CallLoadFailed}) || !strings.Contains(err.Error(), "serve it again") {
			return fmt.Errorf("%v", err)
		}
		return nil
	})
	_ = os.Remove(m.boot.Roots["/workspace"] + "/broken")
	if v := m.mustServe("tools", counter); v.Generation != 2 {
		t.Errorf("%+v", v)
	}
}

func TestServiceHandOver(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	m.mustServe("tools", counter)
	ctx := testContext(t)
	c := newClient(t, m.boot.Listen, serviceToken+"tools")
	conn, err := c.Calls().Connect(ctx, "tools")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for want := 1; want <= 3; want++ {
		if got, err := conn.Call(ctx, "add", nil, nil); err != nil || string(got) != strconv.Itoa(want) {
			t.Errorf("%s %v", got, err)
		}
	}
	if _, err := conn.Call(ctx, "boom", nil, nil); !errors.Is(err, &protocol.CallError{Code: protocol.CallRaised}) {
		t.Errorf("%v", err)
	}
	if _, err := conn.Call(ctx, "die", nil, nil); !errors.Is(err, &protocol.CallError{Code: protocol.CallInterrupted}) {
		t.Errorf("%v", err)
	}
	if _, err := c.Calls().Connect(ctx, "none"); protocol.CodeOf(err) != protocol.Forbidden {
		t.Errorf("connect to another service: %v", err)
	}
	if resp := m.raw(http.MethodGet, "/v1/services/tools/connect", m.token, nil); resp.StatusCode != http.StatusUpgradeRequired {
		t.Errorf("without an upgrade: %s", resp.Status)
	}
}

func TestServiceCallIsCancelled(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	m.mustServe("tools", counter)
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	if _, err := m.client.Calls().Call(ctx, "tools", "sleep", []any{100}, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	m.wantCall("1", "add")
}

func TestTokens(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	m.mustServe("tools", counter)
	m.mustServe("other", counter)
	tools := serviceToken + "tools"
	for _, c := range []struct {
		method, path, token string
		status              int
	}{
		{"GET", "/v1/health", "", 401},
		{"GET", "/v1/health", "wrong", 401},
		{"GET", "/v1/health", tools, 403},
		{"GET", "/no/such/path", "", 401},
		{"GET", "/no/such/path", m.token, 404},
		{"DELETE", "/v1/health", m.token, 404},
		{"GET", "/v1/services/tools", tools, 200},
		{"GET", "/v1/services/other", tools, 403},
		{"GET", "/v1/services/none", tools, 403},
		{"GET", "/v1/services/none", "wrong", 401},
		{"GET", "/v1/services", tools, 403},
		{"GET", "/v1/services/tools/logs", tools, 403},
		{"DELETE", "/v1/services/tools", tools, 403},
		{"PUT", "/v1/services/tools", tools, 403},
		{"POST", "/v1/services/tools/call/add", tools, 200},
		{"POST", "/v1/services/other/call/add", tools, 403},
		{"POST", "/v1/processes", tools, 403},
		{"GET", "/v1/files?path=/etc/hostname", tools, 403},
		{"GET", "/v1/files?path=/etc/hostname", m.token, 200},
		{"POST", "/v1/shutdown", tools, 403},
	} {
		if resp := m.raw(c.method, c.path, c.token, nil); resp.StatusCode != c.status {
			t.Errorf("%s %s: %s, want %d", c.method, c.path, resp.Status, c.status)
		}
	}
}
