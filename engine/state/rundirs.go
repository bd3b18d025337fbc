package state

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	relayPrefix  = "relay-"
	replayPrefix = "replay-"
	portMark     = "+"      // between a sandbox and a port in the name of a folder
	storeLink    = ".state" // in the folder of a relay: leads to the state folder of its store
)

// RunDirs makes the private folders that runs need while they last.
type RunDirs struct{ store *Store }

// RunDirs are those of the store.
func (s *Store) RunDirs() RunDirs { return RunDirs{s} }

// Relay makes a folder with a short path for the socket through which an agent of this
// computer reaches a sandbox elsewhere. Whoever made it removes it; after a crash,
// [Store.SweepRelays] does, once the sandbox has ended.
func (d RunDirs) Relay(sandbox string) (string, error) { return d.store.relay(sandbox) }

// PortRelay is [RunDirs.Relay] for a socket that leads to a port of the sandbox.
func (d RunDirs) PortRelay(sandbox string, port int) (string, error) {
	return d.store.relay(sandbox + portMark + strconv.Itoa(port))
}

// Page makes a folder for the file that leads a browser to a page of the sandbox.
// [Store.RemovePageDir] removes it, or else [Store.SweepRelays], once the sandbox has ended.
func (d RunDirs) Page(sandbox string) (string, error) {
	return d.store.relay(sandbox + portMark + "page")
}

// RemovePageDir removes the folder of [RunDirs.Page], if there is one.
func (s *Store) RemovePageDir(sandbox string) error {
	return os.RemoveAll(filepath.Join(s.runtimeDir, relayPrefix+sandbox+portMark+"page"))
}

func (s *Store) relay(name string) (string, error) {
	dir := filepath.Join(s.runtimeDir, relayPrefix+name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	if err := os.Symlink(s.stateDir, filepath.Join(dir, storeLink)); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	return dir, nil
}

// Replay makes a folder with a short path for the socket of a record that this program
// replays. Whoever made it removes it; after a crash, [Store.SweepRelays] does.
func (d RunDirs) Replay() (string, error) {
	if err := os.MkdirAll(d.store.runtimeDir, 0o700); err != nil {
		return "", err
	}
	return os.MkdirTemp(d.store.runtimeDir, replayPrefix+strconv.Itoa(os.Getpid())+"-")
}

// SweepRelays removes the folders of sandboxes that do not live any more, and of replays
// whose program is gone. Stores share the folder that these are in: sandboxes of another store stay,
// unless its state folder is gone.
func (s *Store) SweepRelays(live func(sandbox string) bool) error {
	entries, err := os.ReadDir(s.runtimeDir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	errs := []error{err}
	for _, entry := range entries {
		rest, relay := strings.CutPrefix(entry.Name(), relayPrefix)
		id, _, _ := strings.Cut(rest, portMark)
		if relay && !live(id) && s.mayRemove(filepath.Join(s.runtimeDir, entry.Name())) || ofProgramGone(entry.Name(), replayPrefix) {
			errs = append(errs, os.RemoveAll(filepath.Join(s.runtimeDir, entry.Name())))
		}
	}
	return errors.Join(errs...)
}

// mayRemove reports whether a relay is of this store, or of one that is gone.
func (s *Store) mayRemove(relay string) bool {
	owner, err := os.Readlink(filepath.Join(relay, storeLink))
	if err != nil { // it is being made, or an earlier version has made it
		info, err := os.Stat(relay)
		return err == nil && time.Since(info.ModTime()) > abandoned
	}
	_, err = os.Stat(owner)
	return owner == s.stateDir || errors.Is(err, fs.ErrNotExist)
}

// Agent makes a folder on disk for what belongs to an agent that this program runs: its home, or
// what gVisor keeps of it. Whoever made it removes it with [RunDirs.RemoveAgent]; what programs
// that were killed have left is removed by the next call, or by [Store.SweepAgents].
func (d RunDirs) Agent() (string, error) {
	top, err := d.store.Dir("agents")
	if err != nil {
		return "", err
	}
	_ = d.store.SweepAgents() // what stays is for the next sweep
	dir := filepath.Join(top, strconv.Itoa(os.Getpid())+"-"+rand.Text()[:10])
	lock, err := Acquire(context.Background(), agentLock(dir))
	if err != nil {
		return "", err
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		lock.Remove()
		return "", err
	}
	d.store.agents.Store(dir, lock)
	return dir, nil
}

// agentLock is the file that a program has locked as long as it uses the folder of an agent. The number
// of the program alone does not tell: on another computer that has the same files, or in another
// namespace, it means another program.
func agentLock(dir string) string {
	return filepath.Join(filepath.Dir(dir), "."+filepath.Base(dir)+lockSuffix)
}

const lockSuffix = ".lock"

// SweepAgents removes the folders of [RunDirs.Agent] whose program is gone.
func (s *Store) SweepAgents() error {
	top := filepath.Join(s.stateDir, "agents")
	entries, err := os.ReadDir(top)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	errs := []error{err}
	for _, entry := range entries {
		name := strings.TrimSuffix(strings.TrimPrefix(entry.Name(), "."), lockSuffix)
		errs = append(errs, sweepAgent(filepath.Join(top, name)))
	}
	return errors.Join(errs...)
}

func sweepAgent(dir string) error {
	if _, err := os.Lstat(agentLock(dir)); errors.Is(err, fs.ErrNotExist) { // of an earlier version
		if !ofProgramGone(filepath.Base(dir), "") {
			return nil
		}
		return RemoveAll(dir)
	}
	lock, held, err := TryAcquire(agentLock(dir))
	if held || err != nil {
		return err
	}
	return removeAgent(dir, lock)
}

// removeAgent leaves the lock's file with a folder that cannot be removed, for the next sweep.
func removeAgent(dir string, lock *Lock) error {
	if err := RemoveAll(dir); err != nil {
		lock.Release()
		return err
	}
	lock.Remove()
	return nil
}

// RemoveAgent removes a folder of [RunDirs.Agent].
func (d RunDirs) RemoveAgent(dir string) error {
	lock, ok := d.store.agents.LoadAndDelete(dir)
	if !ok {
		return RemoveAll(dir)
	}
	return removeAgent(dir, lock.(*Lock))
}

// StateDir is the folder that the state of the engine is in.
func (d RunDirs) StateDir() string { return d.store.StateDir() }

// ofProgramGone reports whether a name is the prefix with the number of a program that is gone.
func ofProgramGone(name, prefix string) bool {
	rest, ours := strings.CutPrefix(name, prefix)
	pid, _, _ := strings.Cut(rest, "-")
	n, err := strconv.Atoi(pid)
	return ours && err == nil && n > 0 && errors.Is(syscall.Kill(n, 0), syscall.ESRCH)
}
