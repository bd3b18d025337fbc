package runtime

import (
	"os/exec"
	goruntime "runtime"
)

// spawner starts processes from one thread that lives as long as the runtime.
// The kernel ends a child with the *thread* that started it, and Go's threads
// come and go.
type spawner struct{ jobs chan func() }

func newSpawner() *spawner {
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
