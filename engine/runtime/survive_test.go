package runtime_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/internal/testkit"
)

// killRuntime kills the runtime, and waits until there is another one.
func (m *machine) killRuntime() {
	m.t.Helper()
	old := m.runtimePid()
	if err := syscall.Kill(old, syscall.SIGKILL); err != nil {
		m.t.Fatal(err)
	}
	testkit.EventuallyNil(m.t, "another runtime", func() error {
		if h, err := m.client.Health(testContext(m.t)); err != nil || m.runtimePid() == old {
			return fmt.Errorf("%+v %v", h, err)
		}
		return nil
	})
}

// workersOf are the processes that services have started.
func (m *machine) workersOf() (list []string) {
	for _, line := range marked("SEER_MACHINE=" + m.boot.Machine) {
		if strings.Contains(line, "worker.py") {
			list = append(list, line)
		}
	}
	return list
}

func (m *machine) awaitOneWorker() {
	m.t.Helper()
	testkit.EventuallyNil(m.t, "one worker to be left", func() error {
		if list := m.workersOf(); len(list) != 1 {
			return errors.New(strings.Join(list, "\n"))
		}
		return nil
	})
}

func TestWorkersOutliveTheRuntime(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	m.mustServe("tools", counter+"\n@expose\ndef say(s): print(s, flush=True)\n")
	ctx := testContext(t)
	m.wantCall("1", "add")
	pid, _ := m.call("pid")
	conn, err := newClient(t, m.boot.Listen, serviceToken+"tools").Calls().Connect(ctx, "tools")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if status, _ := m.answerOf("POST", "call/until?wait=0", `{"args":["long"]}`, "Seer-Call-Id", "call-long"); status != 202 {
		t.Errorf("%d", status)
	}
	for range 2 {
		m.killRuntime()
	}
	// What ran goes on, also for those whose connection never was the runtime's.
	if got, err := conn.Call(ctx, "add", nil, nil); err != nil || string(got) != "2" {
		t.Errorf("%s %v", got, err)
	}
	m.goOn("long")
	if status, a := m.answerOf("GET", "calls/call-long?wait=120", ""); status != 200 || a["result"] != "long" {
		t.Errorf("%d %v", status, a)
	}
	if now, err := m.call("pid"); err != nil || now != pid {
		t.Errorf("the worker is %s and was %s; %v", now, pid, err)
	}
	if _, err := m.call("say", "afterwards"); err != nil {
		t.Error(err)
	}
	testkit.EventuallyNil(t, "the log to go on", func() error {
		var log bytes.Buffer
		if _, err := m.client.Services().Logs(ctx, "tools", 0, false, &log, nil); err != nil || log.String() != "loaded\nafterwards\n" {
			return fmt.Errorf("%q %v", log.String(), err)
		}
		return nil
	})
	if h, err := m.client.Health(ctx); err != nil || h.Busy {
		t.Errorf("%+v %v", h, err)
	}
	// One that dies under a runtime that is not its parent is replaced like any other.
	if _, a := m.answerOf("POST", "call/die", noArguments); errorCode(a) != "interrupted" {
		t.Errorf("%v", a)
	}
	m.wantCall("1", "add")
}

// TestRuntimeIsKilledAnywhere kills the runtime at moments by chance, while services
// are loaded, replaced and called.
func TestRuntimeIsKilledAnywhere(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	ctx := testContext(t)
	chance := rand.New(rand.NewPCG(1, 2))
	m.mustServe("tools", counter)
	for i := range 4 { // the loader gives up after five in a minute
		spec := protocol.ServiceSpec{Filename: "interface.py", Code: counter + fmt.Sprintf("\n@expose\ndef which(): return %d\n", i),
			TokenSHA256: protocol.HashToken(serviceToken + "tools")}
		if _, err := m.client.Services().Put(ctx, "tools", spec); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(chance.IntN(300)) * time.Millisecond)
		m.killRuntime()
		testkit.EventuallyNil(t, "the code that was served last", func() error {
			if got, err := m.call("which"); err != nil || got != fmt.Sprint(i) {
				return fmt.Errorf("%s %v", got, err)
			}
			return nil
		})
		if v, err := m.client.Services().Get(ctx, "tools"); err != nil || v.Generation != i+2 {
			t.Errorf("%+v %v", v, err)
		}
	}
	m.awaitOneWorker()
}

