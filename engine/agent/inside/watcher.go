package inside

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"time"
)

// closing limits the wait of [Watcher.Close] for reports in transit.
const closing = time.Second

// maxReport limits the bytes of a line, because the confinement may send anything.
const maxReport = 64 << 10

// Watcher receives reports on the start of MCP servers. It is the engine's side of [ServerArgs]. The
// reports come from inside the confinement, where the agent can forge them.
type Watcher struct {
	listener net.Listener
	report   func(server, problem string)
	work     sync.WaitGroup

	mu      sync.Mutex
	waiting []string        // servers that have not started yet
	failed  map[string]bool // by server: its failure has been reported
	conns   map[net.Conn]bool
	closed  bool
}

// Watch receives reports on servers at a Unix socket until [Watcher.Close], which closes the
// listener. It calls report once for each server that fails: the server does not start, answers
// initialize with an error, or ends before it answers. It may call report in several goroutines at
// once.
func Watch(l net.Listener, servers []string, report func(server, problem string)) *Watcher {
	w := &Watcher{listener: l, report: report, waiting: slices.Clone(servers), failed: map[string]bool{}, conns: map[net.Conn]bool{}}
	for _, name := range servers {
		w.failed[name] = false
	}
	w.work.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			if w.take(conn) {
				w.work.Go(func() { w.listen(conn) })
			}
		}
	})
	return w
}

// NotStarted returns the servers that the agent has not started so far, in the order of [Watch].
func (w *Watcher) NotStarted() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.waiting)
}

// Close stops the Watcher. It waits at most a second for reports in transit.
func (w *Watcher) Close() {
	_ = w.listener.Close()
	w.mu.Lock()
	w.closed = true
	for conn := range w.conns {
		_ = conn.SetReadDeadline(time.Now().Add(closing))
	}
	w.mu.Unlock()
	w.work.Wait()
}

func (w *Watcher) take(conn net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		conn.Close()
		return false
	}
	w.conns[conn] = true
	return true
}

func (w *Watcher) listen(conn net.Conn) {
	defer func() {
		conn.Close()
		w.mu.Lock()
		delete(w.conns, conn)
		w.mu.Unlock()
	}()
	lines := bufio.NewReader(io.LimitReader(conn, maxReport))
	hello, _ := read(lines)
	if !w.started(hello.Server) {
		return
	}
	if _, err := io.WriteString(conn, "{}\n"); err != nil {
		return
	}
	switch m, err := read(lines); {
	case m.Problem != "":
		w.fail(hello.Server, m.Problem)
	case errors.Is(err, io.EOF):
		w.fail(hello.Server, "it was ended before it answered initialize")
	}
}

// read reads the next message.
func read(lines *bufio.Reader) (m message, err error) {
	line, err := lines.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &m)
	}
	return m, err
}

// started records the start of a server, and reports whether the Watcher knows that server.
func (w *Watcher) started(name string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting = slices.DeleteFunc(w.waiting, func(s string) bool { return s == name })
	_, known := w.failed[name]
	return known
}

// fail reports only the first failure of a server, because agents start servers repeatedly.
func (w *Watcher) fail(name, problem string) {
	w.mu.Lock()
	before := w.failed[name]
	w.failed[name] = true
	w.mu.Unlock()
	if !before {
		w.report(name, problem)
	}
}
