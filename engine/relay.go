package engine

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
)

// RelayDir makes a private folder with a short path for the socket through which an
// agent of this computer reaches a sandbox elsewhere. Whoever made it removes it;
// after a crash, [Engine.GC] does, once the sandbox has ended.
func (e *Engine) RelayDir(sandbox string) (string, error) {
	dir := filepath.Join(e.store.RuntimeDir(), relayPrefix+sandbox)
	return dir, as(KindInternal, os.MkdirAll(dir, 0o700))
}

// PortRelayDir is [Engine.RelayDir] for a socket that leads to a port of the sandbox.
func (e *Engine) PortRelayDir(sandbox string, port int) (string, error) {
	dir := filepath.Join(e.store.RuntimeDir(), relayPrefix+sandbox+portMark+strconv.Itoa(port))
	return dir, as(KindInternal, os.MkdirAll(dir, 0o700))
}

// PageDir is a private folder for the file that leads a browser to a page of the sandbox.
// [Sandbox.Terminate] removes it, or else [Engine.GC] once the sandbox has ended.
func (e *Engine) PageDir(sandbox string) (string, error) {
	dir := e.pageDir(sandbox)
	return dir, as(KindInternal, os.MkdirAll(dir, 0o700))
}

func (e *Engine) pageDir(sandbox string) string {
	return filepath.Join(e.store.RuntimeDir(), relayPrefix+sandbox+portMark+"page")
}

// portMark is between a sandbox and a port in the name of a folder.
const portMark = "+"

// ReplayDir makes a private folder with a short path for the socket of a record that
// this program replays. Whoever made it removes it; after a crash, [Engine.GC] does.
func (e *Engine) ReplayDir() (string, error) {
	if err := os.MkdirAll(e.store.RuntimeDir(), 0o700); err != nil {
		return "", as(KindInternal, err)
	}
	dir, err := os.MkdirTemp(e.store.RuntimeDir(), replayPrefix+strconv.Itoa(os.Getpid())+"-")
	return dir, as(KindInternal, err)
}

// sweepRelays removes what the runs of ended sandboxes have left.
func (e *Engine) sweepRelays() error {
	entries, err := os.ReadDir(e.store.RuntimeDir())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	errs := []error{err}
	for _, entry := range entries {
		if abandoned(entry.Name()) {
			errs = append(errs, os.RemoveAll(filepath.Join(e.store.RuntimeDir(), entry.Name())))
			continue
		}
		id, ours := strings.CutPrefix(entry.Name(), relayPrefix)
		if !ours {
			continue
		}
		id, _, _ = strings.Cut(id, portMark)
		if r, err := e.ledger.Get(id); err == nil && r.Live() {
			continue
		}
		errs = append(errs, os.RemoveAll(filepath.Join(e.store.RuntimeDir(), entry.Name())))
	}
	return errors.Join(errs...)
}

// abandoned tells the folder of a replay whose program is gone.
func abandoned(name string) bool {
	rest, ours := strings.CutPrefix(name, replayPrefix)
	pid, _, _ := strings.Cut(rest, "-")
	n, err := strconv.Atoi(pid)
	return ours && err == nil && n > 0 && errors.Is(syscall.Kill(n, 0), syscall.ESRCH)
}
