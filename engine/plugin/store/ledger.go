package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/seer-engine/seer/engine/plugin/host/access"
	"github.com/seer-engine/seer/engine/remedy"
	"github.com/seer-engine/seer/engine/state"
)

const (
	ledgerVersion = 1
	maxLedger     = 64 << 20
)

// Grant is a yes to permissions of exactly one module.
type Grant struct {
	ID      string     `json:"id"`
	Digest  string     `json:"digest"` // of the .wasm
	Version string     `json:"version,omitempty"`
	Asked   access.Set `json:"asked"` // everything that its manifest asks for
	Lines   access.Set `json:"lines"` // what of that is granted
	By      string     `json:"by"`    // how it was said: terminal, hash, update …
	Time    time.Time  `json:"time"`
}

// FolderGrant is a yes to permissions of whatever is built in a folder.
type FolderGrant struct {
	Dir   string     `json:"dir"` // absolute, without links
	ID    string     `json:"id"`
	Asked access.Set `json:"asked"`
	Lines access.Set `json:"lines"`
	By    string     `json:"by"`
	Time  time.Time  `json:"time"`
}

// Signer is who signed the first version of a plugin, and must sign all.
type Signer struct {
	Fingerprint string    `json:"fingerprint"` // SHA256:…
	Time        time.Time `json:"time"`
}

// ledger is grants.json: everything that was decided, in one file, so that a decision
// of several parts is made at once.
type ledger struct {
	Version int               `json:"version"`
	Active  map[string]string `json:"active,omitempty"`  // id → digest of the bundle
	Pending map[string]string `json:"pending,omitempty"` // id → digest of a bundle that waits for a grant
	Grants  []Grant           `json:"grants,omitempty"`
	Folders []FolderGrant     `json:"folders,omitempty"`
	Signers map[string]Signer `json:"signers,omitempty"`
}

// read gives what holds. A file that cannot be understood is an error: reading it as
// empty would forget who signed what, and the next change would make that last.
func (s *Store) read() (*ledger, error) {
	path := s.GrantsFile()
	data, err := readPrivate(path)
	if missing(err) {
		return emptyLedger(), nil
	}
	if err != nil {
		return nil, fmt.Errorf("the grants of plugins cannot be read: %w", err)
	}
	l, err := parseLedger(data)
	if err != nil {
		return nil, remedy.For(fmt.Errorf("the grants of plugins cannot be read: %s:%w; repair the file, or remove it and grant again", path, err),
			remedy.Remedy{Action: remedy.GrantPlugin})
	}
	return l, nil
}

func emptyLedger() *ledger {
	return &ledger{Version: ledgerVersion, Active: map[string]string{}, Pending: map[string]string{}, Signers: map[string]Signer{}}
}

// update changes what holds, as a whole and while nobody else does; then follows under the same
// lock. Who looks up a bundle does so in change: before it, somebody else may remove the bundle.
func (s *Store) update(ctx context.Context, change func(*ledger) error, then ...func() error) error {
	return s.locked(ctx, func() error {
		l, err := s.read()
		if err != nil {
			return err
		}
		if err := change(l); err != nil {
			return err
		}
		if err := l.check(); err != nil {
			return fmt.Errorf("grants of plugins: %w", err)
		}
		data, err := json.MarshalIndent(l, "", "  ")
		if err != nil {
			return err
		}
		if err := s.step("grants"); err != nil {
			return err
		}
		if err := state.WriteFile(s.GrantsFile(), append(data, '\n'), 0o600); err != nil {
			return err
		}
		for _, do := range then {
			if err := do(); err != nil {
				return err
			}
		}
		return nil
	})
}

// parseLedger is strict: a key that is not understood may be a limit that is meant to hold.
func parseLedger(data []byte) (*ledger, error) {
	l := emptyLedger()
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(l); err != nil {
		return nil, fmt.Errorf("%d: %w", lineOf(data, dec.InputOffset(), err), err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%d: there is more after the end", lineOf(data, dec.InputOffset(), nil))
	}
	if l.Version != ledgerVersion {
		return nil, fmt.Errorf("1: it has version %d, and this program knows version %d", l.Version, ledgerVersion)
	}
	if err := l.check(); err != nil {
		return nil, fmt.Errorf("1: %w", err)
	}
	return l, nil
}

// lineOf finds where the decoder stopped.
func lineOf(data []byte, offset int64, err error) int {
	var syntax *json.SyntaxError
	var typed *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		offset = syntax.Offset
	case errors.As(err, &typed):
		offset = typed.Offset
	}
	return 1 + bytes.Count(data[:min(max(offset, 0), int64(len(data)))], []byte("\n"))
}

// check makes sure that all of it says something.
func (l *ledger) check() error {
	for name, m := range map[string]map[string]string{"active": l.Active, "pending": l.Pending} {
		for id, digest := range m {
			if !idPattern().MatchString(id) || !digestPattern().MatchString(digest) {
				return fmt.Errorf("%s: %q: %q is not a plugin and its digest", name, id, digest)
			}
		}
	}
	for i, g := range l.Grants {
		if !idPattern().MatchString(g.ID) || !digestPattern().MatchString(g.Digest) {
			return fmt.Errorf("grants.%d: %q, %q is not a plugin and its digest", i, g.ID, g.Digest)
		}
		if err := checkLines(g.Asked, g.Lines); err != nil {
			return fmt.Errorf("grants.%d: %w", i, err)
		}
	}
	for i, f := range l.Folders {
		if !idPattern().MatchString(f.ID) || !filepath.IsAbs(f.Dir) || filepath.Clean(f.Dir) != f.Dir {
			return fmt.Errorf("folders.%d: %q, %q is not a plugin and its folder", i, f.ID, f.Dir)
		}
		if err := checkLines(f.Asked, f.Lines); err != nil {
			return fmt.Errorf("folders.%d: %w", i, err)
		}
	}
	for id, signer := range l.Signers {
		if !idPattern().MatchString(id) || !fingerprintPattern().MatchString(signer.Fingerprint) {
			return fmt.Errorf("signers: %q: %q is not a plugin and the fingerprint of a key", id, signer.Fingerprint)
		}
	}
	return nil
}

func checkLines(asked, granted access.Set) error {
	for _, set := range []access.Set{asked, granted} {
		if !slices.IsSorted(set) || len(slices.Compact(slices.Clone(set))) != len(set) {
			return errors.New("the permissions are not sorted, each once")
		}
	}
	if more := granted.Without(asked); len(more) > 0 {
		return fmt.Errorf("%q is granted though it is not asked for", more[0])
	}
	return nil
}

// readPrivate reads a file that nobody else may have written.
func readPrivate(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if err := ownFile(path, info); err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(f, maxLedger))
}

// readPlain reads a file that anybody may have written: neither a pipe nor a device.
func readPlain(path string, most int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a plain file; remove it", path)
	}
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(f, most+1))
}

// ownFile refuses what is not a plain file of this user that only he can change.
func ownFile(path string, info os.FileInfo) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a plain file; remove it", path)
	case !ok || int(st.Uid) != os.Geteuid():
		return fmt.Errorf("%s belongs to somebody else; check what is in it, and remove it", path)
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("%s has mode %04o, so that others may have written it; check what is in it, then `chmod 600 %[1]s`", path, info.Mode().Perm())
	}
	return nil
}
