package inside

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"
)

const (
	// maxAnswer bounds what is kept of a server's output before its first answer is known.
	maxAnswer = 4 << 20
	// maxSaid is how much of a server's standard error is reported, in bytes.
	maxSaid = 1 << 10
	// welcome is how long the engine may take to note a server before it starts all the same.
	welcome = 10 * time.Second
)

// ServerArgs are the arguments of the seer program by which it runs an MCP server and tells the
// [Watcher] behind the socket whether it comes up. The server has the standard streams and the
// environment as if the client had started it.
func ServerArgs(name, socket, command string, args []string) []string {
	return append([]string{Command, "--server", name, "--report", socket, "--", command}, args...)
}

// message is what the two sides of a report say, a line of JSON each: first the server's name,
// which the engine answers with an empty message, then what has come of it.
type message struct {
	Server   string `json:"server,omitempty"`
	Answered bool   `json:"answered,omitempty"` // initialize
	Problem  string `json:"problem,omitempty"`  // why it will not answer
}

// reporter is the connection to the engine; nil = there is none, and the server runs all the same.
type reporter struct{ conn net.Conn }

func dial(socket, server string) *reporter {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return nil
	}
	r := &reporter{conn}
	r.send(message{Server: server})
	_ = conn.SetReadDeadline(time.Now().Add(welcome))
	_, _ = conn.Read(make([]byte, 64)) // an engine that has ended needs no report
	return r
}

func (r *reporter) send(m message) {
	if r == nil {
		return
	}
	text, _ := json.Marshal(m)              // texts are always JSON
	_, _ = r.conn.Write(append(text, '\n')) // as above
}

// runServer runs an MCP server to its end.
func runServer(name, socket string, command []string) (int, error) {
	to := dial(socket, name)
	first := &firstAnswer{to: os.Stdout, found: to.send}
	said := &tail{to: os.Stderr}
	code, err := start(command, first, said)
	switch {
	case first.over:
	case err != nil:
		to.send(message{Problem: err.Error()})
	default:
		to.send(message{Problem: fmt.Sprintf("it ended with exit code %d before it answered initialize%s", code, said)})
	}
	return code, err
}

// firstAnswer passes a server's output on, and finds its first answer in it, which is that to
// initialize.
type firstAnswer struct {
	to    io.Writer
	found func(message)
	line  []byte
	over  bool // it has been found
}

func (f *firstAnswer) Write(p []byte) (int, error) {
	if !f.over {
		f.read(p)
	}
	return f.to.Write(p)
}

func (f *firstAnswer) read(p []byte) {
	f.line = append(f.line, p...)
	for !f.over {
		line, rest, whole := bytes.Cut(f.line, []byte("\n"))
		if !whole {
			if len(f.line) > maxAnswer { // no log is that long
				f.end(message{Answered: true})
			}
			return
		}
		f.line = rest
		f.judge(line)
	}
}

// judge takes a line, which may also be a notification, a question or no JSON at all.
func (f *firstAnswer) judge(line []byte) {
	var answer struct {
		Result json.RawMessage
		Error  *struct{ Message string }
	}
	switch err := json.Unmarshal(line, &answer); {
	case err != nil:
	case answer.Error != nil:
		f.end(message{Problem: "it answered initialize with an error: " + answer.Error.Message})
	case answer.Result != nil:
		f.end(message{Answered: true})
	}
}

func (f *firstAnswer) end(m message) {
	f.over, f.line = true, nil
	f.found(m)
}

// tail passes a text on and keeps its end.
type tail struct {
	to   io.Writer
	last []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.last = append(t.last, p...)
	t.last = t.last[max(0, len(t.last)-maxSaid):]
	return t.to.Write(p)
}

// String is the end of what was printed, behind what led there.
func (t *tail) String() string {
	text := strings.TrimSpace(strings.ToValidUTF8(string(t.last), "\uFFFD"))
	if text == "" {
		return ""
	}
	return "; it printed: " + text
}
