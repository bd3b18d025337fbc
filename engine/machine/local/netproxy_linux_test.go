package local

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

// few spares an ordinary user's run what is the same in gVisor for everybody.
func few() []string {
	if os.Getenv("SEER_TEST_RUNSC") == "" {
		return kinds
	}
	return []string{isolation.Bubblewrap, isolation.None}
}

// own are the kinds that can give a machine a network of its own.
func own() []string { return confined(kinds) }

func confined(kinds []string) (out []string) {
	for _, kind := range kinds {
		if kind != isolation.None {
			out = append(out, kind)
		}
	}
	return out
}

// serve makes the machine answer at the socket of a port, as the runtime does.
const serve = `
import os, socket, threading
here = os.getcwd()
s = socket.socket(socket.AF_UNIX)
os.chdir("/run/seer/ports")
try: os.unlink("%[1]d")
except OSError: pass
s.bind("%[1]d"); os.chdir(here)
s.listen(8)
def loop():
    while True:
        c, _ = s.accept()
        with c: c.recv(4096); c.sendall(b"HTTP/1.0 200 OK\r\n\r\n%[2]s")
threading.Thread(target=loop, daemon=True).start()
`

func fetch(url string) string {
	c := http.Client{Timeout: patience}
	answer, err := c.Get(url)
	if err != nil {
		return err.Error()
	}
	defer answer.Body.Close()
	body, _ := io.ReadAll(answer.Body)
	return string(body)
}

func TestPortsOfAnOwnNetwork(t *testing.T) {
	for _, kind := range confined(few()) {
		t.Run(kind, func(t *testing.T) {
			pl := newPlace(t)
			taken, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer taken.Close()
			wished, port := taken.Addr().(*net.TCPAddr).Port, testkit.FreePort(t)
			spec := pl.spec("ports", kind)
			spec.Network, spec.Ports = "none", []int{port, wished}
			if _, err := pl.p.Create(context.Background(), spec, nil); sdk.CodeOf(err) != sdk.Invalid || !strings.Contains(err.Error(), fmt.Sprint(wished)) {
				t.Errorf("a taken port: %v", err)
			}
			pl.empty()
			spec.AnyPort = []int{wished}
			b := pl.up(spec)
			ends := b.seen.Endpoints
			if len(ends) != 3 || ends[1] != (sdk.Endpoint{Port: port, URL: fmt.Sprintf("http://127.0.0.1:%d", port)}) ||
				ends[2].Port != wished || ends[2].URL == fmt.Sprintf("http://127.0.0.1:%d", wished) {
				t.Fatalf("endpoints %+v", ends)
			}
			b.run(serve, port, "first")
			b.run(serve, wished, "second")
			for i, want := range []string{"first", "second"} {
				if got := fetch(ends[i+1].URL); got != want {
					t.Errorf("port %d: %s", i, got)
				}
			}
			if got := b.run(`import os; print(os.environ["SEER_GATE"])`); got != fmt.Sprintf(`{"dir":"/run/seer/ports","ports":[%d,%d]}`, port, wished) {
				t.Errorf("inside: %s", got)
			}
			b.down()
			if _, err := net.Dial("tcp", strings.TrimPrefix(ends[1].URL, "http://")); err == nil {
				t.Error("the port is still open")
			}
		})
	}
}

func TestOnlyListedHosts(t *testing.T) {
	origin := testkit.Loopback(t)
	testkit.ServeHTTP(t, origin, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = fmt.Fprint(w, "origin") }))
	for _, kind := range own() {
		t.Run(kind, func(t *testing.T) {
			pl := newPlace(t)
			spec := pl.spec("hosts", kind)
			spec.Network, spec.NetworkHosts = "hosts", []string{origin.Addr().String()}
			b := pl.up(spec)
			got := b.run(`
import socket
def ask(host):
    s = socket.socket(socket.AF_UNIX); s.settimeout(20); s.connect("/run/seer/proxy")
    s.sendall(b"GET http://%%s/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" %% host)
    return s.makefile("rb").read().decode()
for host in (b"%[1]s", b"example.org"):
    print(ask(host).split("\r\n")[0], ask(host).strip().split("\r\n")[-1])
try: socket.create_connection(tuple("%[1]s".split(":")), 5); print("went around it")
except OSError: print("no other way")
`, origin.Addr())
			for _, want := range []string{"HTTP/1.1 200 OK origin", "HTTP/1.1 403 Forbidden the sandbox may not reach example.org:80", "sandbox.network", "no other way"} {
				if !strings.Contains(got, want) {
					t.Errorf("%q is missing in\n%s", want, got)
				}
			}
			log, err := os.ReadFile(pl.p.folder(b.handle).path("log"))
			if err != nil || strings.Count(string(log), "example.org") != 1 {
				t.Errorf("the machine's log: %v\n%s", err, log)
			}
		})
	}
}

