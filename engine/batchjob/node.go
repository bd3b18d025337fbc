package batchjob

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/sshhost"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/sdk"
)

// node is the folder of a job on the disk of its computer. Who holds its lock uses it.
type node struct {
	dir     string
	program string // this one
	lock    *state.Lock
	guard   io.Closer // that it is open says that this program lives
}

// NodeDirVariable names another folder for what a job has on its computer. It is made, must be
// private and on a disk of the computer, and its path short.
const NodeDirVariable = "SEER_NODE_DIR"

// openNode makes the folder, and removes those that killed jobs of this user have left.
func openNode(ctx context.Context, getenv func(string) string) (*node, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir := getenv(NodeDirVariable)
	if dir == "" {
		base := getenv("TMPDIR")
		if far, err := sshhost.NetworkDisk(base); base == "" || err != nil || far {
			base = "/tmp"
		}
		prefix := filepath.Join(base, fmt.Sprintf("seer-%d-", os.Geteuid()))
		dir = prefix + "job" + getenv("SLURM_JOB_ID")
		old, _ := filepath.Glob(prefix + "job*") // no pattern is bad but for a strange TMPDIR
		for _, one := range old {
			if one != dir && young(one) {
				continue
			}
			if err := end(ctx, program, one); err != nil && one == dir {
				return nil, err
			}
		}
	}
	if far, err := sshhost.NetworkDisk(filepath.Dir(dir)); err != nil {
		return nil, err
	} else if far {
		return nil, sdk.Errorf(sdk.Unsupported, "the folder %s is on a file system of the network, where sockets and locks do not work; name one on the computer's own disk in %s", dir, NodeDirVariable)
	}
	if err := state.Private(dir); err != nil {
		return nil, err
	}
	lock, held, err := state.TryAcquire(lockOf(dir))
	if err != nil {
		return nil, err
	}
	if held {
		return nil, sdk.Errorf(sdk.Invalid, "the folder %s is in use by another job", dir)
	}
	n := &node{dir: dir, program: program, lock: lock}
	for _, name := range []string{"machines", "r"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// young reports that a folder was made just now: its job may be about to lock it.
func young(dir string) bool {
	info, err := os.Lstat(dir)
	return err != nil || time.Since(info.ModTime()) < 30*time.Second
}

func lockOf(dir string) string { return filepath.Join(dir, "lock") }

// keep writes down whose machine is here, and starts what ends it should this program be killed.
func (n *node) keep(dir string, spec *sdk.MachineSpec) error {
	data, err := json.Marshal(sdk.ListInput{Owner: spec.Owner})
	if err == nil {
		err = state.WriteFile(filepath.Join(n.dir, "owner"), data, 0o600)
	}
	if err != nil {
		return err
	}
	out, in, err := os.Pipe()
	if err != nil {
		return err
	}
	defer out.Close()
	cmd := exec.Command(n.program, "job", guardArg, dir, n.dir)
	cmd.Stdin, cmd.Dir, cmd.Env = out, "/", append(os.Environ(), guardVariable+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Run(); err != nil {
		_ = in.Close()
		return fmt.Errorf("start what ends the machine should the job be killed: %w", err)
	}
	n.guard = in
	return nil
}

// clean ends what is left of the job and removes its folder.
func (n *node) clean() error {
	err := finish(context.Background(), n.program, n.dir, n.lock)
	if n.guard != nil {
		_ = n.guard.Close() // it finds nothing
	}
	return err
}

// guardVariable is set for the first of the two programs of a guard: the second has no parent in
// the job, so that what ends the job by its tree of processes does not end it.
const guardVariable = "SEER_JOB_GUARD"

// guard ends the machine of a job whose program was killed.
func guard(dir, nodeDir string, stdin io.ReadCloser) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	if os.Getenv(guardVariable) != "" {
		cmd := exec.Command(program, "job", guardArg, dir, nodeDir)
		cmd.Stdin, cmd.Dir = os.Stdin, "/"
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		return cmd.Start()
	}
	_, _ = io.Copy(io.Discard, stdin) // until the other end is gone
	if _, err := os.Lstat(nodeDir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := endKilled(program, nodeDir); err != nil {
		return err
	}
	var last sdk.Observation
	data, err := os.ReadFile(filepath.Join(dir, StateName))
	if err != nil || json.Unmarshal(data, &last) != nil || !last.State.Live() {
		return nil
	}
	return write(dir, sdk.Observation{State: sdk.Failed, Code: sdk.Unavailable, Message: "the job was killed"})
}

// end removes the folder of a job that does not run any more, with what it has left.
func end(ctx context.Context, program, dir string) error {
	if err := state.Private(dir); err != nil {
		return err
	}
	lock, held, err := state.TryAcquire(lockOf(dir))
	if err != nil || held {
		return err
	}
	return finish(ctx, program, dir, lock)
}

// dying is how long the lock of a killed program may still be held: the system closes its files one
// after the other.
const dying = 30 * time.Second

// endKilled is end for a folder whose program has just been killed.
func endKilled(program, dir string) error {
	if err := state.Private(dir); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), dying)
	defer cancel()
	lock, err := state.Acquire(ctx, lockOf(dir))
	if err != nil {
		return err
	}
	return finish(context.Background(), program, dir, lock)
}

// finish ends what is left in a folder, and removes it.
func finish(ctx context.Context, program, dir string, lock *state.Lock) error {
	err := remove(ctx, program, dir)
	lock.Remove()
	return errors.Join(err, gone(dir))
}

// remove ends the machines of a folder.
func remove(ctx context.Context, program, dir string) error {
	var owner sdk.ListInput
	data, err := os.ReadFile(filepath.Join(dir, "owner"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(data, &owner)
	}
	if err != nil {
		return err
	}
	n := node{dir: dir, program: program}
	p := n.provider(isolation.GPUs, os.Getenv)
	machines, err := p.List(ctx, owner.Owner)
	for _, m := range machines {
		err = errors.Join(err, p.Terminate(ctx, m.Handle))
	}
	return err
}

// gone removes the folder. The watchdog of the machines, which ends with them, may still be about
// to remove a lock of its own.
func gone(dir string) error {
	for i := 0; ; i++ {
		err := state.RemoveAll(dir)
		if err == nil || i == 20 {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
}
