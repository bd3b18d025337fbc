package forward

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/ssh"
	"github.com/seer-engine/seer/internal/testkit"
)

// A process that cannot write down what it carries goes on carrying it, and writes it down later.
func TestProcessOutlivesAFullDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	want := func(version int, sandboxes ...string) {
		t.Helper()
		r := routes{Version: version, Wanted: map[string][]Wanted{}}
		for _, sandbox := range sandboxes {
			r.Wanted[sandbox] = []Wanted{{Port: 1}}
		}
		if err := writeJSON(filepath.Join(dir, routesFile), r); err != nil {
			t.Fatal(err)
		}
	}
	want(1, "long", "short")
	var log testkit.Buffer
	p := &process{dir: dir, log: &log, retry: 10 * time.Millisecond, open: map[string]*port{}}
	ready, in := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- p.run(in) }()
	if _, err := ready.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	have, err := readPorts(dir)
	if err != nil || have.Version != 1 {
		t.Fatal(have, err)
	}
	carried := func(sandbox string) bool {
		conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", have.Ports[portKey(sandbox, 1)]))
		if err == nil {
			_ = conn.Close()
		}
		return !errors.Is(err, syscall.ECONNREFUSED) // it may be reset, as it leads nowhere
	}
	file := filepath.Join(dir, portsFile)
	if err := os.Rename(file, file+".before"); err != nil {
		t.Fatal(err)
	}
	testkit.WriteFile(t, filepath.Join(file, "in the way"), "") // a folder cannot be replaced by a file
	want(2, "long")
	testkit.Eventually(t, "the end of a port", func() bool { return !carried("short") })
	testkit.Eventually(t, "the failure", func() bool { return log.String() != "" || len(ended) > 0 })
	if !carried("long") {
		t.Fatal("a full disk ends a port that is wanted")
	}
	if err := os.RemoveAll(file); err != nil {
		t.Fatal(err)
	}
	testkit.EventuallyNil(t, "the file with the ports", func() error {
		now, err := readPorts(dir)
		if err == nil && (now.Version != 2 || now.Ports[portKey("long", 1)] != have.Ports[portKey("long", 1)]) {
			err = fmt.Errorf("%+v", now)
		}
		return err
	})
	want(3)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// The agent of another command cuts no connection, and replaces only one that is gone.
func TestAgentOfAnotherCommand(t *testing.T) {
	l := testkit.UnixSocket(t)
	first := l.Addr().String()
	t.Setenv(agentVariable, first)
	p := &process{open: map[string]*port{}}
	p.configure(routes{Agent: first})
	ways := p.ways
	for _, step := range []struct{ agent, want string }{{"/tmp/other", first}, {"", first}, {"/tmp/other", "/tmp/other"}} {
		if step.agent == step.want {
			_ = l.Close()
		}
		p.configure(routes{Agent: step.agent})
		if got := os.Getenv(agentVariable); got != step.want {
			t.Errorf("with %q of a command, the agent is %q; want %q", step.agent, got, step.want)
		}
		if p.ways != ways {
			t.Errorf("the agent %q of a command cuts all connections", step.agent)
		}
		ways = p.ways
	}
	p.configure(routes{SSH: ssh.Options{Dir: "/tmp/s"}})
	if p.ways == ways {
		t.Error("other options change nothing")
	}
}

// A command without an agent leaves that of the others.
func TestCommandWithoutAnAgent(t *testing.T) {
	f := &Forwarder{Dir: filepath.Join(t.TempDir(), "forward")}
	for _, agent := range []string{"/tmp/agent", ""} {
		t.Setenv(agentVariable, agent)
		if _, err := f.edit(t.Context(), func(*routes) {}); err != nil {
			t.Fatal(err)
		}
		if r, err := readRoutes(f.Dir); err != nil || r.Agent != "/tmp/agent" {
			t.Errorf("%q, %v", r.Agent, err)
		}
	}
}
