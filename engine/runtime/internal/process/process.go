// Package process runs the commands that clients start: their output, input, terminals, and
// their end.
package process

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	goruntime "runtime"
	"sync"
	"syscall"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/runtime/internal/environment"
	"github.com/seer-engine/seer/engine/runtime/internal/proc"
	"github.com/seer-engine/seer/engine/runtime/internal/redact"
	"github.com/seer-engine/seer/engine/runtime/internal/spawn"
	"github.com/seer-engine/seer/engine/runtime/internal/spool"
)

const (
	keepOutput = 1 << 30   // of a background process
	maxAhead   = 256 << 20 // of a foreground process before its reader

	// Who has interrupted a command does not want to read for long what it had said.
	maxAheadTerminal = 1 << 20

	// A process that has ended may leave a grandchild that holds its output open.
	// What is in the pipe is still read, but nobody waits for the grandchild.
	pipeQuiet = 50 * time.Millisecond
	pipeGrace = time.Second
)

// Process is a command that a client has started.
type Process struct {
	cookie   string
	spec     protocol.ProcessSpec
	command  exec.Cmd // how it is started
	activity string   // file that says whether it is use of the machine; empty = it is
	spool    *spool.Spool
	stdin    *stdin
	terminal *os.File      // the near end
	done     chan struct{} // it has ended, and so has its output
	enough   chan struct{} // closed when it is not to be started again

	mu        sync.Mutex
	cmd       *exec.Cmd // the one that runs
	stopped   bool      // enough is closed
	info      protocol.Process
	reaped    bool
	followers int
	followed  time.Time // when the last follower left
	delivered time.Time // when the end record was first read
}

// launch starts a command under a new id.
func (t *Table) launch(spec protocol.ProcessSpec, id string) (*Process, error) {
	cfg := t.env.Config()
	if err := normalize(&spec); err != nil {
		return nil, err
	}
	argv, err := argvOf(spec)
	if err != nil {
		return nil, err
	}
	if err := environment.CheckVariables(spec.Env); err != nil {
		return nil, err
	}
	dir := t.env.Workdir(cfg)
	if spec.Cwd != "" {
		dir = t.env.Path(spec.Cwd)
	}
	if err := checkFolder(dir); err != nil {
		return nil, err
	}
	p := &Process{cookie: t.env.CookieOf(id), spec: spec, done: make(chan struct{}), enough: make(chan struct{}), followed: time.Now()}
	more := []map[string]string{spec.Env}
	if spec.Activity != "" {
		p.activity = t.env.Path(spec.Activity)
		more = append(more, map[string]string{activityVariable: p.activity})
	}
	if spec.PTY != nil {
		more = append(more, map[string]string{"TERM": spec.PTY.Term})
	}
	env := t.env.Variables(cfg, id, more...)
	program, err := environment.LookPath(argv[0], dir, env)
	if argv[0] == protocol.RuntimeProgram {
		program, err = ownProgram()
	}
	if err != nil {
		return nil, err
	}
	p.command = exec.Cmd{Path: program, Args: argv, Env: env, Dir: dir, SysProcAttr: spawn.ChildAttr()}
	p.info = protocol.Process{ID: id, Name: spec.Name, Argv: argv, State: protocol.ProcessRunning,
		StartedUnix: time.Now().Unix(), Background: spec.Background}
	if p.spool, err = p.newSpool(t.dir, spec.Background); err != nil {
		return nil, err
	}
	outputs, err := p.start(t.spawner)
	if err != nil {
		p.spool.Close()
		return nil, err
	}
	go p.live(t, outputs, redact.New(cfg.Secrets))
	return p, nil
}

func checkFolder(dir string) error {
	info, err := os.Stat(dir)
	var at *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return protocol.Errorf(protocol.NotFound, "the working folder %s is not there", dir)
	case errors.As(err, &at):
		return protocol.Errorf(protocol.Invalid, "the working folder %s cannot be used: %v", dir, at.Err)
	case err == nil && !info.IsDir():
		return protocol.Errorf(protocol.Invalid, "the working folder %s is not a folder", dir)
	}
	return err
}

// ownProgram is the file that this program was started from, also where it has no name
// any more.
func ownProgram() (string, error) {
	if goruntime.GOOS == "linux" {
		return "/proc/self/exe", nil // of the child, before it becomes that program
	}
	return os.Executable()
}

