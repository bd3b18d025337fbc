package runtime_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/python"
	"github.com/seer-engine/seer/internal/testkit"
)

func noise(seed byte, n int) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{seed}).Read(b)
	return b
}

// TestNothingIsNoticed does everything that a machine is for while each request and
// each websocket is cut after some hundred milliseconds.
func TestNothingIsNoticed(t *testing.T) {
	t.Parallel()
	m, c := upBehindCuts(t, 150*time.Millisecond, 500*time.Millisecond, false)
	m.mustServe("tools", realCode)
	var wg sync.WaitGroup
	for name, check := range map[string]func(t *testing.T, m *machine){
		"streams": checkStreams, "file": checkFile, "tree": checkTree, "calls": checkCalls, "frames": checkFrames,
	} {
		wg.Go(func() { t.Run(name, func(t *testing.T) { check(t, m) }) })
	}
	wg.Wait()
	if c.cuts.Load() < 10 {
		t.Errorf("only %d requests were cut", c.cuts.Load())
	}
}

func checkStreams(t *testing.T, m *machine) {
	data := noise(1, 50<<20)
	got := sha256.New()
	var errOut bytes.Buffer
	p, err := m.client.Processes().Run(testContext(t), protocol.ProcessSpec{Shell: "cat; echo done >&2; exit 3"}, bytes.NewReader(data), got, &errOut)
	if want := sha256.Sum256(data); err != nil || p.ExitCode != 3 || !bytes.Equal(got.Sum(nil), want[:]) || errOut.String() != "done\n" {
		t.Errorf("%+v %v %q", p, err, errOut.String())
	}
}

func checkFile(t *testing.T, m *machine) {
	data := noise(2, 100<<20)
	ctx := testContext(t)
	if err := m.client.Files().Write(ctx, "/workspace/big", bytes.NewReader(data), 0o600); err != nil {
		t.Fatal(err)
	}
	got := sha256.New()
	n, err := m.client.Files().Read(ctx, "/workspace/big", got)
	if want := sha256.Sum256(data); err != nil || n != int64(len(data)) || !bytes.Equal(got.Sum(nil), want[:]) {
		t.Errorf("%d bytes came back, and not the same; %v", n, err)
	}
}

func checkTree(t *testing.T, m *machine) {
	local, back := t.TempDir(), t.TempDir()
	for i := range 30 {
		writeFile(t, filepath.Join(local, strconv.Itoa(i)), string(noise(byte(i), 1<<20)))
	}
	ctx := testContext(t)
	if err := m.client.Files().Upload(ctx, local, "/workspace/tree"); err != nil {
		t.Fatal(err)
	}
	if err := m.client.Files().Download(ctx, "/workspace/tree", back); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("diff", "-r", local, back).CombinedOutput(); err != nil {
		t.Errorf("%v: %.500s", err, out)
	}
}

func checkCalls(t *testing.T, m *machine) {
	ctx := testContext(t)
	if got, err := m.client.Calls().Call(ctx, "tools", "nap", []any{2}, nil); err != nil || string(got) != `"slept"` {
		t.Errorf("a call longer than several cuts: %s %v", got, err)
	}
	for i := range 200 {
		if got, err := m.client.Calls().Call(ctx, "tools", "add", []any{i, 1}, nil); err != nil || string(got) != strconv.Itoa(i+1) {
			t.Fatalf("call %d: %s %v", i, got, err)
		}
	}
}

func checkFrames(t *testing.T, m *machine) {
	v := m.mustServe("framed", realCode+"\nprint('loaded', flush=True)\n@expose\ndef say(i): print('line', i, flush=True)\n")
	ctx, cancel := context.WithCancel(testContext(t))
	defer cancel()
	conn, err := m.client.Calls().Connect(ctx, v.Name)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	log := &testkit.Buffer{}
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = m.client.Services().Logs(ctx, v.Name, 0, true, log, nil) })
	want := "loaded\n"
	for i := range 200 {
		if _, err := conn.Call(ctx, "say", []any{i}, nil); err != nil {
			t.Fatalf("call %d: %v", i, err)
		}
		want += fmt.Sprintf("line %d\n", i)
		time.Sleep(5 * time.Millisecond)
	}
	testkit.EventuallyNil(t, "the whole log", func() error {
		if log.String() != want {
			return fmt.Errorf("%d bytes of %d", len(log.String()), len(want))
		}
		return nil
	})
	cancel()
	wg.Wait()
}

