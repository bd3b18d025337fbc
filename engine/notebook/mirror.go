package notebook

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"

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
	warned  string // what was warned of last
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
	var p pause
	for ctx.Err() == nil {
		err := m.follow(ctx)
		if protocol.CodeOf(err) == protocol.NotFound {
			return
		}
		if err != nil && ctx.Err() == nil {
			m.complain(err)
			_ = p.wait(ctx) // its end is seen above
			continue
		}
		p = 0
	}
	last, stop := context.WithTimeout(context.WithoutCancel(ctx), lastPatience)
	defer stop()
	if err := m.Save(last); err != nil && protocol.CodeOf(err) != protocol.NotFound {
		m.complain(err)
	}
}

// follow waits for one change and saves it.
func (m *Mirror) follow(ctx context.Context) error {
	m.mu.Lock()
	known := m.version
	m.mu.Unlock()
	data, v, err := m.client.Notebook(ctx, m.session, known, mirrorWait)
	if err != nil || data == nil {
		return err
	}
	if err := m.write(ctx, data, v); err != nil {
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

// Save saves the notebook now, if it has changed.
func (m *Mirror) Save(ctx context.Context) error {
	m.mu.Lock()
	known := m.version
	m.mu.Unlock()
	data, v, err := m.client.Notebook(ctx, m.session, known, 0)
	if err != nil || data == nil {
		return err
	}
	return m.write(ctx, data, v)
}

func (m *Mirror) write(ctx context.Context, data []byte, v Version) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := os.MkdirAll(m.dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(m.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if m.name == "" {
		s, err := m.client.Session(ctx, m.session)
		if err != nil {
			return err
		}
		if m.name, err = claim(root, fileName(s), m.identity(s)); err != nil {
			return err
		}
	}
	if err := replace(root, m.name, data); err != nil {
		return err
	}
	m.version = v
	if m.warned != "" {
		m.warned = ""
		m.warn("the notebook is saved again: " + filepath.Join(m.dir, m.name))
	}
	return nil
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

// fileName is the notebook's own name, made safe.
func fileName(s Session) string {
	name := path.Base(path.Clean("/" + strings.ReplaceAll(s.Path, "\\", "/")))
	name = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || strings.ContainsRune(`<>:"|?*`, r) {
			return '_'
		}
		return r
	}, name)
	name = strings.TrimLeft(name, ".")
	if stem := strings.TrimSuffix(name, ".ipynb"); stem == "" || stem == "/" || stem == name {
		name = strings.Trim(name, "/") + ".ipynb"
	}
	const most = 200
	if len(name) > most {
		name = strings.ToValidUTF8(name[:most-len(".ipynb")], "") + ".ipynb"
	}
	if name == ".ipynb" {
		return "notebook.ipynb"
	}
	return name
}

// maxNames is how many names are tried.
const maxNames = 1000

// claim finds the name of a copy: the one that it has already, or the first that nobody
// has.
func claim(root *os.Root, name, identity string) (string, error) {
	if err := root.Mkdir(owners, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	stem := strings.TrimSuffix(name, ".ipynb")
	for n := 1; n <= maxNames; n++ {
		if n > 1 {
			name = fmt.Sprintf("%s_%d.ipynb", stem, n)
		}
		owner := path.Join(owners, name)
		if data, err := root.ReadFile(owner); err == nil {
			if string(data) == identity {
				return name, nil
			}
			continue
		}
		if _, err := root.Lstat(name); err == nil {
			continue // somebody's own file
		}
		switch err := create(root, owner, []byte(identity)); {
		case err == nil:
			return name, nil
		case !errors.Is(err, fs.ErrExist):
			return "", err
		}
		n-- // somebody was faster: look whose it is now
	}
	return "", fmt.Errorf("%s has a thousand notebooks of the name %s", root.Name(), name)
}

// create writes a file that must not exist, as a whole.
func create(root *os.Root, name string, data []byte) error {
	tmp, err := temporary(root, data)
	if err != nil {
		return err
	}
	err = root.Link(tmp, name)
	_ = root.Remove(tmp) // it is another name of the same file
	return err
}

// replace writes a file as a whole: a reader sees the old content or the new one. A link
// of that name is replaced and not followed.
func replace(root *os.Root, name string, data []byte) error {
	tmp, err := temporary(root, data)
	if err != nil {
		return err
	}
	if err := root.Rename(tmp, name); err != nil {
		_ = root.Remove(tmp) // the first error is the one to tell
		return err
	}
	return nil
}

// temporary writes a new file and returns its name.
func temporary(root *os.Root, data []byte) (string, error) {
	name := path.Join(owners, "."+NewKey()+".tmp")
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		_ = root.Remove(name)
		return "", err
	}
	return name, nil
}