func argvOf(spec protocol.ProcessSpec) ([]string, error) {
	switch {
	case (len(spec.Argv) > 0) == (spec.Shell != ""):
		return nil, protocol.Errorf(protocol.Invalid, "a process needs either argv or shell")
	case spec.Shell == "":
		return spec.Argv, nil
	}
	shell := "bash"
	if _, err := exec.LookPath(shell); err != nil {
		shell = "sh"
	}
	return []string{shell, "-c", spec.Shell}, nil
}

func (p *Process) newSpool(dir string, background bool) (*spool.Spool, error) {
	switch {
	case background:
		return spool.New(dir, keepOutput, 0)
	case p.spec.PTY != nil:
		return spool.New(dir, 0, maxAheadTerminal)
	}
	return spool.New(dir, 0, maxAhead)
}

func (p *Process) expire() {
	p.mu.Lock()
	if p.reaped {
		p.mu.Unlock()
		return
	}
	p.info.TimedOut = true
	p.mu.Unlock()
	_ = p.Kill()
}

// Kill kills the process and everything it started.
func (p *Process) Kill() error {
	p.stop()
	p.spool.Release()
	return proc.KillTree(p.root(), p.cookie)
}

// root is the process's pid while it cannot have been given to another one.
func (p *Process) root() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reaped {
		return 0
	}
	return p.cmd.Process.Pid
}

// Signal sends a signal to the process and everything it started.
func (p *Process) Signal(name string) error {
	sig, ok := map[string]syscall.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP, "KILL": syscall.SIGKILL}[name]
	switch {
	case !ok:
		return protocol.Errorf(protocol.Invalid, "the signal %q is none of INT, TERM, HUP and KILL", name)
	case sig == syscall.SIGKILL:
		return p.Kill()
	case sig == syscall.SIGTERM:
		p.stop()
	}
	return proc.SignalTree(p.root(), p.cookie, sig)
}

// finish notes how the process has ended. A signal may have come from the end of the machine.
func (p *Process) finish(ending bool) {
	p.mu.Lock()
	p.info.State = protocol.ProcessExited
	p.info.EndedUnix = time.Now().Unix()
	p.info.ExitCode, p.info.Signal = spawn.ExitStatus(p.cmd)
	if p.info.TimedOut {
		p.info.ExitCode = 124
	}
	p.info.MachineEnds = ending && p.info.Signal == "KILL" && !p.info.TimedOut
	p.info.OutputBytes = p.spool.Size()
	data, _ := json.Marshal(p.info)     // plain data
	if len(data) > protocol.MaxRecord { // of its arguments, the program has to do
		told := p.info
		told.Argv = told.Argv[:1]
		data, _ = json.Marshal(told)
	}
	p.mu.Unlock()
	p.spool.End(data)
	close(p.done)
}

// State describes the process as it is now.
func (p *Process) State() protocol.Process {
	p.mu.Lock()
	defer p.mu.Unlock()
	info := p.info
	if info.State == protocol.ProcessRunning {
		info.OutputBytes = p.spool.Size()
	}
	return info
}

// First is where output that is asked for from an offset really begins.
func (p *Process) First(offset int64) int64 { return p.spool.First(offset) }

// WriteInput passes input on that begins at an offset; eof says that nothing follows. It
// reports how much the process has got.
func (p *Process) WriteInput(ctx context.Context, offset int64, r io.Reader, eof bool) (int64, error) {
	return p.stdin.write(ctx, offset, r, eof)
}

// CopyTo copies the output to w and counts as somebody's interest in it. It reports whether the end
// of the output was written.
func (p *Process) CopyTo(ctx context.Context, w io.Writer, flush func() error, offset int64, follow bool) (bool, error) {
	p.mu.Lock()
	p.followers++
	p.mu.Unlock()
	end, err := p.spool.CopyTo(ctx, w, flush, offset, follow)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.followers--
	p.followed = time.Now()
	if end && p.delivered.IsZero() {
		p.delivered = time.Now()
	}
	return end, err
}

// abandoned reports whether the client of a foreground process is gone.
func (p *Process) abandoned(linger time.Duration) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.info.Background && p.info.State == protocol.ProcessRunning && p.followers == 0 && time.Since(p.followed) > linger
}
