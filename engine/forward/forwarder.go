// Package forward carries ports of machines to ports of this computer's loopback, over hosts that
// are reached by SSH and into pods of Kubernetes.
package forward

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/seer-engine/seer/engine/kube"
	"github.com/seer-engine/seer/engine/ssh"
	"github.com/seer-engine/seer/engine/state"
)

// Forwarder carries ports of sandboxes to ports of this computer's loopback. A process of its
// own does, which outlives this one: `seer-runtime forward DIR`, one for each folder. While a
// host cannot be reached, its ports stay open, and the process connects again for the next
// connection that comes.
type Forwarder struct {
	// Dir is a private folder for what is wanted and which ports there are. It must be on a
	// disk of this computer.
	Dir string

	// Artifacts is the folder with the programs of this computer.
	Artifacts string

	// SSH says how the process connects to hosts. It never asks anybody.
	SSH ssh.Options

	// Kube says how the process connects to pods.
	Kube kube.Options

	// Program is the process, without Dir; default seer-runtime-OS-ARCH of Artifacts, with
	// "forward".
	Program []string
}

// The files in the folder of a forwarder.
const (
	routesFile  = "routes.json" // what is wanted; written by those who want it, who hold the lock edit
	portsFile   = "ports.json"  // what is; written by the process, which holds the lock process
	editLock    = "edit.lock"
	processLock = "process.lock"
	logFile     = "log"
)

// agentVariable is the environment variable with the socket of the SSH agent.
const agentVariable = "SSH_AUTH_SOCK"

// routes is [routesFile].
type routes struct {
	Version int                 `json:"version"` // of the list; grows
	SSH     ssh.Options         `json:"options"`
	Kube    kube.Options        `json:"kube"`
	Agent   string              `json:"agent,omitempty"` // agentVariable of the last command that had one
	Wanted  map[string][]Wanted `json:"wanted"`          // by sandbox
}

// ports is [portsFile].
type ports struct {
	Version int               `json:"version"` // of the routes that were heeded
	Ports   map[string]int    `json:"ports"`   // "SANDBOX PORT" → port of this computer
	Errors  map[string]string `json:"errors,omitempty"`
}

// prune removes what has ended, and returns the next end; zero = none.
func (r *routes) prune(now time.Time) (next time.Time) {
	for sandbox, list := range r.Wanted {
		list = slices.DeleteFunc(list, func(w Wanted) bool { return w.ended(now) })
		for _, w := range list {
			if next.IsZero() || !w.End.IsZero() && w.End.Before(next) {
				next = w.End
			}
		}
		r.Wanted[sandbox] = list
		if len(list) == 0 {
			delete(r.Wanted, sandbox)
		}
	}
	return next
}

func portKey(sandbox string, port int) string { return fmt.Sprintf("%s %d", sandbox, port) }

// Ensure has exactly these ports of a sandbox carried, and returns the URL of each,
// http://127.0.0.1:N. N is the one before wherever that is free, also after the process was
// killed. It starts the process where there is none. A port is carried for two minutes at least, also
// if its end is earlier.
func (f *Forwarder) Ensure(ctx context.Context, sandbox string, wanted []Wanted) (map[int]string, error) {
	now := time.Now()
	wanted = slices.Clone(wanted)
	for i, w := range wanted {
		if w.ended(now.Add(leastLife)) {
			wanted[i].End = now.Add(leastLife)
		}
	}
	have, err := f.edit(ctx, func(r *routes) { r.Wanted[sandbox] = wanted })
	if err != nil {
		return nil, fmt.Errorf("carry the ports of the sandbox %s: %w", sandbox, err)
	}
	urls := map[int]string{}
	for _, w := range wanted {
		key := portKey(sandbox, w.Port)
		if why, failed := have.Errors[key]; failed {
			return nil, fmt.Errorf("carry port %d of the sandbox %s: %s", w.Port, sandbox, why)
		}
		urls[w.Port] = fmt.Sprintf("http://127.0.0.1:%d", have.Ports[key])
	}
	return urls, nil
}

// Remove ends what is carried for a sandbox. It is idempotent. The process ends with the last.
func (f *Forwarder) Remove(ctx context.Context, sandbox string) error {
	r, err := readRoutes(f.Dir)
	if err == nil && r.Wanted[sandbox] == nil {
		return nil
	}
	if _, err := f.edit(ctx, func(r *routes) { delete(r.Wanted, sandbox) }); err != nil {
		return fmt.Errorf("end carrying the ports of the sandbox %s: %w", sandbox, err)
	}
	return nil
}

