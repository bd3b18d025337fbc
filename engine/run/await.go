package run

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"time"

	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/isolation/cgroup"
	"github.com/seer-engine/seer/engine/machine/local/proc"
)

// place is where a command runs: what confines it, and how it is asked to stop.
type place struct {
	kind  string        // of isolation
	group *cgroup.Group // nil = no limits
	state string        // of gVisor
	grace time.Duration
}

// await runs cmd to its end, on one thread: the command is told to die with the thread
// that started it.
func (p place) await(ctx context.Context, cmd *exec.Cmd) (code int, err error) {
	err = isolation.Thread(p.kind, func() error {
		code, err = p.awaitHere(ctx, cmd)
		return err
	})
	return code, err
}

func (p place) awaitHere(ctx context.Context, cmd *exec.Cmd) (int, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true // a Ctrl-C at the terminal is for us; we then ask the agent
	if err := p.group.Start(cmd); err != nil {
		return 0, fmt.Errorf("start the agent: %w", err)
	}
	ended := make(chan struct{})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		p.stop(ctx, cmd.Process.Pid, ended)
	}()
	err := cmd.Wait()
	close(ended)
	<-stopped
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exitCode(exit), nil
	}
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil
	}
	return 0, err
}

// stop ends a process group once ctx has ended: first asked, then killed.
func (p place) stop(ctx context.Context, pid int, ended <-chan struct{}) {
	select {
	case <-ended:
		return
	case <-ctx.Done():
	}
	grace := time.After(p.grace)
	if p.kind == isolation.GVisor {
		asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.grace)
		defer cancel()
		if isolation.Ask(asking, p.state) != nil { // it has not begun, or has ended
			_ = syscall.Kill(-pid, syscall.SIGKILL)
		}
	} else {
		ask(pid)
	}
	select {
	case <-ended:
	case <-grace:
		_ = syscall.Kill(-pid, syscall.SIGKILL)
	}
}

func exitCode(e *exec.ExitError) int {
	if status, ok := e.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return e.ExitCode()
}

// ask tells the agent's processes to end. They are asked themselves, because the
// sandboxing program above them would end at once and take them along.
func ask(pid int) {
	asked := false
	if proc.Name(pid) != "bwrap" {
		asked = syscall.Kill(pid, syscall.SIGTERM) == nil
	}
	below, _ := proc.Below(pid) // without the list, the group is asked
	for _, p := range below {
		if proc.Name(p.PID) != "bwrap" {
			asked = proc.Signal(p, syscall.SIGTERM) == nil || asked
		}
	}
	if !asked {
		_ = syscall.Kill(-pid, syscall.SIGTERM)
	}
}

// endMarked kills every process that has the variable, again and again until there
// is none, as one may be forking meanwhile.
func endMarked(variable string) {
	for range 200 {
		left, err := proc.Carriers(variable)
		if err != nil || len(left) == 0 {
			return
		}
		for _, p := range left {
			_ = proc.Signal(p, syscall.SIGKILL)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
