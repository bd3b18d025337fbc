// Package inside is Seer's program inside an agent's confinement. The agent has no network, so the
// program forwards a port of the confinement's loopback to a Unix socket of the engine. The agent's
// MCP servers run below this program, too, so that the engine learns of a server that fails to
// start, even if the agent's program does not report it.
package inside

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/seer-engine/seer/engine/netproxy"
)

// Command is the first argument with which an engine starts the seer program in an agent's
// confinement. The program then calls [Main] with the arguments after it. Users do not call it.
const Command = "agent-inside"

// Exit codes of [Main], besides those of the command. The last two are the same as those of shells.
const (
	ExitFailed      = 70
	ExitNotRunnable = 126
	ExitNotFound    = 127
	exitSignal      = 128 // plus the number of the signal that has ended the command
)

// retryAccept is a listener's pause before it accepts again, if the process has too many
// connections.
const retryAccept = 10 * time.Millisecond

// lingering limits the time for which a child of an ended server may keep the outputs open.
const lingering = 2 * time.Second

// forward is a port of loopback and the Unix socket that it leads to.
type forward struct{ address, socket string }

// Main runs a command until it ends. It either forwards the command's connections meanwhile:
//
//	--forward 127.0.0.1:PORT=/path/to.sock … [--] COMMAND ARGUMENT…
//
// or reports to a [Watcher] on the command, which is an MCP server; see [ServerArgs]:
//
//	--server NAME --report /path/to.sock [--] COMMAND ARGUMENT…
//
// or, without a command, joins the standard streams to a socket until either ends; see [JoinArgs]:
//
//	--join /path/to.sock
//
// The command has the standard streams and the environment of this program, which reads none of
// them. It gets this program's SIGINT, SIGTERM and SIGHUP. Main returns the exit code of the
// command, or 128 plus the number of the signal that has ended it. If Main itself fails, it prints
// a line to the standard error and returns 70.
func Main(args []string) int {
	j, err := parse(args)
	if err == nil {
		var code int
		if code, err = j.run(); err == nil {
			return code
		}
	}
	fmt.Fprintln(os.Stderr, "seer: "+err.Error())
	switch {
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist) && errors.As(err, new(*startError)):
		return ExitNotFound
	case errors.As(err, new(*startError)):
		return ExitNotRunnable
	}
	return ExitFailed
}

// job is the content of the arguments.
type job struct {
	forwards       []forward
	server, report string // name of the MCP server and socket of the reports; empty = no MCP server
	join           string // socket; empty = there is a command
	command        []string
}

// JoinArgs are the arguments of the seer program by which it joins its standard input and output to
// a Unix socket.
func JoinArgs(socket string) []string { return []string{Command, "--join", socket} }

func parse(args []string) (j job, err error) {
	flags := flag.NewFlagSet("inside", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&j.server, "server", "", "")
	flags.StringVar(&j.report, "report", "", "")
	flags.StringVar(&j.join, "join", "", "")
	flags.Func("forward", "", func(text string) error {
		address, socket, _ := strings.Cut(text, "=")
		at, err := netip.ParseAddrPort(address)
		if err != nil || !at.Addr().IsLoopback() || at.Port() == 0 || !filepath.IsAbs(socket) {
			return errors.New("write 127.0.0.1:PORT=/path/to.sock")
		}
		j.forwards = append(j.forwards, forward{address, socket})
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return j, fmt.Errorf("the arguments are wrong: %w", err)
	}
	if flags.NArg() == 0 && j.join == "" {
		return j, errors.New("the arguments are wrong: there is no command behind them")
	}
	j.command = flags.Args()
	return j, nil
}

// startError is the error of a command that does not start.
type startError struct{ err error }

func (e *startError) Error() string { return "the command cannot be started: " + e.err.Error() }
func (e *startError) Unwrap() error { return e.err }

// join carries the standard streams to and from a socket.
func join(socket string) (int, error) {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return 0, fmt.Errorf("reach the server: %w", err)
	}
	defer conn.Close()
	go func() {
		_, _ = io.Copy(conn, os.Stdin)
		_ = conn.(*net.UnixConn).CloseWrite() // answers may still come
	}()
	_, err = io.Copy(os.Stdout, conn)
	return 0, err
}

func (j job) run() (int, error) {
	if j.join != "" {
		return join(j.join)
	}
	if j.server != "" {
		return runServer(j.server, j.report, j.command)
	}
	var work sync.WaitGroup
	defer work.Wait()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for _, f := range j.forwards {
		l, err := net.Listen("tcp", f.address)
		if err != nil {
			return 0, fmt.Errorf("the port %s in the confinement of the agent cannot be opened: %w; another program there uses it, or loopback is not up", f.address, err)
		}
		defer l.Close()
		work.Go(func() { serve(ctx, l, f.socket, &work) })
	}
	return start(j.command, os.Stdout, os.Stderr)
}

// start runs the command to its end.
func start(command []string, stdout, stderr io.Writer) (int, error) {
	// The command ends with the thread that has started it, so this thread must not end.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = os.Stdin, stdout, stderr, attributes()
	cmd.WaitDelay = lingering // has no effect if the outputs are this program's own
	if err := cmd.Start(); err != nil {
		return 0, &startError{err}
	}
	ended := make(chan struct{})
	var passing sync.WaitGroup
	passing.Go(func() {
		for {
			select {
			case s := <-signals:
				_ = cmd.Process.Signal(s) // fails only if the command has ended
			case <-ended:
				return
			}
		}
	})
	err := cmd.Wait()
	close(ended)
	passing.Wait()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		return 0, fmt.Errorf("the command cannot be waited for: %w", err)
	}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return exitSignal + int(status.Signal()), nil
	}
	return cmd.ProcessState.ExitCode(), nil
}

// serve forwards connections until ctx ends.
func serve(ctx context.Context, l net.Listener, socket string, work *sync.WaitGroup) {
	for {
		conn, err := l.Accept()
		switch {
		case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE), errors.Is(err, syscall.ECONNABORTED):
			time.Sleep(retryAccept)
			continue
		case err != nil: // the listener is closed
			return
		}
		work.Go(func() { connect(ctx, conn, socket) })
	}
}

func connect(ctx context.Context, conn net.Conn, socket string) {
	defer conn.Close()
	var d net.Dialer
	to, err := d.DialContext(ctx, "unix", socket)
	if err != nil {
		return // the client sees the end of its connection
	}
	stop := context.AfterFunc(ctx, func() { _, _ = conn.Close(), to.Close() })
	defer stop()
	netproxy.Join(conn, to)
}
