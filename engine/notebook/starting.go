package notebook

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/internal/lazyregexp"
)

// starting is a Jupyter that does not answer yet.
type starting struct {
	runtime *client.Client
	process string
	server  Server
	log     func(string)
	offset  int64
	last    tailWriter
	listens bool // it has said that it has the port
}

// listensAt is how the service says so.
const listensAt = "seer-notebook: listening at "

var errNotYet = errors.New("it does not listen yet")

func (w *starting) wait(ctx context.Context) error {
	client := NewClient(w.server.Address)
	client.Patience = 0
	defer client.Close()
	deadline := time.Now().Add(startPatience)
	for {
		w.read(ctx)
		// Before, another may be at the port, where sandboxes share it: that one is not shown the token.
		err := errNotYet
		if w.listens {
			try, stop := context.WithTimeout(ctx, 3*time.Second)
			_, err = client.Info(try)
			stop()
		}
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := w.died(ctx); err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return protocol.Errorf(protocol.Unavailable, "Jupyter does not answer after %s: %v; it has printed:\n%s", startPatience, err, w.last.text())
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// candidate is the port of a try.
func candidate(try int) int {
	if try == 0 {
		return DefaultPort
	}
	return DefaultPort + 1 + rand.IntN(1000)
}

// taken reports whether somebody listens at a port already: that is known in a moment, while
// Jupyter has to be started to find it out.
func taken(ctx context.Context, rt *client.Client, port int) bool {
	ctx, stop := context.WithTimeout(ctx, time.Second)
	defer stop()
	conn, err := rt.DialPort(ctx, port)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

// startedAgain is what the runtime says of a process that has ended.
var startedAgain = lazyregexp.New(`(?m)^seer: the process has ended with exit code (\d{1,3})`)

// The service's exit codes.
const (
	exitConfig = 2
	exitTaken  = 98
)

// died reports the end of the process.
func (w *starting) died(ctx context.Context) error {
	p, err := w.runtime.Processes().Get(ctx, w.process)
	if err != nil {
		return err
	}
	w.read(ctx)
	said := w.last.text()
	code := p.ExitCode
	if again := startedAgain().FindStringSubmatch(said); again != nil { // the runtime tries again, in vain
		code, _ = strconv.Atoi(again[1]) // digits
	} else if p.State != protocol.ProcessExited {
		return nil
	}
	switch {
	case code == exitTaken:
		return protocol.Errorf(protocol.Conflict, "port %d of the sandbox is taken by something else; give another jupyter_port, or none", w.server.Port)
	case strings.Contains(said, "No module named"):
		return protocol.Errorf(protocol.Unsupported, "the sandbox's Python has not what Jupyter needs (%s):\n%s", strings.Join(Requirements(false), ", "), said)
	case code == exitConfig:
		return protocol.Errorf(protocol.Internal, "Jupyter does not take its configuration:\n%s", said)
	}
	return protocol.Errorf(protocol.Failed, "Jupyter ended at its start with exit code %d; it has printed:\n%s", code, said)
}

// read passes on what was printed since.
func (w *starting) read(ctx context.Context) {
	// What cannot be read now is read later, or told by the process's end.
	w.offset, _, _ = w.runtime.Processes().Output(ctx, w.process, w.offset, false, &w.last, &w.last)
	for _, line := range w.last.news() {
		w.listens = w.listens || strings.HasPrefix(line, listensAt)
		if w.log != nil {
			w.log(line)
		}
	}
}

const (
	maxSaid = 4 << 10  // of what Jupyter has printed last that is told
	maxLine = 16 << 10 // of a line
)

// tailWriter cuts what is printed into lines and keeps the last of them.
type tailWriter struct {
	partial []byte
	fresh   []string // lines that nobody has been told yet
	said    string   // the end of everything
}

func (w *tailWriter) Write(p []byte) (int, error) {
	w.said += strings.ToValidUTF8(string(p), "\uFFFD")
	if over := len(w.said) - maxSaid; over > 0 {
		w.said = strings.ToValidUTF8(w.said[over:], "")
	}
	w.partial = append(w.partial, p...)
	for {
		n := bytes.IndexByte(w.partial, '\n')
		if n < 0 && len(w.partial) < maxLine {
			return len(p), nil
		}
		if n < 0 {
			n = len(w.partial) - 1
		}
		w.fresh = append(w.fresh, strings.TrimRight(string(w.partial[:n]), "\r"))
		w.partial = append(w.partial[:0], w.partial[n+1:]...)
	}
}

// news gives the new lines away.
func (w *tailWriter) news() []string {
	lines := w.fresh
	w.fresh = nil
	return lines
}

func (w *tailWriter) text() string { return strings.TrimSpace(w.said) }
