package main

import (
	"crypto/sha1"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ownCache gives the program caches of its own in one folder. Of those that tests share, it
// keeps what the plugins were compiled to.
func (p *program) ownCache() (home string) {
	p.t.Helper()
	home = p.t.TempDir()
	for i, v := range p.env {
		switch name, value, _ := strings.Cut(v, "="); name {
		case "XDG_CACHE_HOME":
			own := filepath.Join(home, "cache")
			if err := linkFolder(filepath.Join(value, "seer", "wasm"), filepath.Join(own, "seer", "wasm")); err != nil {
				p.t.Fatal(err)
			}
			p.env[i] = name + "=" + own
		case "HF_HOME":
			p.env[i] = name + "=" + filepath.Join(home, "hf")
		}
	}
	return home
}

// linkFolder makes a folder of hard links to the files of another one.
func linkFolder(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // nothing is compiled yet
			return nil
		}
		if err != nil {
			return err
		}
		at := filepath.Join(to, strings.TrimPrefix(path, from))
		if d.IsDir() {
			return os.MkdirAll(at, 0o700)
		}
		return os.Link(path, at)
	})
}

// blobNames is git's name of a content.
func blobNames(data []byte) string {
	return fmt.Sprintf("%x", sha1.Sum(append(fmt.Appendf(nil, "blob %d\x00", len(data)), data...)))
}