// TestRetiringWorkersOutliveTheRuntime kills it while a call runs in a generation that
// has been replaced.
func TestRetiringWorkersOutliveTheRuntime(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	m.mustServe("tools", counter)
	if status, _ := m.answerOf("POST", "call/until?wait=0", `{"args":["old"]}`, "Seer-Call-Id", "call-old"); status != 202 {
		t.Errorf("%d", status)
	}
	m.mustServe("tools", "@expose\ndef answer(): return 42")
	if status, a := m.answerOf("GET", "calls/call-old?wait=0.2", ""); status != 202 || a["state"] != "running" {
		t.Errorf("%d %v", status, a)
	}
	m.killRuntime()
	m.wantCall("42", "answer")
	m.goOn("old")
	for range 2 {
		if status, a := m.answerOf("GET", "calls/call-old?wait=120", ""); status != 200 || a["result"] != "old" {
			t.Errorf("%d %v", status, a)
		}
		m.awaitOneWorker()
	}
}

// TestLoaderIsKilledAnywhere kills the loader, sometimes with its runtime: nothing is
// left.
func TestLoaderIsKilledAnywhere(t *testing.T) {
	t.Parallel()
	for i, both := range []bool{false, true, true} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			m := up(t, nil)
			if both {
				m.mustServe("tools", counter)
			}
			if _, err := m.client.Services().Put(testContext(t), "tools", protocol.ServiceSpec{Filename: "interface.py", Code: counter,
				TokenSHA256: protocol.HashToken("x")}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Duration(rand.IntN(300)) * time.Millisecond)
			pid := m.runtimePid()
			_ = m.cmd.Process.Kill()
			if both {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			m.ended()
			m.gone()
		})
	}
}

// TestWorkerIsSuspended stops a worker for a while, and the runtime dies meanwhile.
func TestWorkerIsSuspended(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	m.mustServe("tools", counter)
	text, err := m.call("pid")
	if err != nil {
		t.Fatal(err)
	}
	var pid int
	_, _ = fmt.Sscan(text, &pid)
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if status, a := m.answerOf("POST", "call/add?wait=0.2", noArguments, "Seer-Call-Id", "call-stopped"); status != 202 {
		t.Errorf("%d %v", status, a)
	}
	m.killRuntime()
	if h, err := m.client.Health(testContext(t)); err != nil || h.Services["tools"] != protocol.ServiceReady {
		t.Errorf("%+v %v", h, err)
	}
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if status, a := m.answerOf("POST", "call/add?wait=120", noArguments, "Seer-Call-Id", "call-stopped", "Seer-Call-Age", "1"); status != 200 || a["result"] != 1.0 {
		t.Errorf("%d %v", status, a)
	}
}

// TestAnswersWithoutAWorker asks for calls whose service has crashed for good, or is
// gone.
func TestAnswersWithoutAWorker(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	m.mustServe("tools", counter+"\nimport pathlib\nif os.path.exists('broken'): os._exit(1)\n@expose\ndef break_(): open('broken', 'w')\n")
	for name, fn := range map[string]string{"call-done": "add", "call-break": "break_"} {
		if status, a := m.answerOf("POST", "call/"+fn, noArguments, "Seer-Call-Id", name); status != 200 {
			t.Errorf("%d %v", status, a)
		}
	}
	if status, a := m.answerOf("POST", "call/die", noArguments, "Seer-Call-Id", "call-die"); status != 422 || errorCode(a) != "interrupted" {
		t.Errorf("%d %v", status, a)
	}
	testkit.EventuallyNil(t, "the runtime to give up", func() error {
		if status, a := m.answerOf("POST", "call/add", noArguments); status != 422 || errorCode(a) != "load_failed" || !strings.Contains(errorText(a), "serve it again") {
			return fmt.Errorf("%d %v", status, a)
		}
		return nil
	})
	check := func(get func(path string) (int, string)) {
		t.Helper()
		for path, want := range map[string]string{
			"calls/call-done": `200 {"result":1,"tagged":false}`, "calls/call-die": "interrupted", "calls/call-none": "load_failed",
			"calls": `"call-break"`,
		} {
			status, text := get(path)
			if got := fmt.Sprint(status, " ", text); !strings.Contains(got, want) && !strings.Contains(got, "not_found") {
				t.Errorf("%s: %s", path, got)
			}
		}
	}
	get := func(path string) (int, string) {
		resp := m.raw("GET", "/v1/services/tools/"+path, m.token, nil)
		data, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(data)
	}
	check(get)
	m.killRuntime()
	if err := m.client.Services().Delete(testContext(t), "tools"); err != nil {
		t.Fatal(err)
	}
	check(get)
	// Served again, the names are remembered.
	_ = os.Remove(m.boot.Roots["/workspace"] + "/broken")
	m.mustServe("tools", counter)
	if status, a := m.answerOf("POST", "call/add", noArguments, "Seer-Call-Id", "call-done"); status != 200 || a["result"] != 1.0 {
		t.Errorf("%d %v", status, a)
	}
}

