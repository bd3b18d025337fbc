package ssh

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/seer-engine/seer/engine/state"
)

// MaxOutput is the largest standard output, and standard error, of a command.
const MaxOutput = 16 << 20

// Command is what [Client.Run] runs.
type Command struct {
	Argv  []string  // [ProgramArg] stands for Seer's program
	Stdin io.Reader // nil = empty

	// Stdout gets the standard output as it comes, without a limit; nil = it is kept in the
	// result.
	Stdout io.Writer
}

// Result is how a command has ended.
type Result struct {
	Stdout []byte
	Stderr []byte
	Code   int // exit code; 128 + the signal's number where a signal ended it
}

// Run runs a command on a host until it ends. An error is an *[Error] where the host could
// not be used or the connection was cut: the command may then have run, or still run. When
// ctx ends, the connection to the command does; a command that neither reads nor writes
// goes on.
func (c *Client) Run(ctx context.Context, host string, command Command) (Result, error) {
	if err := checkHost(host); err != nil {
		return Result{}, err
	}
	argv, err := c.resolve(ctx, host, command.Argv)
	if err != nil {
		return Result{}, err
	}
	result, err := c.run(ctx, host, quote(argv), command)
	if err != nil || !missing(result, argv, command.Argv) {
		return result, err
	}
	c.forgetProgram(host)
	if command.Stdin != nil {
		return Result{}, errorf(host, Lost, "Seer's program, which was there, has been removed; try again")
	}
	if argv, err = c.resolve(ctx, host, command.Argv); err != nil {
		return Result{}, err
	}
	return c.run(ctx, host, quote(argv), command)
}

// resolve puts the path of Seer's program in its place.
func (c *Client) resolve(ctx context.Context, host string, argv []string) ([]string, error) {
	if len(argv) == 0 {
		return nil, errorf(host, BadHost, "there is no command to run")
	}
	out := slices.Clone(argv)
	for i, word := range out {
		if word != ProgramArg {
			continue
		}
		path, err := c.Program(ctx, host)
		if err != nil {
			return nil, err
		}
		out[i] = path
	}
	return out, nil
}

// missing reports whether a shell has not found Seer's program.
func missing(r Result, argv, asked []string) bool {
	return (r.Code == 126 || r.Code == 127) && asked[0] == ProgramArg && bytes.Contains(r.Stderr, []byte(argv[0]))
}

// run runs a line of shell when its turn has come.
func (c *Client) run(ctx context.Context, host, line string, command Command) (Result, error) {
	running := c.host(host).running
	select {
	case running <- struct{}{}:
		defer func() { <-running }()
	case <-ctx.Done():
		return Result{}, ctx.Err()
	}
	for wait := firstDrop; ; wait *= 2 {
		result, err := c.runNow(ctx, host, line, command)
		var failed *Error
		if !errors.As(err, &failed) || !failed.dropped || command.Stdin != nil || wait > lastDrop {
			return result, err
		}
		select {
		case <-ctx.Done():
			return Result{}, ctx.Err()
		case <-time.After(wait + mathrand.N(wait)):
		}
	}
}

// A command whose connection sshd drops before the login is begun again, later than others.
const (
	firstDrop = 100 * time.Millisecond
	lastDrop  = 2 * time.Second
)

func (c *Client) runNow(ctx context.Context, host, line string, command Command) (Result, error) {
	if err := c.connect(ctx, host); err != nil {
		return Result{}, err
	}
	end, err := c.turn(ctx, host)
	if err != nil {
		return Result{}, err
	}
	defer end()
	mark := rand.Text()
	script := "echo " + mark + "; echo " + mark + " >&2; " + line + "; c=$?; echo " + mark + " $c >&2; exit $c"
	out := &marked{mark: mark, to: command.Stdout, limit: MaxOutput}
	said := &marked{mark: mark, limit: MaxOutput}
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	out.full, said.full = cancel, cancel
	cmd := c.command(inner, append(c.args(host, "BatchMode=yes", "ControlMaster=no"), "--", host, remote(script)))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = command.Stdin, out, said
	err = cmd.Run()
	code, ended := said.end()
	switch {
	case ctx.Err() != nil:
		return Result{}, ctx.Err()
	case out.over() || said.over():
		return Result{}, errorf(host, Unusable, "the command has said more than %d MiB", MaxOutput>>20)
	case ended:
		return Result{Stdout: out.bytes(), Stderr: said.bytes(), Code: code}, nil
	case errors.Is(err, exec.ErrNotFound):
		return Result{}, errorf(host, NoSSH, "%v; install OpenSSH's client", err)
	case !said.begun() && !out.begun(): // a cut may have lost either mark
		return Result{}, c.classify(host, said.before())
	}
	return Result{}, errorf(host, Lost, "the connection was cut while the command ran%s; it may have run to its end", because(string(said.bytes())))
}

