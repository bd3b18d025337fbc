package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/plainfile"
	"github.com/seer-engine/seer/engine/record"
)

// results is the folder on this computer that a run writes its results to. The user has
// confirmed its own path at most: it may have come with a stranger's experiment, so
// nothing is written through what is in it.
type results struct {
	root    *os.Root
	through bool // for tests: a link is followed
}

// openResults makes the folder of the results and writes to it for a trial, before
// anything is rented for results that would have no place.
func openResults(dir string, through bool) (*results, error) {
	err := os.MkdirAll(dir, 0o755)
	if err == nil {
		err = try(dir)
	}
	var root *os.Root
	if err == nil {
		root, err = os.OpenRoot(dir)
	}
	if err != nil {
		return nil, unwritable("the folder of the results", "outputs", dir, err)
	}
	r := &results{root: root, through: through}
	if err := r.replaceable(); err != nil {
		root.Close()
		return nil, &engine.Error{Kind: engine.KindConfig, Err: err}
	}
	return r, nil
}

// replaceable refuses what cannot give way to Seer's own files.
func (r *results) replaceable() error {
	var errs []error
	for _, name := range []string{agentLog, recordName, manifestsName} {
		if info, err := r.root.Lstat(name); err == nil && info.IsDir() {
			errs = append(errs, &os.PathError{Op: "write", Path: r.path(name), Err: plainfile.ErrFolder})
		}
	}
	return errors.Join(append(errs, record.Replaceable(r.root, record.Name))...)
}

// begin removes what an earlier run says of itself. Otherwise its exit code would stand
// beside the log of a run that is killed.
func (r *results) begin() error {
	if r.through {
		return nil
	}
	for _, name := range []string{recordName, agentLog, manifestsName} {
		if err := r.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove what the run before this one said of itself: %w", err)
		}
	}
	return nil
}

func (r *results) path(name string) string { return filepath.Join(r.root.Name(), name) }

// create opens a new file in the place of what has the name.
func (r *results) create(name string) (*os.File, error) {
	if r.through {
		return os.Create(r.path(name))
	}
	return plainfile.Create(r.root, name, 0o644)
}

// write is create for a file whose content is known.
func (r *results) write(name string, data []byte) error {
	if r.through {
		return os.WriteFile(r.path(name), data, 0o644)
	}
	return plainfile.Write(r.root, name, data, 0o644)
}

func (r *runner) closeResults() {
	if r.results != nil {
		_ = r.results.root.Close() // only a handle: each file has been closed
	}
}
