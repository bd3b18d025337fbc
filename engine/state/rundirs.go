package state

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

const (
	relayPrefix  = "relay-"
	replayPrefix = "replay-"
	portMark     = "+" // between a sandbox and a port in the name of a folder
)

// RelayDir makes a private folder with a short path for the socket through which an agent
// of this computer reaches a sandbox elsewhere. Whoever made it removes it; after a crash,
// [Store.SweepRelays] does.
func (s *Store) RelayDir(sandbox string) (string, error) { return s.relay(sandbox) }

// PortRelayDir is [Store.RelayDir] for a socket that leads to a port of the sandbox.
func (s *Store) PortRelayDir(sandbox string, port int) (string, error) {
	return s.relay(sandbox + portMark + strconv.Itoa(port))
}

// PageDir makes a private folder for the file that leads a browser to a page of the
// sandbox. [Store.RemovePageDir] removes it, or else [Store.SweepRelays].
func (s *Store) PageDir(sandbox string) (string, error) { return s.relay(sandbox + portMark + "page") }

// RemovePageDir removes the folder of [Store.PageDir], if there is one.
func (s *Store) RemovePageDir(sandbox string) error {
	return os.RemoveAll(filepath.Join(s.runtimeDir, relayPrefix+sandbox+portMark+"page"))
}

func (s *Store) relay(name string) (string, error) {
	dir := filepath.Join(s.runtimeDir, relayPrefix+name)
	return dir, os.MkdirAll(dir, 0o700)
}

// ReplayDir makes a private folder with a short path for the socket of a record that this
// program replays. Whoever made it removes it; after a crash, [Store.SweepRelays] does.
func (s *Store) ReplayDir() (string, error) {
	if err := os.MkdirAll(s.runtimeDir, 0o700); err != nil {
		return "", err
	}
	return os.MkdirTemp(s.runtimeDir, replayPrefix+strconv.Itoa(os.Getpid())+"-")
}

// SweepRelays removes the folders of sandboxes that do not live any more, and of replays
// whose program is gone.
func (s *Store) SweepRelays(live func(sandbox string) bool) error {
	entries, err := os.ReadDir(s.runtimeDir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	errs := []error{err}
	for _, entry := range entries {
		rest, relay := strings.CutPrefix(entry.Name(), relayPrefix)
		id, _, _ := strings.Cut(rest, portMark)
		if relay && !live(id) || ofProgramGone(entry.Name(), replayPrefix) {
			errs = append(errs, os.RemoveAll(filepath.Join(s.runtimeDir, entry.Name())))
		}
	}
	return errors.Join(errs...)
}

// AgentDir makes a private folder on disk for what gVisor keeps of an agent that this
// program runs. Whoever made it removes it with [RemoveAll]; what programs that were killed
// have left is removed by the next call.
func (s *Store) AgentDir() (string, error) {
	top, err := s.Dir("agents")
	if err != nil {
		return "", err
	}
	entries, _ := os.ReadDir(top)
	for _, entry := range entries {
		if ofProgramGone(entry.Name(), "") {
			_ = RemoveAll(filepath.Join(top, entry.Name()))
		}
	}
	return os.MkdirTemp(top, strconv.Itoa(os.Getpid())+"-")
}

// ofProgramGone reports whether a name is the prefix with the number of a program that is gone.
func ofProgramGone(name, prefix string) bool {
	rest, ours := strings.CutPrefix(name, prefix)
	pid, _, _ := strings.Cut(rest, "-")
	n, err := strconv.Atoi(pid)
	return ours && err == nil && n > 0 && errors.Is(syscall.Kill(n, 0), syscall.ESRCH)
}
