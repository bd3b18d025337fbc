// Package python holds the Python programs of Seer. The worker serves one interface file: it
// loads the file, describes the exposed functions and runs the calls. The runtime starts one worker
// for each service; docs/protocol.md, section 6, is their contract. A generated library makes its
// calls by the client.
package python

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Files is the program: [Main] and the package beside it. It is never written to.
//
//go:embed seer_worker_main.py seer_worker/*.py seer_worker/*/*.py
var Files embed.FS

// Main is the script that is started: python3 -I -u DIR/Main.
const Main = "seer_worker_main.py"

// Write puts the program into dir, which it makes, and returns the path of
// [Main] in it. The folder is readable by its owner alone.
func Write(dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("write the worker: %w", err)
	}
	err := fs.WalkDir(Files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := filepath.Join(dir, filepath.FromSlash(name))
		if d.IsDir() {
			return os.MkdirAll(target, 0o700)
		}
		data, err := Files.ReadFile(name)
		if err != nil {
			return err
		}
		return os.WriteFile(target, data, 0o600)
	})
	if err != nil {
		return "", fmt.Errorf("write the worker: %w", err)
	}
	return filepath.Join(dir, Main), nil
}
