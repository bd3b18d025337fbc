package notebook

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
)

const (
	// saveEvery bounds how often a notebook is written while it changes.
	saveEvery = 500 * time.Millisecond
	// mirrorWait is how long one request for a new version lasts.
	mirrorWait = 25 * time.Second
	// lastPatience is how long the last save may take.
	lastPatience = 15 * time.Second
	// owners is the folder in which is written whose each copy is.
	owners = ".seer"
)

// Mirror keeps a copy of a session's notebook in a folder of this computer: as Jupyter
// writes it, replaced as a whole, under the notebook's own file name. A file that is not a
// copy of the same notebook is left alone; the copy then has a number in its name.
// Nothing is written outside the folder, whatever links are there. It is safe for concurrent use.
type Mirror struct {
	client  *Client
	session string
	dir     string
	warn    func(string)

	mu      sync.Mutex
	name    string // of the copy; empty before the first save
	version Version
	settled Version // the last one that is known to be on the disk itself
	warned  string  // what was warned of last
}

// NewMirror makes a mirror; nothing is written yet. warn is told once of each fault
// that keeps the notebook from being saved, and when it is over; nil = nobody.
func NewMirror(c *Client, session, dir string, warn func(string)) *Mirror {
	if warn == nil {
		warn = func(string) {}
	}
	return &Mirror{client: c, session: session, dir: dir, warn: warn}
}

// Path is where the copy is; empty before the first save.
func (m *Mirror) Path() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.name == "" {
		return ""
	}
	return filepath.Join(m.dir, m.name)
}

// Run saves the notebook after every change, at most twice a second, until ctx ends,
// and then a last time; or until the session is gone. Cuts and a full disk are survived.
func (m *Mirror) Run(ctx context.Context) {
	b := newBackoff()
	for ctx.Err() == nil {
		err := m.follow(ctx)
		if protocol.CodeOf(err) == protocol.NotFound {
			return
		}
		if err != nil && ctx.Err() == nil {
			m.complain(err)
			_ = b.Wait(ctx) // its end is seen above
			continue
		}
		b.Reset()
	}
	last, stop := context.WithTimeout(context.WithoutCancel(ctx), lastPatience)
	defer stop()
	err := m.Save(last)
	if protocol.CodeOf(err) == protocol.NotFound {
		err = nil
	}
	if err = errors.Join(err, m.flush()); err != nil {
		m.complain(err)
	}
}

// follow waits for one change and saves it.
func (m *Mirror) follow(ctx context.Context) error {
	if err := m.flush(); err != nil {
		return err
	}
	saved, err := m.fetch(ctx, mirrorWait)
	if err != nil || !saved {
		return err
	}
	t := time.NewTimer(saveEvery)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
	return nil
}

// Save saves the notebook now, if it has changed. The copy is there then, under its name; that
// it is on the disk itself is Run's business, which nobody has to wait for.
func (m *Mirror) Save(ctx context.Context) error {
	_, err := m.fetch(ctx, 0)
	return err
}

// fetch asks for what follows the copy and replaces it. Whether there was anything is the first result.
func (m *Mirror) fetch(ctx context.Context, wait time.Duration) (bool, error) {
	for {
		m.mu.Lock()
		known := m.version
		m.mu.Unlock()
		data, v, err := m.client.Notebook(ctx, m.session, known, wait)
		if err != nil || data == nil {
			return false, err
		}
		if done, err := m.write(ctx, data, v, known); done || err != nil {
			return true, err
		}
	}
}

// write replaces the copy by what came when it was asked for what follows known. Not done where
// somebody else has replaced it since: what came then may be the older of the two.
func (m *Mirror) write(ctx context.Context, data []byte, v, known Version) (done bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.version != known {
		return m.version == v, nil
	}
	if err := os.MkdirAll(m.dir, 0o755); err != nil {
		return false, err
	}
	root, err := os.OpenRoot(m.dir)
	if err != nil {
		return false, err
	}
	defer root.Close()
	if m.name == "" || !owned(root, m.name) { // somebody may have emptied the folder
		s, err := m.client.Session(ctx, m.session)
		if err != nil {
			return false, err
		}
		name, err := claim(root, fileName(s), m.name, m.identity(s))
		if err != nil {
			return false, err
		}
		m.name = name
	}
	if err := replace(root, m.name, data); err != nil {
		return false, err
	}
	m.version = v
	if m.warned != "" {
		m.warned = ""
		m.warn("the notebook is saved again: " + filepath.Join(m.dir, m.name))
	}
	return true, nil
}

// flush waits until the copy is on the disk itself, so that it is there after a cut of the power, too.
func (m *Mirror) flush() error {
	m.mu.Lock()
	name, v, settled := m.name, m.version, m.settled
	m.mu.Unlock()
	if v == "" || v == settled {
		return nil
	}
	root, err := os.OpenRoot(m.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // somebody has taken it away
	}
	if err != nil {
		return err
	}
	defer root.Close()
	err = flush(root, name)
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case err == nil:
		m.settled = v
	case m.version == v:
		m.version = "" // it is written again
	}
	return err
}

// identity names the notebook among all: a copy of the sandbox has another token.
func (m *Mirror) identity(s Session) string {
	a := m.client.address
	sum := sha256.Sum256([]byte(a.Token + "\x00" + s.Path))
	return hex.EncodeToString(sum[:])
}

// complain tells of a fault once.
func (m *Mirror) complain(err error) {
	text := fmt.Sprintf("the notebook cannot be saved in %s: %v", m.dir, err)
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		text = fmt.Sprintf("the notebook cannot be saved in %s: no space is left; it stays in the sandbox and is tried again", m.dir)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.warned == "" {
		m.warned = text
		m.warn(text)
	}
}
