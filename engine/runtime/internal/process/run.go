package process

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/runtime/internal/httpx"
	"github.com/seer-engine/seer/engine/runtime/internal/proc"
	"github.com/seer-engine/seer/engine/runtime/internal/redact"
	"github.com/seer-engine/seer/engine/runtime/internal/spawn"
	"github.com/seer-engine/seer/internal/osfile"
)

// start starts the command, and makes its stdin at first. What it returns are the near
// ends of stdout and stderr, or that of its terminal.
func (p *Process) start(sp *spawn.Spawner) (outputs []*os.File, err error) {
	cmd := p.command
	var far []*os.File // the process's
	defer func() {
		for _, f := range far {
			f.Close()
		}
		if err != nil {
			for _, f := range outputs {
				f.Close()
			}
			p.stdin.close()
		}
	}()
	if p.spec.PTY != nil {
		outputs, far, err = p.openTerminal(&cmd)
	} else {
		outputs, far, err = p.openPipes(&cmd)
	}
	if err != nil {
		return outputs, err
	}
	if err := sp.Start(&cmd); err != nil {
		return outputs, startError(&cmd, err)
	}
	p.mu.Lock()
	p.cmd, p.reaped = &cmd, false
	p.mu.Unlock()
	return outputs, nil
}

func (p *Process) openPipes(cmd *exec.Cmd) (near, far []*os.File, err error) {
	for range 2 {
		r, w, err := os.Pipe()
		if err != nil {
			return near, far, err
		}
		near, far = append(near, r), append(far, w)
	}
	cmd.Stdout, cmd.Stderr = far[0], far[1]
	if p.spec.Stdin {
		r, w, err := os.Pipe()
		if err != nil {
			return near, far, err
		}
		far = append(far, r)
		cmd.Stdin, p.stdin = r, &stdin{w: w}
	}
	return near, far, nil
}

func startError(cmd *exec.Cmd, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return protocol.Errorf(protocol.NotFound, "there is no program %s on the machine, or no interpreter for it", cmd.Path)
	}
	for _, why := range []error{fs.ErrPermission, syscall.ENOTDIR, syscall.ENOEXEC, syscall.E2BIG} { // what was asked for
		if errors.Is(err, why) {
			return protocol.Errorf(protocol.Invalid, "%s cannot be started in %s: %v", cmd.Path, cmd.Dir, why)
		}
	}
	return protocol.Errorf(protocol.Failed, "%s cannot be started: %v", cmd.Path, err)
}

// live sees the process through to its end, and starts it again where that is wanted.
func (p *Process) live(t *Table, outputs []*os.File, redactor *redact.Redactor) {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		began := time.Now()
		p.run(outputs, redactor)
		if !p.spec.Restart {
			break
		}
		if time.Since(began) > lastPause {
			pause = firstPause
		}
		var again bool
		if outputs, again = p.startAgain(t, pause); !again {
			break
		}
	}
	p.finish(t.ending())
}

// run waits for the command and for its output.
func (p *Process) run(outputs []*os.File, redactor *redact.Redactor) {
	var copies sync.WaitGroup
	for i, kind := range []protocol.RecordStream{protocol.RecordStdout, protocol.RecordStderr}[:len(outputs)] {
		w := redactor.Writer(p.spool.Stream(kind))
		copies.Go(func() { p.copyOutput(w, outputs[i]) })
	}
	if p.spec.TimeoutSeconds > 0 {
		t := time.AfterFunc(httpx.Seconds(p.spec.TimeoutSeconds), p.expire)
		defer t.Stop()
	}
	_ = p.cmd.Wait() // the state says it all
	p.mu.Lock()
	p.reaped = true
	p.mu.Unlock()
	for _, r := range outputs {
		_ = r.SetReadDeadline(time.Now().Add(pipeQuiet))
	}
	p.stdin.close()
	copies.Wait()
	if p.spec.PTY != nil { // what is left of the session loses its terminal
		_ = proc.SignalTree(0, p.cookie, syscall.SIGHUP)
	}
}

// copyOutput copies until the pipe is closed, or the process has ended and the
// pipe is empty. What a grandchild writes later is read and dropped, so that it
// is not killed by a closed pipe.
func (p *Process) copyOutput(w *redact.Writer, r *os.File) {
	_, err := io.Copy(w, osfile.OnlyReader{Reader: r})
	for end := time.Now().Add(pipeGrace); errors.Is(err, os.ErrDeadlineExceeded) && time.Now().Before(end); {
		_ = r.SetReadDeadline(time.Now().Add(pipeQuiet))
		var n int64
		if n, err = io.Copy(w, osfile.OnlyReader{Reader: r}); n == 0 {
			break
		}
	}
	_ = w.Flush()
	if errors.Is(err, os.ErrDeadlineExceeded) && p.spec.PTY == nil {
		_ = r.SetReadDeadline(time.Time{})
		go func() {
			defer r.Close()
			_, _ = io.Copy(io.Discard, r)
		}()
		return
	}
	r.Close()
}
