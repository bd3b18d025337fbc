package record

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync"

	"github.com/seer-engine/seer/engine/plainfile"
	"github.com/seer-engine/seer/engine/protocol/value"
	"github.com/seer-engine/seer/sdk"
)

// inMemory is the largest body that is written in a form of its own. A larger one
// is kept as it came.
const inMemory = 256 << 20

// Writer makes a record. It is safe for concurrent use.
type Writer struct {
	folder Folder
	root   *os.Root // the same: nothing is written elsewhere, wherever links lead
	calls  *os.File
	mu     sync.Mutex
	count  int
}

// Create makes a record in the folder name of parent. One that is there is replaced.
// Somebody else may have filled parent: a link in it is never followed.
func Create(parent *os.Root, name string) (*Writer, error) { return create(parent, name, false) }

// create is Create; through, for tests, follows a link.
func create(parent *os.Root, name string, through bool) (*Writer, error) {
	w := &Writer{folder: Folder{dir: filepath.Join(parent.Name(), name)}}
	err := Replaceable(parent, name)
	if err == nil || through {
		err = parent.MkdirAll(name, 0o755)
	}
	if err == nil {
		w.root, err = parent.OpenRoot(name)
	}
	if through {
		w.root, err = os.OpenRoot(w.folder.dir)
	}
	if err != nil {
		return nil, err
	}
	if err := w.clear(); err != nil {
		w.root.Close()
		return nil, err
	}
	return w, nil
}

// clear replaces the record that is there.
func (w *Writer) clear() (err error) {
	for _, name := range []string{bodiesName, ServicesName, CallsName} { // the last is what makes it a record
		if err := w.root.RemoveAll(name); err != nil {
			return fmt.Errorf("replace the record: %w", err)
		}
	}
	for _, name := range []string{bodiesName, ServicesName} {
		if err := w.root.Mkdir(name, 0o755); err != nil {
			return fmt.Errorf("make the record: %w", err)
		}
	}
	if w.calls, err = w.root.OpenFile(CallsName, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644); err != nil {
		return fmt.Errorf("make the record: %w", err)
	}
	return nil
}

// Replaceable refuses what is not a record that may be replaced: a link or a file of that
// name, and a folder that has the names of ours and is not. Somebody else's is not deleted.
func Replaceable(parent *os.Root, name string) error {
	dir := filepath.Join(parent.Name(), name)
	info, err := parent.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is not a folder but a link or a file, and the record of calls is written there: move it, or choose another folder for the outputs", dir)
	}
	if _, err := parent.Lstat(path.Join(name, CallsName)); err == nil {
		return nil
	}
	for _, part := range []string{bodiesName, ServicesName} {
		found, err := fs.ReadDir(parent.FS(), path.Join(name, part))
		if err == nil && len(found) > 0 {
			return fmt.Errorf("%s is there, and the folder has no %s, so it is not a record that could be replaced: move it, or choose another folder for the outputs",
				filepath.Join(dir, part), CallsName)
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
	return plainfile.Write(w.root, path.Join(ServicesName, name+".json"), append(data, '\n'), 0o644)
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
func (w *Writer) Close() error { return errors.Join(w.calls.Close(), w.root.Close()) }

// body keeps a value and returns its hash. The reader holds exactly size bytes, or
// fails.
func (w *Writer) body(r io.Reader, size int64, tagged bool) (string, error) {
	parse := func(data []byte) (value.Value, error) { return value.Parse(data, tagged, value.Limits{}) }
	return w.value(r, size, parse, value.Value.WriteOrdered)
}

// arguments is body for what a call is given, which a replay finds by its hash: there the
// order of keys does not count.
func (w *Writer) arguments(r io.Reader, size int64, tagged bool) (string, error) {
	parse := func(data []byte) (value.Value, error) { return arguments(data, tagged) }
	return w.value(r, size, parse, value.Value.WriteCanonical)
}

func (w *Writer) value(r io.Reader, size int64, parse func([]byte) (value.Value, error), write func(value.Value, io.Writer) error) (string, error) {
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
	return w.keep(func(out io.Writer) error { return write(v, out) })
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
	name := path.Join(bodiesName, "new-"+rand.Text())
	tmp, err := w.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return "", err
	}
	defer func() { _ = w.root.Remove(name) }() // gone by then, where all went well
	defer tmp.Close()
	sum := sha256.New()
	if err := write(io.MultiWriter(tmp, sum)); err != nil {
		return "", err
	}
	if err := tmp.Close(); err != nil {
		return "", err
	}
	hash := hex.EncodeToString(sum.Sum(nil))
	body := path.Join(bodiesName, hash[:2], hash)
	if _, err := w.root.Lstat(body); err == nil {
		return hash, nil
	}
	if err := w.root.MkdirAll(path.Dir(body), 0o755); err != nil {
		return "", err
	}
	return hash, w.root.Rename(name, body)
}
