package engine

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

const relayPrefix = "relay-"

// RelayDir makes a private folder with a short path for the socket through which an
// agent of this computer reaches a sandbox elsewhere. Whoever made it removes it;
// after a crash, [Engine.GC] does, once the sandbox has ended.
func (e *Engine) RelayDir(sandbox string) (string, error) {
	dir := filepath.Join(e.store.RuntimeDir(), relayPrefix+sandbox)
	return dir, as(KindInternal, os.MkdirAll(dir, 0o700))
}

// sweepRelays removes what the runs of ended sandboxes have left.
func (e *Engine) sweepRelays() error {
	entries, err := os.ReadDir(e.store.RuntimeDir())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	errs := []error{err}
	for _, entry := range entries {
		id, ours := strings.CutPrefix(entry.Name(), relayPrefix)
		if !ours {
			continue
		}
		if r, err := e.ledger.Get(id); err == nil && r.Live() {
			continue
		}
		errs = append(errs, os.RemoveAll(filepath.Join(e.store.RuntimeDir(), entry.Name())))
	}
	return errors.Join(errs...)
}
