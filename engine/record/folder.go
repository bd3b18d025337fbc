package record

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/seer-engine/seer/engine/plainfile"
	"github.com/seer-engine/seer/engine/protocol/value"
	"github.com/seer-engine/seer/sdk"
)

const (
	// CallsName is the file of a record that has its calls.
	CallsName = "calls.jsonl"
	// ServicesName is the folder of a record that has a file NAME.json for each service.
	ServicesName = "services"

	bodiesName = "bodies"
)

// Folder is a record on disk.
type Folder struct{ dir string }

// Open opens a record that a run has made.
func Open(dir string) (*Folder, error) {
	info, err := os.Stat(filepath.Join(dir, CallsName))
	if err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a record of calls: it has no %s; a run makes one in the folder %s of its outputs: %w", dir, CallsName, Name, fs.ErrNotExist)
	}
	return &Folder{dir: dir}, nil
}

// Name is the folder of the record in the outputs of a run.
const Name = "record"

// Dir is where the record is.
func (f *Folder) Dir() string { return f.dir }

// open opens a plain file of the record, which may be a stranger's: a pipe would never end.
func (f *Folder) open(name string) (*os.File, error) {
	root, err := os.OpenRoot(f.dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	file, _, err := plainfile.Open(root, name)
	return file, err
}

// Entries reads the calls in the order in which they ended. A last line that is cut
// is not there: the program that wrote it was killed.
func (f *Folder) Entries() ([]Entry, error) {
	file, err := f.open(CallsName)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var all []Entry
	r := bufio.NewReaderSize(file, 256<<10)
	for n := 1; ; n++ {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		var e Entry
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("%s:%d: the line is not a call: %w", file.Name(), n, err)
		}
		all = append(all, e)
	}
}

// Services are the names of the services in the record.
func (f *Folder) Services() ([]string, error) {
	found, err := os.ReadDir(filepath.Join(f.dir, ServicesName))
	if err != nil {
		return nil, fmt.Errorf("the record %s tells nothing of its services: %w", f.dir, err)
	}
	var names []string
	for _, e := range found {
		if name, ok := strings.CutSuffix(e.Name(), ".json"); ok {
			names = append(names, name)
		}
	}
	return names, nil
}

// Interface describes a service as it was when the run began to use it, or served
// it again last.
func (f *Folder) Interface(service string) (sdk.Interface, error) {
	var face sdk.Interface
	file, err := f.open(filepath.Join(ServicesName, filepath.Base(service)+".json"))
	if errors.Is(err, fs.ErrNotExist) {
		return face, fmt.Errorf("the record %s has no service %q", f.dir, service)
	}
	if err != nil {
		return face, fmt.Errorf("read the service %s of the record %s: %w", service, f.dir, err)
	}
	defer file.Close()
	data, err := io.ReadAll(file)
	if err != nil {
		return face, err
	}
	if err := json.Unmarshal(data, &face); err != nil {
		return face, fmt.Errorf("the service %s in the record %s: %w", service, f.dir, err)
	}
	return face, nil
}

// Body reads a value by its hash.
func (f *Folder) Body(hash string) (value.Value, error) {
	file, err := f.openBody(hash)
	if err != nil {
		return value.Value{}, err
	}
	defer file.Close()
	data, err := io.ReadAll(file)
	if err != nil {
		return value.Value{}, fmt.Errorf("read a value of the record: %w", err)
	}
	return value.Parse(data, true, value.Limits{})
}

// openBody opens a value that is what its name says.
func (f *Folder) openBody(hash string) (*os.File, error) {
	name, err := bodyName(hash)
	if err != nil {
		return nil, err
	}
	file, err := f.open(name)
	if err != nil {
		return nil, fmt.Errorf("the record lacks a value: %w", err)
	}
	sum := sha256.New()
	_, err = io.Copy(sum, file)
	if err == nil && hex.EncodeToString(sum.Sum(nil)) != hash {
		err = fmt.Errorf("the value %s was changed since it was recorded; make the record again", file.Name())
	}
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// bodyName is the file of a value below the folder.
func bodyName(hash string) (string, error) {
	if len(hash) != 64 || strings.Trim(hash, "0123456789abcdef") != "" {
		return "", fmt.Errorf("%q is not the hash of a value", hash)
	}
	return filepath.Join(bodiesName, hash[:2], hash), nil
}
