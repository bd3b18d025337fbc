package netproxy

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seer-engine/seer/internal/testkit"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "netproxy" {
		os.Exit(Main(os.Stdin, os.Stderr))
	}
	os.Exit(m.Run())
}

// machine is a fake: a folder, and a process whose end is the machine's.
type machine struct {
	t        *testing.T
	run      string
	life     *exec.Cmd
	netProxy *exec.Cmd
	err      testkit.Buffer
	files    []*os.File
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{t: t, run: filepath.Join(t.TempDir(), "a run folder whose name is "+strings.Repeat("long ", 30))}
	if err := os.MkdirAll(filepath.Join(m.run, "ports"), 0o700); err != nil {
		t.Fatal(err)
	}
	m.life = exec.Command("sleep", "600")
	if err := m.life.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.end() })
	return m
}

func (m *machine) end() {
	_ = m.life.Process.Kill()
	_ = m.life.Wait()
	if m.netProxy != nil {
		if err := m.netProxy.Wait(); err != nil {
			m.t.Errorf("the network proxy: %v: %s", err, m.err.String())
		}
		m.netProxy = nil
	}
}

// add hands a file to the network proxy and returns its number there.
func (m *machine) add(f *os.File, err error) int {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
	m.files = append(m.files, f)
	return 2 + len(m.files)
}

func (m *machine) start(c Config) {
	m.t.Helper()
	c.Run = m.add(os.Open(m.run))
	fd, err := unix.PidfdOpen(m.life.Process.Pid, 0)
	c.Life = []int{m.add(os.NewFile(uintptr(fd), "life"), err)}
	m.netProxy = exec.Command("/proc/self/exe", "netproxy")
	m.netProxy.Stdin, m.netProxy.Stderr, m.netProxy.ExtraFiles = bytes.NewReader(c.Encode()), &m.err, m.files
	if err := m.netProxy.Start(); err != nil {
		m.t.Fatal(err)
	}
	for _, f := range m.files {
		_ = f.Close()
	}
}

// port makes the socket outside and returns its address.
func (m *machine) port(port int) (Port, string) {
	m.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		m.t.Fatal(err)
	}
	defer l.Close()
	return Port{port, m.add(l.(*net.TCPListener).File())}, l.Addr().String()
}

// echo listens at a path as the runtime inside does.
func echo(t *testing.T, path, greeting string) net.Listener {
	t.Helper()
	l := testkit.UnixSocket(t)
	if err := os.Rename(l.Addr().String(), path); err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	return testkit.Serve(l, func(c net.Conn) {
		_, _ = io.WriteString(c, greeting)
		testkit.Echo(c)
	})
}

func say(address, text string) (string, error) {
	c, err := net.DialTimeout("tcp", address, 30*time.Second)
	if err != nil {
		return "", err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(30 * time.Second))
	_, _ = io.WriteString(c, text)
	_ = c.(*net.TCPConn).CloseWrite()
	out, err := io.ReadAll(c)
	return string(out), err
}

func TestPortsLeadInside(t *testing.T) {
	m := newMachine(t)
	p, address := m.port(8888)
	q, other := m.port(9999)
	m.start(Config{Ports: []Port{p, q}})
	if out, _ := say(address, "x"); out != "" {
		t.Errorf("before anybody listens: %q", out)
	}
	l := echo(t, filepath.Join(m.run, "ports", "8888"), "one ")
	big := strings.Repeat("0123456789abcdef", 1<<16)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if out, err := say(address, big); err != nil || out != "one "+big {
				t.Errorf("%d bytes came back, %v", len(out), err)
			}
		})
	}
	wg.Wait()
	if out, _ := say(other, "x"); out != "" {
		t.Errorf("the other port: %q", out)
	}
	// A restarted runtime makes the socket again.
	_ = l.Close()
	echo(t, filepath.Join(m.run, "ports", "8888"), "two ")
	if out, err := say(address, "x"); out != "two x" {
		t.Errorf("after a restart: %q, %v", out, err)
	}
	netProxy := m.netProxy.Process.Pid
	m.end() // waits for the network proxy
	if err := unix.Kill(netProxy, 0); err == nil {
		t.Error("the network proxy is still there")
	}
	if _, err := say(address, "x"); err == nil {
		t.Error("the port is still open")
	}
}

// TestLinksAreNotFollowed: what is inside can put links into its folder, to sockets of
// this computer that it could not reach itself.
func TestLinksAreNotFollowed(t *testing.T) {
	m := newMachine(t)
	p, address := m.port(8888)
	m.start(Config{Ports: []Port{p}})
	outside := t.TempDir()
	echo(t, filepath.Join(outside, "8888"), "secret")
	ports := filepath.Join(m.run, "ports")
	try := func(what string, err error) {
		if err != nil {
			t.Fatal(err)
		}
		if out, _ := say(address, ""); out != "" {
			t.Errorf("%s: %q", what, out)
		}
	}
	try("a link", os.Symlink(filepath.Join(outside, "8888"), filepath.Join(ports, "8888")))
	_ = os.RemoveAll(ports)
	try("no folder", nil)
	try("the folder a link", os.Symlink(outside, ports))
	_ = os.Remove(ports)
	if err := os.Mkdir(ports, 0o700); err != nil {
		t.Fatal(err)
	}
	try("a file", os.WriteFile(filepath.Join(ports, "8888"), []byte("x"), 0o600))
	_ = os.Remove(filepath.Join(ports, "8888"))
	try("a pipe", unix.Mkfifo(filepath.Join(ports, "8888"), 0o600))
	_ = os.Remove(filepath.Join(ports, "8888"))
	echo(t, filepath.Join(ports, "8888"), "mine")
	if out, err := say(address, ""); out != "mine" {
		t.Errorf("its own socket: %q, %v", out, err)
	}
}

func TestProxyOfTheProgram(t *testing.T) {
	m := newMachine(t)
	origin := testkit.Loopback(t)
	testkit.ServeHTTP(t, origin, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = fmt.Fprint(w, "origin") }))
	socket := filepath.Join(t.TempDir(), "proxy")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	m.start(Config{Proxy: m.add(l.(*net.UnixListener).File()), Hosts: []string{origin.Addr().String()}})
	_ = l.Close()
	c := client(socket)
	defer c.CloseIdleConnections()
	for target, want := range map[string]string{"http://" + origin.Addr().String(): "200", "http://127.0.0.1:1/": "403"} {
		answer, err := c.Get(target)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if !strings.HasPrefix(answer.Status, want) {
			t.Errorf("%s: %s", target, answer.Status)
		}
	}
	m.end()
	if log := m.err.String(); !strings.Contains(log, "127.0.0.1:1:") {
		t.Errorf("the log: %q", log)
	}
}

func TestBadConfigurations(t *testing.T) {
	for _, text := range []string{"", "{", "{}", `{"life":[3],"ports":[{"port":1,"file":999}]}`, `{"life":[3],"proxy":999}`, `{"life":[3],"hosts":["*"]}`} {
		var log testkit.Buffer
		if code := Main(strings.NewReader(text), &log); code == 0 || !strings.HasPrefix(log.String(), "netproxy: ") {
			t.Errorf("%q: %d, %s", text, code, log.String())
		}
	}
}