// TestTwoClientsAreNotMixed has clients with tokens of their own use one tunnel.
func TestTwoClientsAreNotMixed(t *testing.T) {
	t.Parallel()
	m, c := upBehindCuts(t, 100*time.Millisecond, 400*time.Millisecond, false)
	m.mustServe("plus", "@expose\ndef f(a): return a\n")
	m.mustServe("minus", "@expose\ndef f(a): return -a\n")
	ctx := testContext(t)
	var wg sync.WaitGroup
	for name, sign := range map[string]int{"plus": 1, "minus": -1} {
		client := newClient(t, c.URL, serviceToken+name)
		for range 3 {
			wg.Go(func() {
				for i := range 100 {
					if got, err := client.Calls().Call(ctx, name, "f", []any{i + 1}, nil); err != nil || string(got) != strconv.Itoa(sign*(i+1)) {
						t.Errorf("%s %d: %s %v", name, i, got, err)
						return
					}
				}
			})
		}
		// Its link opens nothing that its token does not.
		_, err := client.Health(ctx)
		errs := []error{err, client.Shutdown(ctx), client.Files().Write(ctx, "/workspace/x", strings.NewReader("x"), 0o600)}
		_, err = client.Calls().Call(ctx, map[string]string{"plus": "minus", "minus": "plus"}[name], "f", []any{1}, nil)
		for i, err := range append(errs, err) {
			if protocol.CodeOf(err) != protocol.Forbidden {
				t.Errorf("%s, request %d: %v", name, i, err)
			}
		}
	}
	wg.Wait()
	if _, err := newClient(t, c.URL, "wrong").Dial(ctx); protocol.CodeOf(err) != protocol.Unauthorized {
		t.Errorf("a link with a wrong token: %v", err)
	}
}

// python runs a program that has a client of the service tools.
func (m *machine) python(endpoint, program string, env ...string) (string, error) {
	m.t.Helper()
	dir := m.t.TempDir()
	writeFile(m.t, filepath.Join(dir, "client.py"), string(python.Client()))
	c := client.Connection{Sandbox: "sb-test", Service: "tools", Endpoint: endpoint, Token: serviceToken + "tools"}
	if err := c.Write(filepath.Join(dir, "connection.json")); err != nil {
		m.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute) // all is cut again and again, on a computer that may be busy
	defer cancel()
	cmd := exec.CommandContext(ctx, "python3", "-B", "-c", "from client import *\nc = Client('connection.json')\n"+program)
	cmd.Dir, cmd.Env = dir, append([]string{"PATH=" + os.Getenv("PATH"), "no_proxy=*"}, env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestPythonClientNoticesNothing uses the plain client, which has no link.
func TestPythonClientNoticesNothing(t *testing.T) {
	t.Parallel()
	m, c := upBehindCuts(t, 150*time.Millisecond, 500*time.Millisecond, true)
	m.mustServe("tools", realCode)
	authority := filepath.Join(m.dir, "ca.pem")
	writeFile(t, authority, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate().Raw})))
	out, err := m.python(c.URL, `
import threading
def many(k): print(all(c.call("add", (i, k)) == i + k for i in range(40)), c.call("nap", (2,)), flush=True)
threads = [threading.Thread(target=many, args=(k,)) for k in range(2)]
for t in threads: t.start()
for t in threads: t.join()
try: c.call("none")
except CallError as e: print(e.code)
print(c.call("count"))
`, "SSL_CERT_FILE="+authority)
	if want := "True slept\nTrue slept\nunknown_function\n80\n"; err != nil || out != want {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := m.python(c.URL, "c.call('add', (1,))"); err == nil || !strings.Contains(out, "Unreachable") || !strings.Contains(strings.ToLower(out), "certificate") {
		t.Errorf("an unknown authority: %v %s", err, out)
	}
}

// TestPythonClientCancels interrupts a call of the plain client, and the tunnel loses what it
// says of that at first: the service, which runs one call at a time, must be free for the next.
func TestPythonClientCancels(t *testing.T) {
	t.Parallel()
	m, c := upBehindCuts(t, 300*time.Millisecond, 500*time.Millisecond, false)
	m.mustServe("tools", realCode)
	c.unheard.Store(3)
	out, err := m.python(c.URL, `
import os, signal, threading, urllib.request
threading.Timer(1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try: c.call("forever")
except KeyboardInterrupt: print("interrupted", flush=True)
try: c.call("forever", timeout=0.5)
except TimeoutError: print("timeout", flush=True)
print(c.call("add", (1, 1)))
`)
	if err != nil || out != "interrupted\ntimeout\n2\n" {
		t.Errorf("%v %s", err, out)
	}
}

