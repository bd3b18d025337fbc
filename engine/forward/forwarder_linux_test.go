package forward_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/forward"
	"github.com/seer-engine/seer/engine/pipe"
	"github.com/seer-engine/seer/engine/ssh"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/internal/sshtest"
	"github.com/seer-engine/seer/internal/testbuild"
	"github.com/seer-engine/seer/internal/testkit"
)

// carried is a host with something that listens there, and a forwarder to it. What serves its
// pipe is this test's own program, so that no machine is needed.
type carried struct {
	box *sshtest.Server
	f   *forward.Forwarder
	w   forward.Wanted
}

func newCarried(t *testing.T) *carried {
	t.Helper()
	l := sshtest.New(t)
	box := l.Start("box", "", "")
	f := &forward.Forwarder{
		Dir:       filepath.Join(l.Dir, "forward"),
		Artifacts: artifacts,
		SSH:       ssh.Options{Dir: filepath.Join(l.Dir, "s"), ConfigFile: l.Config, Artifacts: artifacts, ConnectTimeout: 5 * time.Second},
	}
	socket := filepath.Join(l.Dir, "echo")
	there, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = there.Close() })
	testkit.Serve(there, testkit.Echo)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &carried{box, f, forward.Wanted{Port: 8717, Route: forward.Route{SSH: &forward.SSH{Host: "box", Command: []string{self, "pipe"}}}, Target: "unix:" + socket}}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("log of the process:\n%s", testkit.ReadFile(t, filepath.Join(f.Dir, "log")))
		}
		ctx := context.WithoutCancel(t.Context())
		sandboxes, err := f.Sandboxes()
		if err != nil {
			t.Error(err)
		}
		for _, sandbox := range sandboxes {
			if err := f.Remove(ctx, sandbox); err != nil {
				t.Error(err)
			}
		}
		_ = ssh.New(f.SSH).Disconnect("box")
		sshtest.Gone(t, f.Dir)
	})
	return c
}

func (c *carried) ensure(t *testing.T, sandbox string) string {
	t.Helper()
	urls, err := c.f.Ensure(t.Context(), sandbox, []forward.Wanted{c.w})
	if err != nil {
		t.Fatal(err)
	}
	return urls[c.w.Port]
}

func dial(t *testing.T, url string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// echoes reports whether what is sent comes back.
func echoes(url, text string) error {
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		return err
	}
	return testkit.Echoes(conn, text)
}

// again tries until it works, as a user of a sandbox does.
func again(t *testing.T, url string) {
	t.Helper()
	testkit.EventuallyNil(t, url, func() error { return echoes(url, "hello") })
}

