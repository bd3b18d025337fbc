package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seer-engine/seer/engine/protocol"
)

const (
	keepOutput = 1 << 30   // of a background process
	maxAhead   = 256 << 20 // of a foreground process before its reader

	// A process that has ended may leave a grandchild that holds its output open.
	// What is in the pipe is still read, but nobody waits for the grandchild.
	pipeQuiet = 50 * time.Millisecond
	pipeGrace = time.Second
)

// process is a command that a client has started.
type process struct {
	cookie string
	spool  *spool
	stdin  *stdin
	cmd    *exec.Cmd
	exited chan struct{} // the process itself has ended
	done   chan struct{} // and so has its output

	mu        sync.Mutex
	info      protocol.Process
	reaped    bool
	followers int
	followed  time.Time // when the last follower left
	delivered time.Time // when the end record was first read
}

// startProcess starts a command.
func (s *Server) startProcess(spec protocol.ProcessSpec, id string) (*process, error) {
	cfg := s.config()
	argv, err := argvOf(spec)
	if err != nil {
		return nil, err
	}
	if err := checkEnv(spec.Env); err != nil {
		return nil, err
	}
	dir := s.workdir(cfg)
	if spec.Cwd != "" {
		dir = s.path(spec.Cwd)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, protocol.Errorf(protocol.NotFound, "the working folder %s is not there", dir)
	}
	p := &process{cookie: processVariable + "=" + id, exited: make(chan struct{}), done: make(chan struct{}), followed: time.Now()}
	env := s.environment(cfg, id, spec.Env)
	program, err := lookPath(argv[0], dir, env)
	if err != nil {
		return nil, err
	}
	p.cmd = &exec.Cmd{Path: program, Args: argv, Env: env, Dir: dir, SysProcAttr: processAttr()}
	p.info = protocol.Process{ID: id, Name: spec.Name, Argv: argv, State: protocol.ProcessRunning,
		StartedUnix: time.Now().Unix(), Background: spec.Background}
	if p.spool, err = p.newSpool(s.scratch, spec.Background); err != nil {
		return nil, err
	}
	if err := p.start(s.spawner, newScrubber(cfg.Secrets), spec); err != nil {
		p.spool.close()
		return nil, err
	}
	return p, nil
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

func (p *process) newSpool(dir string, background bool) (*spool, error) {
	if background {
		return newSpool(dir, keepOutput, 0)
	}
	return newSpool(dir, 0, maxAhead)
}

func (p *process) start(sp *spawner, scrub *scrubber, spec protocol.ProcessSpec) error {
	var near []*os.File // ours
	var far []*os.File  // the process's
	defer func() {
		for _, f := range far {
			f.Close()
		}
	}()
	for range 2 {
		r, w, err := os.Pipe()
		if err != nil {
			return err
		}
		near, far = append(near, r), append(far, w)
	}
	p.cmd.Stdout, p.cmd.Stderr = far[0], far[1]
	if spec.Stdin {
		r, w, err := os.Pipe()
		if err != nil {
			return err
		}
		far = append(far, r)
		p.cmd.Stdin, p.stdin = r, &stdin{w: w}
	}
	if err := sp.start(p.cmd); err != nil {
		for _, f := range near {
			f.Close()
		}
		p.stdin.close()
		return startError(p.cmd, err)
	}
	go p.run(near, scrub, spec.TimeoutSeconds)
	return nil
}

func startError(cmd *exec.Cmd, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return protocol.Errorf(protocol.NotFound, "there is no program %s on the machine, or no interpreter for it", cmd.Path)
	}
	return protocol.Errorf(protocol.Failed, "%s cannot be started: %v", cmd.Path, err)
}

// run waits for the process and for its output.
func (p *process) run(pipes []*os.File, scrub *scrubber, timeout float64) {
	var outputs sync.WaitGroup
	for i, kind := range []protocol.RecordStream{protocol.RecordStdout, protocol.RecordStderr} {
		w := scrub.writer(p.spool.stream(kind))
		outputs.Go(func() { p.copyOutput(w, pipes[i]) })
	}
	if timeout > 0 {
		t := time.AfterFunc(time.Duration(timeout*float64(time.Second)), p.expire)
		defer t.Stop()
	}
	_ = p.cmd.Wait() // the state says it all
	p.mu.Lock()
	p.reaped = true
	p.mu.Unlock()
	close(p.exited)
	for _, r := range pipes {
		_ = r.SetReadDeadline(time.Now().Add(pipeQuiet))
	}
	p.stdin.close()
	outputs.Wait()
	p.finish()
}