// closedSpec is a machine without a network but one port.
func (pl *place) closedSpec(key, kind string) sdk.MachineSpec {
	pl.t.Helper()
	spec := pl.spec(key, kind)
	spec.Network, spec.Ports = "none", []int{testkit.FreePort(pl.t)}
	return spec
}

func (b *box) netProxy() process {
	b.pl.t.Helper()
	n, err := b.pl.p.folder(b.handle).read()
	if err != nil || n == nil || n.NetProxy == nil {
		b.pl.t.Fatalf("the note: %+v, %v", n, err)
	}
	return n.NetProxy.Process
}

func TestNetProxyThatDies(t *testing.T) {
	for _, kind := range confined(few()) {
		t.Run(kind, func(t *testing.T) {
			pl := newPlace(t)
			spec := pl.closedSpec("netproxy", kind)
			spec.AnyPort = spec.Ports
			b := pl.up(spec)
			b.run(serve, spec.Ports[0], "still me")
			first := b.netProxy()
			if err := syscall.Kill(first.PID, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the network proxy to be gone", func() bool { return !alive(first) })
			if o := pl.observe(b.handle); o.State != sdk.Running || o.Message != "" || len(o.Endpoints) != 2 || o.Endpoints[1] != b.seen.Endpoints[1] {
				t.Errorf("it is %+v", o)
			}
			if got := fetch(b.seen.Endpoints[1].URL); got != "still me" {
				t.Errorf("after its network proxy died: %s", got)
			}
			if b.netProxy() == first {
				t.Error("the note has the old network proxy")
			}
		})
	}
}

// TestPortThatWasTakenMeanwhile: a port moves only when it stays taken.
func TestPortThatWasTakenMeanwhile(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := taken.Addr().(*net.TCPAddr).Port
	g := &proxyNote{Ports: []proxyPort{{Port: 80, Outside: port, Any: true}}}
	if s, err := g.listen(false); sdk.CodeOf(err) != sdk.Invalid || g.Ports[0].Outside != port {
		s.close()
		t.Fatalf("%v, %v", err, g.ways())
	}
	s, err := g.again(context.Background())
	if err != nil || g.Ports[0].Outside == port || g.ways()[0] != fmt.Sprintf("80 at 127.0.0.1:%d", g.Ports[0].Outside) {
		t.Fatalf("kept: %v, %v", err, g.ways())
	}
	s.close()
	_ = taken.Close()
	g.Ports[0].Outside = port
	if s, err = g.again(context.Background()); err != nil || g.Ports[0].Outside != port {
		t.Errorf("free again: %v, %v", err, g.ways())
	}
	s.close()
	g.Ports[0].Outside = 1 << 17
	if s, err := g.listen(true); err == nil || g.Ports[0].Outside != 1<<17 {
		s.close()
		t.Errorf("one that nobody can have: %v, %v", err, g.ways())
	}
}

// TestNetProxyEndsWithTheMachine: also where nobody looks at it any more.
func TestNetProxyEndsWithTheMachine(t *testing.T) {
	for _, kind := range confined(few()) {
		t.Run(kind, func(t *testing.T) {
			pl := newPlace(t)
			spec := pl.closedSpec("end", kind)
			b := pl.up(spec)
			netProxy := b.netProxy()
			for _, pid := range processesWith("SEER_MACHINE=" + spec.Key) {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			eventually(t, "the network proxy to end", func() bool { return !alive(netProxy) })
		})
	}
}

// TestBubblewrapItselfKilledBesideAProxy: the network proxy watched bwrap only; the next look
// starts one that watches what is inside.
func TestBubblewrapItselfKilledBesideAProxy(t *testing.T) {
	pl := newPlace(t)
	spec := pl.closedSpec("outer", isolation.Bubblewrap)
	b := pl.up(spec)
	b.run(serve, spec.Ports[0], "inside")
	n, err := pl.p.folder(b.handle).read()
	if err != nil {
		t.Fatal(err)
	}
	_ = syscall.Kill(n.Outer.PID, syscall.SIGKILL)
	eventually(t, "the network proxy to end", func() bool { return !alive(n.NetProxy.Process) })
	pl.observe(b.handle)
	if got := fetch(b.seen.Endpoints[1].URL); got != "inside" {
		t.Errorf("after a look: %s", got)
	}
}

// TestBubblewrapItselfKilledBeforeItsProxy: what is inside lives on, and the next look
// starts the network proxy.
func TestBubblewrapItselfKilledBeforeItsProxy(t *testing.T) {
	for _, network := range []string{"none", "open"} {
		t.Run(network, func(t *testing.T) {
			pl := newPlace(t)
			spec := pl.spec("outer", isolation.Bubblewrap)
			spec.Network, spec.Ports = network, []int{testkit.FreePort(t)}
			f := pl.p.folder(handleOf(spec.Key))
			pl.p.at = func(step string) {
				if step != "launched" {
					return
				}
				eventually(t, "what is inside", func() bool { _, ok := f.inner(spec.Key); return ok })
				for _, pid := range processesWith("SEER_MACHINE=" + spec.Key) {
					if name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); string(name) == "bwrap\n" {
						start, _ := startOf(pid)
						_ = syscall.Kill(pid, syscall.SIGKILL)
						eventually(t, "the end of bwrap", func() bool { return !alive(process{PID: pid, Start: start}) })
						break // the first one is the outer one
					}
				}
			}
			b := pl.up(spec)
			b.run(serve, spec.Ports[0], "inside")
			if got := fetch(b.seen.Endpoints[1].URL); got != "inside" {
				t.Errorf("after a look: %s", got)
			}
		})
	}
}

// TestKilledWhileCreatingWithAProxy kills a program that creates a machine with a network proxy at
// every step.
func TestKilledWhileCreatingWithAProxy(t *testing.T) {
	if step := os.Getenv("SEER_TEST_DIE"); step != "" {
		die(t, step)
	}
	for _, step := range []string{"intended", "launched", "gated", "recorded"} {
		t.Run(step, func(t *testing.T) {
			pl := newPlace(t)
			port := testkit.FreePort(t)
			crash := func() {
				cmd := exec.Command("/proc/self/exe", "-test.run=^TestKilledWhileCreatingWithAProxy$")
				cmd.Env = append(os.Environ(), "SEER_TEST_DIE="+step, "SEER_TEST_BASE="+pl.base, "SEER_TEST_KIND="+isolation.Bubblewrap, fmt.Sprintf("SEER_TEST_PORT=%d", port))
				out, err := cmd.CombinedOutput()
				if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
					t.Fatalf("it did not die at %s: %v\n%s", step, err, out)
				}
			}
			crash()
			if err := pl.p.Terminate(context.Background(), handleOf(pl.base+"#crash")); err != nil {
				t.Error(err)
			}
			pl.empty()
			crash()
			spec := pl.spec("crash", isolation.Bubblewrap)
			spec.Network, spec.Ports = "none", []int{port}
			b := pl.up(spec)
			b.run(serve, port, "here")
			eventually(t, "the port", func() bool { pl.observe(b.handle); return fetch(b.seen.Endpoints[1].URL) == "here" })
			if found := processesWith("SEER_GATE_OF=" + spec.Key); len(found) != 1 {
				t.Errorf("network proxies: %v", found)
			}
		})
	}
}

func TestNetProxyThatIsMissing(t *testing.T) {
	pl := newPlace(t)
	pl.p.NetProxy = nil
	pl.p.runtimes.dir = filepath.Join(pl.base, "nowhere")
	spec := pl.closedSpec("missing", isolation.Bubblewrap)
	if _, err := pl.p.Create(context.Background(), spec, nil); err == nil || !strings.Contains(err.Error(), "make runtime") {
		t.Errorf("without a network proxy: %v", err)
	}
	pl.empty()
}
