package process

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/runtime/internal/environment"
	"github.com/seer-engine/seer/engine/runtime/internal/spawn"
)

const (
	firstPause = time.Second // before a process is started again; doubled each time
	lastPause  = time.Minute

	// activityVariable names the file by which a process says that it is use.
	activityVariable = "SEER_ACTIVITY"
	activityFor      = 20 * time.Second
)

// normalize checks what belongs together in a process, and fills in what follows from it.
func normalize(spec *protocol.ProcessSpec) error {
	switch {
	case spec.Restart && (spec.Stdin || spec.PTY != nil):
		return protocol.Errorf(protocol.Invalid, "a process that is started again (restart) can have neither stdin nor a terminal")
	case spec.TimeoutSeconds < 0 || spec.TimeoutSeconds > 1e9:
		return protocol.Errorf(protocol.Invalid, "timeout_seconds is %v and not a number of seconds from 0 to 1e9", spec.TimeoutSeconds)
	}
	if spec.Activity != "" || spec.Restart {
		spec.Background = true
	}
	if spec.PTY == nil {
		return nil
	}
	pty := *spec.PTY
	if pty.Rows == 0 {
		pty.Rows = 24
	}
	if pty.Cols == 0 {
		pty.Cols = 80
	}
	if pty.Term == "" {
		pty.Term = "xterm-256color"
	}
	spec.PTY = &pty
	if err := environment.CheckVariables(map[string]string{"TERM": pty.Term}); err != nil {
		return err
	}
	return checkSize(pty.Rows, pty.Cols)
}

// stop says that the process is not to be started again.
func (p *Process) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.stopped {
		p.stopped = true
		close(p.enough)
	}
}

// startAgain starts the command once more after a pause, and again if that fails; false
// when it is enough.
func (p *Process) startAgain(t *Table, pause time.Duration) ([]*os.File, bool) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for code, _ := spawn.ExitStatus(p.cmd); ; pause = min(2*pause, lastPause) {
		select {
		case <-p.enough:
			return nil, false
		default:
		}
		p.note("the process has ended with exit code %d and is started again in %v", code, pause)
		select {
		case <-time.After(pause):
		case <-p.enough:
			return nil, false
		}
		leave, err := t.write(ctx)
		if err != nil {
			return nil, false
		}
		outputs, err := p.start(t.spawner)
		leave()
		if err != nil {
			p.note("%v", err)
			continue
		}
		p.note("started again")
		p.mu.Lock()
		p.info.Restarts++
		late := p.stopped
		p.mu.Unlock()
		if late {
			_ = p.Kill() // it was asked for in between
		}
		return outputs, true
	}
}

// note writes a line of ours between those of the process.
func (p *Process) note(format string, values ...any) {
	_, _ = io.WriteString(p.spool.Stream(protocol.RecordStderr), "seer: "+fmt.Sprintf(format, values...)+"\n") // a spool takes all
}

// use reports whether the process is use of the machine now, and when it last was.
func (p *Process) use(now time.Time) (bool, time.Time) {
	if p.State().State != protocol.ProcessRunning {
		return false, time.Time{}
	}
	if p.activity == "" {
		return true, now
	}
	info, err := os.Stat(p.activity)
	if err != nil {
		return false, time.Time{}
	}
	at := info.ModTime()
	if at.After(now) { // who sets it ahead gains nothing
		at = now
		if info.ModTime().Sub(now) > activityFor {
			return false, time.Time{}
		}
	}
	return now.Sub(at) < activityFor, at
}
