// Package container is what the fake clouds rent out: a machine that is a real
// process tree on this computer, with folders of its own for /workspace, /models, /root
// (its home) and its volumes, and with the port of the runtime moved to a free one. It boots
// the real loader and runtime. It is no isolation.
package container

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/seer-engine/seer/engine/runtime/loader"
)

// Spec is what a container runs.
type Spec struct {
	Argv    []string          // python3 is this computer's interpreter, see Python
	Env     map[string]string // all of it, but PATH and HOME where they are missing
	Volumes map[string]string // path in the container → folder of this computer
	Python  string            // default $SEER_PYTHON or python3
	Output  io.Writer         // of the first program; nil = dropped
	Errors  io.Writer         // its standard error; nil = Output
	Stdin   io.Reader         // nil = empty; see [Process]
	Dir     string            // path in the container where it starts; default /workspace
}

// Container is one machine. Its first program is Argv; when that ends, the machine
// has ended, until Restart.
type Container struct {
	dir  string
	spec Spec
	port int // of this computer, for the port in SEER_BOOT
	from int
	vars []string // its environment

	mu     sync.Mutex
	cmd    *exec.Cmd
	done   chan struct{}
	killed bool
	sweep  sync.Once // its folder may be another container's afterwards
}

// Roots are the folders of a container that its programs may change.
func roots() []string { return []string{"/workspace", "/models", "/datasets", "/root"} }

// Unsaved are the folders that a snapshot leaves out.
func unsaved() []string { return []string{"/tmp", "/cache", "/scratch"} }

// Start starts a container below dir, which must be its own and may hold the roots of
// a snapshot.
func Start(dir string, spec Spec) (*Container, error) {
	c := &Container{dir: dir, spec: spec}
	for _, root := range append(roots(), unsaved()...) {
		if err := os.MkdirAll(filepath.Join(dir, root), 0o755); err != nil {
			return nil, err
		}
	}
	var err error
	if c.port, err = FreePort(); err != nil {
		return nil, err
	}
	if c.vars, err = c.env(); err != nil {
		return nil, err
	}
	return c, c.run()
}

// Restart runs the first program again, as clouds do that keep containers running.
func (c *Container) Restart() error {
	select {
	case <-c.Done():
		return c.run()
	default:
		return errors.New("the container runs")
	}
}

func (c *Container) run() error {
	if len(c.spec.Argv) == 0 {
		return errors.New("there is nothing to run")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.killed {
		return errors.New("the container has been killed")
	}
	cmd := c.command(c.spec.Argv, "")
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = c.vars, c.spec.Stdin, c.spec.Output, c.spec.Errors
	if cmd.Stderr == nil {
		cmd.Stderr = c.spec.Output
	}
	if err := start(cmd); err != nil {
		return err
	}
	done := make(chan struct{})
	c.cmd, c.done = cmd, done
	go func() {
		_ = cmd.Wait() // the exit code is in ProcessState
		close(done)
	}()
	return nil
}

func (c *Container) python() string {
	for _, name := range []string{c.spec.Python, os.Getenv("SEER_PYTHON"), "/usr/bin/python3"} {
		if name != "" {
			if path, err := exec.LookPath(name); err == nil {
				return path
			}
		}
	}
	return "python3"
}

// env moves what SEER_BOOT says to where it is on this computer.
func (c *Container) env() ([]string, error) {
	env := map[string]string{"PATH": os.Getenv("PATH"), "HOME": filepath.Join(c.dir, "root"), "TMPDIR": filepath.Join(c.dir, "tmp")}
	maps.Copy(env, c.spec.Env)
	if text, ok := env[loader.BootVariable]; ok {
		var boot loader.Boot
		if err := json.Unmarshal([]byte(text), &boot); err != nil {
			return nil, fmt.Errorf("%s: %w", loader.BootVariable, err)
		}
		if _, err := fmt.Sscanf(boot.Listen[strings.LastIndex(boot.Listen, ":")+1:], "%d", &c.from); err != nil {
			return nil, fmt.Errorf("%s: no port in %q", loader.BootVariable, boot.Listen)
		}
		boot.Listen = fmt.Sprintf("tcp:127.0.0.1:%d", c.port)
		boot.Roots = map[string]string{}
		for _, root := range roots() {
			boot.Roots[root] = filepath.Join(c.dir, root)
		}
		for path, folder := range c.spec.Volumes {
			boot.Roots[filepath.Clean(path)] = folder
		}
		boot.Scratch = filepath.Join(c.dir, "scratch")
		if boot.Cache == "" {
			boot.Cache = filepath.Join(c.dir, "cache")
		} else if folder, ok := c.spec.Volumes[filepath.Dir(boot.Cache)]; ok {
			boot.Cache = filepath.Join(folder, filepath.Base(boot.Cache))
		}
		moved, err := json.Marshal(boot)
		if err != nil {
			return nil, err
		}
		env[loader.BootVariable] = string(moved)
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(env)) {
		out = append(out, name+"="+env[name])
	}
	return out, nil
}

// Address is where a port of the container is on this computer: host:port. Only the
// runtime's port is moved.
func (c *Container) Address(port int) string {
	if port == c.from {
		port = c.port
	}
	return fmt.Sprintf("127.0.0.1:%d", port)
}

// Done is closed when the first program has ended.
func (c *Container) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.done
}

