// Package spawn starts processes that end with the runtime, or outlive it, as their attributes say.
package spawn

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	goruntime "runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// Spawner starts processes from one thread that lives as long as the runtime.
// The kernel ends a child with the *thread* that started it, and Go's threads
// come and go.
type Spawner struct {
	jobs chan func()
	over chan struct{} // closed by [Spawner.Close]
}

// New starts the thread; [Spawner.Close] ends it.
func New() *Spawner {
	// What is ignored here would be ignored by every program, whose terminal could then not
	// be hung up: under nohup, for instance. What is caught here is theirs to decide.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	s := &Spawner{jobs: make(chan func()), over: make(chan struct{})}
	go func() {
		goruntime.LockOSThread() // never unlocked: the thread must not be used for anything else
		for {
			select {
			case job := <-s.jobs:
				job()
			case <-s.over:
				return
			}
		}
	}()
	return s
}

// Start starts a command as [exec.Cmd.Start] does. It fails after [Spawner.Close], which does not
// wait for those who are about to start something.
func (s *Spawner) Start(cmd *exec.Cmd) error {
	done := make(chan error)
	select {
	case s.jobs <- func() { done <- cmd.Start() }:
		return <-done
	case <-s.over:
		return errors.New("the machine ends")
	}
}

// Close ends the thread, and with it every process that has [ChildAttr].
func (s *Spawner) Close() { close(s.over) }

// ExitStatus is the exit code of a command that has ended, and the signal that ended it.
func ExitStatus(cmd *exec.Cmd) (code int, signal string) {
	status := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return 128 + int(status.Signal()), SignalName(status.Signal())
	}
	return status.ExitStatus(), ""
}

// SignalName is the name without SIG, as clients send it.
func SignalName(sig syscall.Signal) string {
	name := unix.SignalName(sig)
	if len(name) > 3 {
		return name[3:]
	}
	return sig.String()
}
