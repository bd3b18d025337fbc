package runtime

import (
	"os"
	"os/exec"
	"os/signal"
	goruntime "runtime"
	"syscall"
)

// spawner starts processes from one thread that lives as long as the runtime.
// The kernel ends a child with the *thread* that started it, and Go's threads
// come and go.
type spawner struct{ jobs chan func() }

func newSpawner() *spawner {
	// What is ignored here would be ignored by every program, whose terminal could then not
	// be hung up: under nohup, for instance. What is caught here is theirs to decide.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	s := &spawner{jobs: make(chan func())}
	go func() {
		goruntime.LockOSThread() // never unlocked: the thread must not be used for anything else
		for job := range s.jobs {
			job()
		}
	}()
	return s
}

func (s *spawner) start(cmd *exec.Cmd) error {
	done := make(chan error)
	s.jobs <- func() { done <- cmd.Start() }
	return <-done
}

func (s *spawner) close() { close(s.jobs) }