// ExitCode is that of the first program, 128+n after signal n; -1 while it runs.
func (c *Container) ExitCode() int {
	select {
	case <-c.Done():
	default:
		return -1
	}
	status, _ := c.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}

// Stop ends the container as clouds do: SIGTERM, then after the grace SIGKILL. It
// returns when nothing of it is left.
func (c *Container) Stop(grace time.Duration) {
	c.mu.Lock()
	c.killed = true
	cmd, done := c.cmd, c.done
	c.mu.Unlock()
	_ = cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-done:
	case <-time.After(grace):
	}
	c.Kill()
}

// Kill ends the container at once, as a machine that dies. It returns when nothing of
// it is left.
func (c *Container) Kill() {
	c.mu.Lock()
	c.killed = true
	cmd, done := c.cmd, c.done
	c.mu.Unlock()
	select {
	case <-done: // its number may be another's
	default:
		c.signal(cmd, syscall.SIGCONT)
		c.signal(cmd, syscall.SIGKILL)
		<-done
	}
	c.sweep.Do(func() {
		for range 500 {
			left := c.processes()
			for _, pid := range left {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			if len(left) == 0 {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	})
}

// Freeze stops every process of the container without ending it: a machine that has
// gone silent. Thaw lets it go on.
func (c *Container) Freeze() {
	for _, pid := range c.processes() {
		_ = syscall.Kill(pid, syscall.SIGSTOP)
	}
}

// Thaw ends Freeze.
func (c *Container) Thaw() {
	for _, pid := range c.processes() {
		_ = syscall.Kill(pid, syscall.SIGCONT)
	}
}

// Snapshot copies what the container has of its own, but for temporary files and
// caches, to dir, from which a container can be started.
func (c *Container) Snapshot(ctx context.Context, dir string) error {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.IsDir() || slices.Contains(unsaved(), "/"+e.Name()) {
			continue
		}
		if err := Copy(ctx, filepath.Join(dir, e.Name()), filepath.Join(c.dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// Folder is where a path in the container is on this computer.
func (c *Container) Folder(path string) string {
	path = filepath.Clean(path)
	for volume, folder := range c.spec.Volumes {
		volume = filepath.Clean(volume)
		if rest, ok := strings.CutPrefix(path, volume+"/"); ok || path == volume {
			return filepath.Join(folder, strings.TrimPrefix(rest, volume))
		}
	}
	return filepath.Join(c.dir, path)
}

// signal reaches the process group of the first program.
func (c *Container) signal(cmd *exec.Cmd, s syscall.Signal) {
	_ = syscall.Kill(-cmd.Process.Pid, s)
	_ = cmd.Process.Signal(s)
}