func TestReloadInPlace(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	ctx := testContext(t)
	v := m.mustServe("tools", counter)
	m.wantCall("1", "add")
	pid, _ := m.call("pid")
	for i, c := range []struct {
		code string
		kept bool
	}{{counter + "\n# one\n", true}, {counter + "\n# not in place\n", false}, {counter + "\n# three\n", true}} {
		put, err := m.client.Services().Put(ctx, "tools", protocol.ServiceSpec{Filename: "interface.py", Code: c.code, InPlace: true,
			TokenSHA256: protocol.HashToken(serviceToken + "tools")})
		if err != nil {
			t.Fatal(err)
		}
		changed := m.raw(http.MethodGet, "/v1/services/tools?wait=20&unless="+v.Interface.CodeHash, m.token, nil)
		if changed.StatusCode != 200 {
			t.Errorf("%s", changed.Status)
		}
		if v, err = m.client.Services().Wait(ctx, "tools", put.Generation); err != nil || v.State != protocol.ServiceReady || v.InPlace == nil ||
			v.InPlace.Kept != c.kept || v.Generation != i+2 || c.kept != (v.InPlace.Reason == "") {
			t.Fatalf("%d: %+v %+v %v", i, v, v.InPlace, err)
		}
		_, a := m.answerOf("POST", "call/pid", noArguments) // a connection of before may still lead to the old worker
		now := fmt.Sprintf("%.0f", a["result"])
		if c.kept != (now == pid) {
			t.Errorf("%d: %s %s", i, now, pid)
		}
		pid = now
	}
	m.killRuntime()
	if got, err := m.call("pid"); err != nil || got != pid {
		t.Errorf("%s %s %v", got, pid, err)
	}
}

// TestJournalIsFollowed reads the journal as it grows.
func TestJournalIsFollowed(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	m.mustServe("tools", counter)
	_, _ = m.answerOf("POST", "call/add", noArguments, "Seer-Call-Id", "call-first")
	get := func(query string) *http.Response {
		return m.raw("GET", "/v1/services/tools/journal?"+query, m.token, nil)
	}
	first := get("segment=0&wait=0")
	data, _ := io.ReadAll(first.Body)
	if !bytes.Contains(data, []byte(`"call-first"`)) || first.Header.Get("X-Seer-Segment") != "1" || first.Trailer.Get("X-Seer-Next") != "" {
		t.Errorf("%q %v %v", data, first.Header, first.Trailer)
	}
	more, err := m.client.Services().Journal(testContext(t), "tools", 1, int64(len(data)), 10*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer more.Close()
	_, _ = m.answerOf("POST", "call/add", noArguments, "Seer-Call-Id", "call-second") // which is after the answer has begun
	var rest bytes.Buffer
	for !bytes.Contains(rest.Bytes(), []byte(`"call-second"`)) {
		if _, err := io.CopyN(&rest, more, 1); err != nil {
			t.Fatalf("%q %v", rest.Bytes(), err)
		}
	}
	if bytes.Contains(rest.Bytes(), []byte(`"call-first"`)) {
		t.Errorf("%q", rest.Bytes())
	}
	m.mustServe("tools", counter) // the fake worker begins another segment
	if resp := get("segment=1&wait=120"); resp.Trailer.Get("X-Seer-Next") != "2" {
		t.Errorf("%v", resp.Trailer)
	}
}