// endSoon has the port of a sandbox end.
func (c *carried) endSoon(t *testing.T, sandbox string) {
	t.Helper()
	path := filepath.Join(c.f.Dir, "routes.json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var routes map[string]any
	if err := json.Unmarshal(text, &routes); err != nil {
		t.Fatal(err)
	}
	port := routes["wanted"].(map[string]any)[sandbox].([]any)[0].(map[string]any)
	port["end"] = time.Now().Add(300 * time.Millisecond)
	if text, err = json.Marshal(routes); err == nil {
		err = state.WriteFile(path, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (c *carried) process(t *testing.T) int {
	t.Helper()
	for _, pid := range sshtest.Processes("forward\x00" + c.f.Dir) {
		return pid
	}
	t.Fatal("there is no process")
	return 0
}

// kill kills the process, and waits until it has let go of its files.
func (c *carried) kill(t *testing.T) {
	t.Helper()
	if err := syscall.Kill(c.process(t), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	lock, err := state.Acquire(t.Context(), filepath.Join(c.f.Dir, "process.lock"))
	if err != nil {
		t.Fatal(err)
	}
	lock.Release()
}

func TestForwarder(t *testing.T) {
	t.Parallel()
	c := newCarried(t)
	if sandboxes, err := c.f.Sandboxes(); err != nil || len(sandboxes) != 0 {
		t.Errorf("%v, %v", sandboxes, err)
	}
	if err := c.f.Remove(t.Context(), "none"); err != nil {
		t.Error(err)
	}
	one := c.ensure(t, "one")
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			if err := echoes(one, strings.Repeat("0123456789", 10000)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := c.box.Connections(); n != 1 {
		t.Errorf("%d logins", n)
	}
	pid := c.process(t)
	two := c.ensure(t, "two")
	if one == two || c.ensure(t, "one") != one || c.process(t) != pid {
		t.Errorf("%s, %s", one, two)
	}
	if err := c.f.Remove(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	if _, err := net.Dial("tcp", strings.TrimPrefix(one, "http://")); err == nil {
		t.Error("what was removed is carried")
	}
	again(t, two)
	if err := c.f.Remove(t.Context(), "two"); err != nil {
		t.Fatal(err)
	}
	sshtest.Gone(t, "forward\x00"+c.f.Dir)
	if three := c.ensure(t, "three"); three == "" {
		t.Error("nothing is carried after the last one")
	}
}

// A port is closed at its end, and the process goes when nothing is left to carry, though nobody has
// said so.
func TestForwarderEnds(t *testing.T) {
	t.Parallel()
	c := newCarried(t)
	c.w.End = time.Now().Add(-time.Hour)
	one := c.ensure(t, "one") // somebody looks, so that it is carried for a while
	again(t, one)
	c.w.End = time.Now().Add(time.Hour)
	two := c.ensure(t, "two")
	c.endSoon(t, "one")
	testkit.EventuallyNil(t, "the end of a port", func() error {
		if err := echoes(one, "hello"); err == nil {
			return errors.New("it is still carried")
		}
		return nil
	})
	again(t, two)
	c.endSoon(t, "two")
	sshtest.Gone(t, "forward\x00"+c.f.Dir)
}

// connected is a port that is carried, and a connection to it.
func connected(t *testing.T) (*carried, string, net.Conn) {
	c := newCarried(t)
	url := c.ensure(t, "one")
	again(t, url)
	return c, url, dial(t, url)
}

// Another copy of Seer, with a folder of its own, cuts no connection.
func TestForwarderOfTwoCopies(t *testing.T) {
	t.Parallel()
	c, url, conn := connected(t)
	if _, err := conn.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	other := *c.f
	other.SSH.Artifacts = filepath.Join(filepath.Dir(c.f.Dir), "another copy")
	if err := os.Symlink(artifacts, other.SSH.Artifacts); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Ensure(t.Context(), "two", []forward.Wanted{c.w}); err != nil {
		t.Fatal(err)
	}
	again(t, url) // by the other options
	if err := testkit.Echoes(conn, "still here"); err != nil {
		t.Errorf("another copy of Seer cuts a connection: %v", err)
	}
}

// Many ask at once: one process serves all.
func TestForwarderIsOne(t *testing.T) {
	t.Parallel()
	c := newCarried(t)
	var all sync.WaitGroup
	urls := make([]string, 20)
	for i := range urls {
		all.Go(func() {
			found, err := c.f.Ensure(t.Context(), fmt.Sprint("sandbox-", i), []forward.Wanted{c.w})
			if err != nil {
				t.Error(err)
			}
			urls[i] = found[c.w.Port]
		})
	}
	all.Wait()
	if found := sshtest.Processes("forward\x00" + c.f.Dir); len(found) != 1 {
		t.Errorf("processes %v", found)
	}
	for _, url := range urls {
		if err := echoes(url, url); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
}

func TestForwarderIsKilled(t *testing.T) {
	t.Parallel()
	c, url, conn := connected(t)
	defer conn.Close()
	for range 3 {
		c.kill(t)
		if now := c.ensure(t, "one"); now != url {
			t.Errorf("it was %s and is %s", url, now)
		}
		if err := echoes(url, "hello"); err != nil {
			t.Error(err)
		}
	}
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("a connection outlives its process")
	}
	// Somebody has taken the port meanwhile.
	c.kill(t)
	var taken net.Listener
	for err := error(syscall.EADDRINUSE); err != nil; {
		taken, err = net.Listen("tcp", strings.TrimPrefix(url, "http://"))
	}
	defer taken.Close()
	other := c.ensure(t, "one")
	if other == url {
		t.Error("the port belongs to another sandbox")
	}
	again(t, other)
}

// The server is killed under a hundred connections, and comes again.
func TestForwarderOutlivesTheConnection(t *testing.T) {
	t.Parallel()
	c := newCarried(t)
	url := c.ensure(t, "one")
	conns := make([]net.Conn, 100)
	for i := range conns {
		conns[i] = dial(t, url)
		defer conns[i].Close()
		if _, err := conns[i].Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(conns[i], make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
	}
	c.box.Kill()
	for _, conn := range conns {
		_ = conn.SetDeadline(time.Now().Add(time.Minute))
		if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Fatalf("a connection that was cut ends with %v", err)
		}
	}
	if err := echoes(url, "hello"); err == nil {
		t.Error("echo without a server")
	}
	c.box.Run()
	again(t, url)
}

// The network is silent, as while a laptop sleeps: nothing is closed, and nothing comes.
func TestForwarderOutlivesASilentNetwork(t *testing.T) {
	t.Parallel()
	c := newCarried(t)
	url := c.ensure(t, "one")
	again(t, url)
	c.box.Freeze()
	if err := echoes(url, "hello"); err == nil {
		t.Error("echo of a server that stands still")
	}
	c.box.Kill()
	c.box.Run()
	again(t, url)
}

// artifacts has the runtime's program, built once for all tests.
var artifacts string

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "pipe" {
		dial := func(ctx context.Context, target string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", strings.TrimPrefix(target, "unix:"))
		}
		if pipe.Serve(context.Background(), pipe.Stdio(os.Stdin, os.Stdout), dial) != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	testkit.Main(m, func(dir string) (err error) {
		artifacts, err = testbuild.Kube(dir)
		return err
	})
}
