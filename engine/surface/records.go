package surface

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/seer-engine/seer/engine/state"
)

// Records remembers which files Seer has written into which folders of the user's, so that
// it replaces those and no others. The notes lie in a private folder: whoever can write to
// the user's folder, such as an agent, cannot claim a file of the user's for Seer.
type Records struct {
	Dir string // private; empty = nothing is remembered, so nothing is ever replaced
}

// Record is what Seer has written into one folder. It is locked until it is closed.
type Record struct {
	path  string // empty = it is not kept
	lock  *state.Lock
	known record
}

// record is the file.
type record struct {
	Folder string              `json:"folder"`
	Files  map[string][]string `json:"files"` // slash path → hex SHA-256 of each content that may be there
}

// Open reads the record of a folder, which must exist, and waits while another program
// writes into the same one.
func (r Records) Open(ctx context.Context, folder string) (*Record, error) {
	c := &Record{known: record{Folder: folder, Files: map[string][]string{}}}
	var err error
	if c.path, err = r.File(folder); err != nil || c.path == "" {
		return c, err
	}
	if c.lock, err = state.Acquire(ctx, c.path+".lock"); err != nil {
		return nil, fmt.Errorf("wait for another program that writes to %s: %w", folder, err)
	}
	data, err := os.ReadFile(c.path)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &c.known)
	}
	if err != nil {
		c.Close()
		return nil, fmt.Errorf("read the list of files that Seer wrote to %s: %w; if you remove the list, Seer replaces no existing file", folder, err)
	}
	if c.known.Files == nil {
		c.known.Files = map[string][]string{}
	}
	return c, nil
}

// File is where the notes of a folder are, whatever links lead to it; empty if nothing is
// remembered.
func (r Records) File(folder string) (string, error) {
	folder, err := filepath.Abs(folder)
	if err == nil {
		folder, err = filepath.EvalSymlinks(folder)
	}
	if err != nil || r.Dir == "" {
		return "", err
	}
	return filepath.Join(r.Dir, Sum([]byte(folder))+".json"), nil
}

// Close lets others write to the folder.
func (c *Record) Close() {
	if c.lock != nil {
		c.lock.Remove()
	}
}

// Sum is the SHA-256 by which a record knows a content.
func Sum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Wrote reports whether Seer wrote this content under this name.
func (c *Record) Wrote(name, sum string) bool { return slices.Contains(c.known.Files[name], sum) }

// Names are those of the files that Seer has written.
func (c *Record) Names() []string {
	names := make([]string, 0, len(c.known.Files))
	for name := range c.known.Files {
		names = append(names, name)
	}
	return names
}

// Note adds a content that is about to be written. It must be saved before that, so that
// a program that is killed meanwhile leaves no file that looks like the user's.
func (c *Record) Note(name, sum string) {
	if !c.Wrote(name, sum) {
		c.known.Files[name] = append(c.known.Files[name], sum)
	}
}

// Settle says that a content has been written, and that what was there before is gone.
func (c *Record) Settle(name, sum string) { c.known.Files[name] = []string{sum} }

// Forget says that a file is gone, or is somebody else's now.
func (c *Record) Forget(name string) { delete(c.known.Files, name) }

// Save writes the record.
func (c *Record) Save() error {
	if c.path == "" {
		return nil
	}
	if len(c.known.Files) == 0 {
		if err := os.Remove(c.path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	data, err := json.MarshalIndent(c.known, "", "  ")
	if err != nil {
		return err
	}
	return state.WriteFile(c.path, append(data, '\n'), 0o600)
}