const (
	turnLimit = 5 * time.Second
	turnPoll  = 20 * time.Millisecond
)

// turn waits until fewer than maxRunning commands of all programs of this user run on a host. Where
// sshd refuses a session, OpenSSH makes a connection of its own, and sshd drops some of many. Others
// may take hours, so that each goes on after turnLimit, or up to twice as long: not all together.
func (c *Client) turn(ctx context.Context, host string) (end func(), err error) {
	late := time.After(turnLimit + mathrand.N(turnLimit))
	for {
		for i := range maxRunning {
			lock, held, err := state.TryAcquire(fmt.Sprintf("%s.%d.lock", c.socket(host), i))
			if err != nil {
				return nil, errorf(host, Unusable, "%v", err)
			}
			if !held {
				return lock.Release, nil
			}
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-late:
			return func() {}, nil
		case <-time.After(turnPoll):
		}
	}
}

// marked takes what comes behind a line that is a mark: start-up files of a shell may say
// something before.
type marked struct {
	mark  string
	to    io.Writer // nil = kept
	limit int
	full  func()

	mu    sync.Mutex
	buf   bytes.Buffer // before the mark: the unfinished line and those before it
	first bytes.Buffer // what came before the mark
	seen  bool
	past  bool
}

func (m *marked) Write(p []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := len(p)
	if !m.seen {
		m.buf.Write(p)
		at := bytes.Index(m.buf.Bytes(), []byte(m.mark+"\n"))
		if at < 0 {
			return n, m.check()
		}
		m.seen = true
		m.first.Write(m.buf.Bytes()[:at])
		p = bytes.Clone(m.buf.Bytes()[at+len(m.mark)+1:])
		m.buf.Reset()
	}
	if m.to != nil {
		if _, err := m.to.Write(p); err != nil {
			m.full()
			return 0, err
		}
		return n, nil
	}
	m.buf.Write(p)
	return n, m.check()
}

func (m *marked) check() error {
	if m.buf.Len() <= m.limit {
		return nil
	}
	m.past = true
	m.full()
	return errors.New("too much output")
}

func (m *marked) over() bool    { m.mu.Lock(); defer m.mu.Unlock(); return m.past }
func (m *marked) begun() bool   { m.mu.Lock(); defer m.mu.Unlock(); return m.seen }
func (m *marked) bytes() []byte { m.mu.Lock(); defer m.mu.Unlock(); return bytes.Clone(m.buf.Bytes()) }

// before is what came before the mark.
func (m *marked) before() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.seen {
		return m.first.String()
	}
	return m.buf.String()
}

// end finds the line with the exit code, and takes it away. Behind it there is only what
// programs in the background still say.
func (m *marked) end() (code int, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := bytes.LastIndex(m.buf.Bytes(), []byte(m.mark+" "))
	if !m.seen || at < 0 {
		return 0, false
	}
	line, rest, ok := bytes.Cut(m.buf.Bytes()[at:], []byte("\n"))
	code, err := strconv.Atoi(strings.TrimPrefix(string(line), m.mark+" "))
	if !ok || err != nil {
		return 0, false
	}
	kept := append(bytes.Clone(m.buf.Bytes()[:at]), rest...)
	m.buf.Reset()
	m.buf.Write(kept)
	return code, true
}
