package container

import (
	"errors"
	"io"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

// Process is a further program in a container.
type Process struct {
	Argv           []string          // as in [Spec]
	Env            map[string]string // besides the container's
	Dir            string            // path in the container; default as in [Spec]
	Stdin          io.Reader         // nil = empty; a pipe's end, so that its writer does not hold up the end
	Stdout, Stderr io.Writer         // nil = dropped
}

// Exec starts a program in the container. The caller waits for it.
func (c *Container) Exec(p Process) (*exec.Cmd, error) {
	if len(p.Argv) == 0 {
		return nil, errors.New("there is nothing to run")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.killed {
		return nil, errors.New("the container has been killed")
	}
	cmd := c.command(p.Argv, p.Dir)
	cmd.Env = slices.Clone(c.vars)
	for _, name := range slices.Sorted(maps.Keys(p.Env)) {
		cmd.Env = append(cmd.Env, name+"="+p.Env[name])
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.Stdin, p.Stdout, p.Stderr
	return cmd, start(cmd)
}

func (c *Container) command(argv []string, dir string) *exec.Cmd {
	program := argv[0]
	if program == "python3" || program == "python" {
		program = c.python()
	}
	cmd := exec.Command(program, argv[1:]...)
	if dir == "" {
		dir = c.spec.Dir
	}
	if dir == "" {
		dir = "/workspace"
	}
	cmd.Dir = c.Folder(filepath.Clean(dir))
	cmd.WaitDelay = time.Second // for children that keep the output open
	return cmd
}