// Sandboxes are those for which something is carried, sorted.
func (f *Forwarder) Sandboxes() ([]string, error) {
	r, err := readRoutes(f.Dir)
	if err != nil {
		return nil, err
	}
	var all []string
	for sandbox := range r.Wanted {
		all = append(all, sandbox)
	}
	slices.Sort(all)
	return all, nil
}

// edit changes what is wanted, and waits until the process has heeded it.
func (f *Forwarder) edit(ctx context.Context, change func(*routes)) (ports, error) {
	if err := state.Private(f.Dir); err != nil {
		return ports{}, err
	}
	version := 0
	err := state.Locked(ctx, filepath.Join(f.Dir, editLock), func() error {
		r, err := readRoutes(f.Dir)
		if err != nil {
			return err
		}
		r.SSH, r.Kube, r.Agent = f.SSH, f.Kube, cmp.Or(os.Getenv(agentVariable), r.Agent)
		r.prune(time.Now())
		change(&r)
		// Also where nothing has changed: only a process that lives answers.
		r.Version++
		version = r.Version
		return writeJSON(filepath.Join(f.Dir, routesFile), r)
	})
	if err != nil {
		return ports{}, err
	}
	return f.await(ctx, version)
}

// awaitPoll is how often somebody who waits looks.
const awaitPoll = 10 * time.Millisecond

// await waits until the process has heeded a version of the routes. It starts the process
// where none lives, unless nothing is wanted.
func (f *Forwarder) await(ctx context.Context, version int) (ports, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, 30*time.Second, errors.New("the process that does has not answered within 30 s; see "+filepath.Join(f.Dir, logFile)))
	defer cancel()
	for {
		lock, alive, err := state.TryAcquire(filepath.Join(f.Dir, processLock))
		if err != nil {
			return ports{}, err
		}
		have, err := readPorts(f.Dir)
		if err != nil {
			return ports{}, err
		}
		if alive && have.Version >= version {
			return have, nil
		}
		if !alive {
			lock.Release()
			r, err := readRoutes(f.Dir)
			if r.prune(time.Now()); err != nil || len(r.Wanted) == 0 {
				return have, err
			}
			if err = f.start(); err != nil {
				return ports{}, err
			}
		}
		select {
		case <-ctx.Done():
			return ports{}, context.Cause(ctx)
		case <-time.After(awaitPoll):
		}
	}
}

// start starts a process, and waits until it carries what is wanted, or ends because another
// one does.
func (f *Forwarder) start() error {
	argv := f.Program
	if len(argv) == 0 {
		argv = []string{filepath.Join(f.Artifacts, "seer-runtime-"+runtime.GOOS+"-"+runtime.GOARCH), "forward"}
	}
	log, err := openLog(filepath.Join(f.Dir, logFile))
	if err != nil {
		return err
	}
	defer log.Close()
	ready, in, err := os.Pipe()
	if err != nil {
		return err
	}
	defer ready.Close()
	cmd := exec.Command(argv[0], append(slices.Clone(argv[1:]), f.Dir)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", in, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	_ = in.Close()
	if err != nil {
		return fmt.Errorf("start the process that does: %w; build it with make runtime, or say where it is with SEER_ARTIFACTS_DIR", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	_ = ready.SetReadDeadline(time.Now().Add(20 * time.Second))
	if n, _ := ready.Read(make([]byte, 1)); n == 1 {
		return nil
	}
	select {
	case err := <-ended:
		if err == nil {
			return nil // another one was first
		}
		return fmt.Errorf("the process that does has ended: %w; see %s, and run it by hand: %s %s", err, log.Name(), strings.Join(argv, " "), f.Dir)
	case <-time.After(time.Second):
		return fmt.Errorf("the process that does says nothing; see %s", log.Name())
	}
}

// maxLog is where a log begins anew.
const maxLog = 1 << 20

func openLog(path string) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && info.Size() > maxLog {
		_ = os.Remove(path)
	}
	return os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
}

func readRoutes(dir string) (routes, error) {
	r := routes{}
	err := readJSON(filepath.Join(dir, routesFile), &r)
	if r.Wanted == nil {
		r.Wanted = map[string][]Wanted{}
	}
	return r, err
}

func readPorts(dir string) (ports, error) {
	p := ports{}
	err := readJSON(filepath.Join(dir, portsFile), &p)
	if p.Ports == nil {
		p.Ports = map[string]int{}
	}
	return p, err
}

// readJSON leaves to as it is where there is no file.
func readJSON(path string, to any) error {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, to); err != nil {
		return fmt.Errorf("%s cannot be read: %w; remove it", path, err)
	}
	return nil
}

func writeJSON(path string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return state.WriteFile(path, append(data, '\n'), 0o600)
}