// copyOutput copies until the pipe is closed, or the process has ended and the
// pipe is empty. What a grandchild writes later is read and dropped, so that it
// is not killed by a closed pipe.
func (p *process) copyOutput(w *scrubWriter, r *os.File) {
	_, err := io.Copy(w, onlyReader{r})
	for end := time.Now().Add(pipeGrace); errors.Is(err, os.ErrDeadlineExceeded) && time.Now().Before(end); {
		_ = r.SetReadDeadline(time.Now().Add(pipeQuiet))
		var n int64
		if n, err = io.Copy(w, onlyReader{r}); n == 0 {
			break
		}
	}
	_ = w.flush()
	if errors.Is(err, os.ErrDeadlineExceeded) {
		_ = r.SetReadDeadline(time.Time{})
		go func() {
			defer r.Close()
			_, _ = io.Copy(io.Discard, r)
		}()
		return
	}
	r.Close()
}

// onlyReader keeps io.Copy from splicing between files.
type onlyReader struct{ io.Reader }

func (p *process) expire() {
	p.mu.Lock()
	if p.reaped {
		p.mu.Unlock()
		return
	}
	p.info.TimedOut = true
	p.mu.Unlock()
	_ = p.kill()
}

// kill kills the process and everything it started.
func (p *process) kill() error {
	p.spool.release()
	return killTree(p.root(), p.cookie)
}

// root is the process's pid while it cannot have been given to another one.
func (p *process) root() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reaped {
		return 0
	}
	return p.cmd.Process.Pid
}

func (p *process) signal(name string) error {
	sig, ok := map[string]syscall.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "KILL": syscall.SIGKILL}[name]
	switch {
	case !ok:
		return protocol.Errorf(protocol.Invalid, "the signal %q is none of INT, TERM and KILL", name)
	case sig == syscall.SIGKILL:
		return p.kill()
	}
	return signalTree(p.root(), p.cookie, sig)
}

func (p *process) finish() {
	p.mu.Lock()
	p.info.State = protocol.ProcessExited
	p.info.EndedUnix = time.Now().Unix()
	status := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	p.info.ExitCode = status.ExitStatus()
	if status.Signaled() {
		p.info.ExitCode = 128 + int(status.Signal())
		p.info.Signal = signalName(status.Signal())
	}
	if p.info.TimedOut {
		p.info.ExitCode = 124
	}
	p.info.OutputBytes = p.spool.bytes()
	data, _ := json.Marshal(p.info) // plain data
	p.mu.Unlock()
	p.spool.end(data)
	close(p.done)
}

// signalName is the name without SIG, as clients send it.
func signalName(sig syscall.Signal) string {
	name := unix.SignalName(sig)
	if len(name) > 3 {
		return name[3:]
	}
	return sig.String()
}

func (p *process) state() protocol.Process {
	p.mu.Lock()
	defer p.mu.Unlock()
	info := p.info
	if info.State == protocol.ProcessRunning {
		info.OutputBytes = p.spool.bytes()
	}
	return info
}

// follow copies the output to w and counts as somebody's interest in it.
func (p *process) follow(ctx context.Context, w io.Writer, flush func() error, offset int64, follow bool) error {
	p.mu.Lock()
	p.followers++
	p.mu.Unlock()
	end, err := p.spool.copyTo(ctx, w, flush, offset, follow)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.followers--
	p.followed = time.Now()
	if end && p.delivered.IsZero() {
		p.delivered = time.Now()
	}
	return err
}

// abandoned reports whether the client of a foreground process is gone.
func (p *process) abandoned(linger time.Duration) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.info.Background && p.info.State == protocol.ProcessRunning && p.followers == 0 && time.Since(p.followed) > linger
}
