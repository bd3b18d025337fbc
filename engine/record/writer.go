package record

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/seer-engine/seer/engine/protocol/value"
	"github.com/seer-engine/seer/sdk"
)

// inMemory is the largest body that is brought into its canonical form. A larger one
// is kept as it came.
const inMemory = 256 << 20

// Writer makes a record. It is safe for concurrent use.
type Writer struct {
	folder Folder
	calls  *os.File
	mu     sync.Mutex
	count  int
}

// Create makes a record in dir. One that is there is replaced.
func Create(dir string) (*Writer, error) {
	if err := mayReplace(dir); err != nil {
		return nil, err
	}
	for _, name := range []string{bodiesName, servicesName, callsName} { // the last is what makes it a record
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			return nil, fmt.Errorf("replace the record: %w", err)
		}
	}
	for _, name := range []string{bodiesName, servicesName} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			return nil, fmt.Errorf("make the record: %w", err)
		}
	}
	calls, err := os.Create(filepath.Join(dir, callsName))
	if err != nil {
		return nil, fmt.Errorf("make the record: %w", err)
	}
	return &Writer{folder: Folder{dir: dir}, calls: calls}, nil
}

// mayReplace refuses folders that have the names of ours and are not: somebody else's
// are not deleted.
func mayReplace(dir string) error {
	if _, err := os.Lstat(filepath.Join(dir, callsName)); err == nil {
		return nil
	}
	for _, name := range []string{bodiesName, servicesName} {
		if found, err := os.ReadDir(filepath.Join(dir, name)); err == nil && len(found) > 0 {
			return fmt.Errorf("%s is there, and the folder has no %s, so it is no record that could be replaced: move it, or choose another folder for the outputs",
				filepath.Join(dir, name), callsName)
		}
	}
	return nil
}

// Service notes what a service offers. A later one of the same name replaces it.
func (w *Writer) Service(name string, face sdk.Interface) error {
	data, err := json.MarshalIndent(face, "", "  ")
	if err != nil {
		return err
	}
	path := filepath.Join(w.folder.dir, servicesName, name+".json")
	if err := os.WriteFile(path+".seer-tmp", append(data, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(path+".seer-tmp", path)
}

// add appends a call, in one write.
func (w *Writer) add(e Entry) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count++
	_, err = w.calls.Write(append(line, '\n'))
	return err
}

// Calls is how many calls have been written.
func (w *Writer) Calls() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.count
}

// Close ends the record.
func (w *Writer) Close() error { return w.calls.Close() }

// body keeps a value and returns its hash. The reader holds exactly size bytes, or
// fails.
func (w *Writer) body(r io.Reader, size int64, tagged bool) (string, error) {
	return w.value(r, size, func(data []byte) (value.Value, error) { return value.Parse(data, tagged, value.Limits{}) })
}

// arguments is body for what a call is given.
func (w *Writer) arguments(r io.Reader, size int64, tagged bool) (string, error) {
	return w.value(r, size, func(data []byte) (value.Value, error) { return arguments(data, tagged) })
}

func (w *Writer) value(r io.Reader, size int64, parse func([]byte) (value.Value, error)) (string, error) {
	if size > inMemory {
		return w.keep(func(out io.Writer) error {
			n, err := io.Copy(out, r)
			if err == nil && n < size {
				err = io.ErrUnexpectedEOF
			}
			return err
		})
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(r, data); err != nil {
		return "", err
	}
	v, err := parse(data)
	if err != nil { // kept as it is: a record tells what was, not what should have been
		return w.keep(func(out io.Writer) error { _, err := out.Write(data); return err })
	}
	return w.keep(v.WriteCanonical)
}

// text keeps JSON that a program of ours has made.
func (w *Writer) text(v any) (string, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	return w.body(bytes.NewReader(data), int64(len(data)), false)
}

// keep writes a body under the name that its bytes give it, once.
func (w *Writer) keep(write func(io.Writer) error) (string, error) {
	tmp, err := os.CreateTemp(filepath.Join(w.folder.dir, bodiesName), "new-*")
	if err != nil {
		return "", err
	}
	defer os.Remove(tmp.Name()) // gone by then, where all went well
	defer tmp.Close()
	sum := sha256.New()
	if err := write(io.MultiWriter(tmp, sum)); err != nil {
		return "", err
	}
	if err := tmp.Close(); err != nil {
		return "", err
	}
	hash := hex.EncodeToString(sum.Sum(nil))
	path, err := w.folder.bodyPath(hash)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(path); err == nil {
		return hash, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	if err := os.Chmod(tmp.Name(), 0o644); err != nil {
		return "", err
	}
	return hash, os.Rename(tmp.Name(), path)
}