// TestRuntimeIsKilledWhileLinked ends the runtime under connections that go through
// a tunnel: calls go on and have their one right answer, a command is told to be lost.
func TestRuntimeIsKilledWhileLinked(t *testing.T) {
	t.Parallel()
	m, c := upBehindCuts(t, time.Minute, time.Minute, false)
	hang := realCode + "\n@expose\ndef hang(mark):\n    open(mark, 'a').write('x')\n    while not os.path.exists('go'): time.sleep(0.02)\n    return mark\n"
	m.mustServe("tools", hang)
	m.mustServe("other", hang)
	ctx := testContext(t)
	if _, err := m.client.PutLease(ctx, protocol.LeaseRequest{Kind: protocol.LeaseDetached, TTLSeconds: 600}); err != nil {
		t.Fatal(err)
	}
	type answer struct {
		text string
		err  error
	}
	called, ran, plain := make(chan answer, 1), make(chan error, 1), make(chan answer, 1)
	go func() {
		out, err := m.client.Calls().Call(ctx, "other", "hang", []any{"one"}, nil)
		called <- answer{string(out), err}
	}()
	go func() {
		_, err := m.client.Processes().Run(ctx, protocol.ProcessSpec{ID: "p-lost", Shell: "exec sleep 1000"}, nil, nil, nil)
		ran <- err
	}()
	go func() {
		out, err := m.python(c.URL, "print(c.call('hang', ('two',)), c.call('add', (1, 1)))")
		plain <- answer{out, err}
	}()
	testkit.EventuallyNil(t, "two calls and a process", func() error {
		if len(marked("SEER_PROCESS=p-lost")) == 0 {
			return errors.New("not yet")
		}
		_, one := m.client.Files().Stat(ctx, "one")
		_, two := m.client.Files().Stat(ctx, "two")
		return errors.Join(one, two)
	})
	m.killRuntime()
	if err := <-ran; protocol.CodeOf(err) != protocol.Unavailable || !strings.Contains(err.Error(), "started again") {
		t.Errorf("a command: %v", err)
	}
	if err := m.client.Files().Write(ctx, "go", strings.NewReader(""), 0o600); err != nil {
		t.Fatal(err)
	}
	if a := <-called; a.err != nil || a.text != `"one"` {
		t.Errorf("a call: %+v", a)
	}
	if a := <-plain; a.err != nil || a.text != "two 2\n" {
		t.Errorf("the plain client: %+v", a)
	}
	if out := m.shell("cat one two"); out != "xx" {
		t.Errorf("a call ran twice: %s", out)
	}
}

// TestShutdownReachesLinks ends a machine through its tunnel, and everybody hears.
func TestShutdownReachesLinks(t *testing.T) {
	t.Parallel()
	m, c := upBehindCuts(t, time.Minute, time.Minute, false)
	m.mustServe("tools", realCode)
	ctx := testContext(t)
	idle, err := newClient(t, c.URL, serviceToken+"tools").Dial(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close()
	if err := m.client.Shutdown(ctx); err != nil {
		t.Errorf("shutdown: %v", err)
	}
	_ = idle.SetReadDeadline(time.Now().Add(2 * time.Minute))
	if _, err := io.ReadAll(idle); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("an open connection: %v", err)
	}
	if code := m.ended(); code != 0 {
		t.Errorf("exit %d", code)
	}
}

// TestDial speaks HTTP on a connection of one's own, by a socket and by a tunnel.
func TestDial(t *testing.T) {
	t.Parallel()
	tunnelled, _ := upBehindCuts(t, 100*time.Millisecond, 200*time.Millisecond, false)
	for name, m := range map[string]*machine{"socket": up(t, nil), "tunnel": tunnelled} {
		conn, err := m.client.Dial(testContext(t))
		if err != nil {
			t.Fatal(err)
		}
		r := bufio.NewReader(conn)
		for _, token := range []string{m.token, m.token, "wrong"} {
			fmt.Fprintf(conn, "GET /v1/health HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", token)
			resp, err := http.ReadResponse(r, nil)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			if token == m.token != (resp.StatusCode == 200) {
				t.Errorf("%s: %s", name, resp.Status)
			}
			time.Sleep(150 * time.Millisecond) // for a cut
		}
		conn.Close()
	}
}

// answerOf makes a request about a call that has a name.
func (m *machine) answerOf(method, path, body string, header ...string) (int, map[string]any) {
	m.t.Helper()
	req, _ := http.NewRequest(method, "http://x/v1/services/tools/"+path, strings.NewReader(body))
	req.Header.Set("Authorization", "Bearer "+serviceToken+"tools")
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	transport := &http.Transport{DialContext: dialer(strings.TrimPrefix(m.boot.Listen, "unix:")), DisableKeepAlives: true}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		m.t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.Header.Get("Seer") == "" {
		m.t.Errorf("%s %s: an answer that does not say whose it is", method, path)
	}
	var v map[string]any
	if err := json.NewDecoder(resp.Body).Decode(&v); err != nil {
		m.t.Errorf("%s %s: %v", method, path, err)
	}
	return resp.StatusCode, v
}

// TestCloseIsHeard closes a client whose call runs: the machine stops it at once.
func TestCloseIsHeard(t *testing.T) {
	t.Parallel()
	m, c := upBehindCuts(t, time.Minute, time.Minute, false)
	m.mustServe("tools", realCode)
	ctx, cancel := context.WithCancel(testContext(t))
	client := newClient(t, c.URL, serviceToken+"tools")
	done := make(chan error, 1)
	go func() {
		_, err := client.Calls().Call(ctx, "tools", "forever", nil, nil)
		done <- err
	}()
	m.busy()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	client.Close()
	m.wantCall("2", "add", 1, 1)
}
