package ssh_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/ssh"
	"github.com/seer-engine/seer/internal/sshtest"
	"github.com/seer-engine/seer/internal/testkit"
)

// straight is a host with a socket that sends back what it gets, and a client for it. What serves
// the pipe is this test's own program.
type straight struct {
	c      *ssh.Client
	dir    string
	box    *sshtest.Server
	socket string
	there  net.Listener
}

func newStraight(t *testing.T, options string) *straight {
	t.Helper()
	l := sshtest.New(t)
	s := &straight{box: l.Start("box", options, "  LocalForward "+filepath.Join(l.Dir, "own")+" /nowhere"), socket: filepath.Join(l.Dir, "echo")}
	s.c = client(t, l, func(o *ssh.Options) { s.dir = o.Dir })
	s.listen(t)
	return s
}

func (s *straight) listen(t *testing.T) {
	t.Helper()
	var err error
	if s.there, err = net.Listen("unix", s.socket); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.there.Close() })
	testkit.Serve(s.there, testkit.Echo)
}

func (s *straight) dial(t *testing.T) (net.Conn, error) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := s.c.Dial(t.Context(), ssh.Route{Host: "box", Command: []string{self, "pipe", "unix:" + s.socket}}, "unix:"+s.socket)
	if err == nil {
		_ = conn.SetDeadline(time.Now().Add(time.Minute))
	}
	return conn, err
}

// echoes reports whether what is sent comes back, and then its end.
func (s *straight) echoes(t *testing.T) error {
	conn, err := s.dial(t)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "hello"); err != nil {
		return err
	}
	if err := conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		return err
	}
	got, err := io.ReadAll(conn)
	if err == nil && string(got) != "hello" {
		err = fmt.Errorf("%q came back", got)
	}
	return err
}

// lanes are the sockets behind which OpenSSH itself connects to the host.
func (s *straight) lanes() (found []string) {
	all, _ := filepath.Glob(filepath.Join(s.dir, "*.*"))
	for _, path := range all {
		if !strings.HasSuffix(path, ".lock") {
			found = append(found, path)
		}
	}
	return found
}

// open waits for a lane, and connects by it: the socket is asked for no more than the pipe needs.
func (s *straight) open(t *testing.T) net.Conn {
	t.Helper()
	var conn net.Conn
	testkit.EventuallyNil(t, "a connection by OpenSSH itself", func() error {
		var err error
		if conn, err = s.dial(t); err != nil {
			return err
		}
		if !strings.HasPrefix(fmt.Sprint(conn.RemoteAddr()), s.dir) {
			_ = conn.Close()
			return fmt.Errorf("it leads to %v", conn.RemoteAddr())
		}
		return nil
	})
	return conn
}

func say(t *testing.T, conn net.Conn) {
	t.Helper()
	got := make([]byte, 5)
	if _, err := io.WriteString(conn, "hello"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(conn, got); err != nil || string(got) != "hello" {
		t.Fatalf("%q, %v", got, err)
	}
}

// OpenSSH carries connections itself, tells a cut from an end, and leaves nothing.
func TestDirect(t *testing.T) {
	t.Parallel()
	s := newStraight(t, "")
	conn := s.open(t)
	say(t, conn)
	if err := s.echoes(t); err != nil {
		t.Error(err)
	}
	if n := s.box.Connections(); n != 1 {
		t.Errorf("%d logins", n)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(s.socket), "own")); err == nil {
		t.Error("what ssh_config forwards is forwarded")
	}
	s.box.Kill()
	if _, err := conn.Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("a connection that was cut ends with %v", err)
	}
	if err := s.echoes(t); err == nil {
		t.Error("echo without a server")
	}
	s.box.Run()
	testkit.EventuallyNil(t, "echo", func() error { return s.echoes(t) })
	say(t, s.open(t))
	_ = s.c.Close()
	if found := s.lanes(); len(found) > 0 {
		t.Errorf("%q are left", found)
	}
}

// What listens there ends, and another one takes its place.
func TestDirectToWhatHasEnded(t *testing.T) {
	t.Parallel()
	s := newStraight(t, "")
	say(t, s.open(t))
	_ = s.there.Close()
	if err := s.echoes(t); err == nil {
		t.Error("echo of what has ended")
	}
	s.listen(t)
	testkit.EventuallyNil(t, "echo", func() error { return s.echoes(t) })
}

// A host that forbids it is reached by the pipe.
func TestDirectIsForbidden(t *testing.T) {
	t.Parallel()
	for _, option := range []string{"AllowStreamLocalForwarding no", "DisableForwarding yes"} {
		s := newStraight(t, option)
		for range 20 {
			if err := s.echoes(t); err != nil {
				t.Errorf("%s: %v", option, err)
			}
		}
		_ = s.c.Close()
		if found := s.lanes(); len(found) > 0 {
			t.Errorf("%s: %q are left", option, found)
		}
	}
}

// A lane that a killed process has left is used again.
func TestDirectAfterAKill(t *testing.T) {
	t.Parallel()
	s := newStraight(t, "")
	say(t, s.open(t))
	first := s.lanes()
	other := ssh.New(ssh.Options{Dir: s.dir, ConfigFile: filepath.Join(filepath.Dir(s.socket), "config"), Artifacts: artifacts})
	again := *s
	again.c = other
	say(t, again.open(t))
	if found := s.lanes(); len(found) != 1 || found[0] != first[0] {
		t.Errorf("%q, before %q", found, first)
	}
	_ = other.Close()
}
