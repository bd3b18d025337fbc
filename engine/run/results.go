package run

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/plainfile"
	"github.com/seer-engine/seer/engine/record"
	"github.com/seer-engine/seer/engine/runs"
	"github.com/seer-engine/seer/internal/osfile"
)

// results is the folder on this computer that a run writes its results to. The user has
// confirmed its own path at most: it may have come with a stranger's experiment, so
// nothing is written through what is in it.
type results struct {
	root    *os.Root             // for what Seer writes
	files   *os.Root             // for what the agent has made; perhaps the same folder
	through bool                 // for tests: a link is followed
	synced  func(*os.File) error // nil = [osfile.Sync]
}

// sync writes what the agent has made to the disk. One call costs less than one for each of many
// files.
func (r *results) sync() error {
	dir, err := r.files.Open(".")
	if err != nil {
		return err
	}
	defer dir.Close()
	if r.synced != nil {
		return r.synced(dir)
	}
	return osfile.Sync(dir)
}

// openFolder makes a folder for results and writes to it for a trial, before anything is
// rented for results that would have no place.
func openFolder(dir string) (root *os.Root, err error) {
	if err = os.MkdirAll(dir, 0o755); err == nil {
		err = try(dir)
	}
	if err == nil {
		root, err = os.OpenRoot(dir)
	}
	return root, unwritable("the folder of the results", "outputs", dir, err)
}

// openResults is one folder for everything, such as that of a replay.
func openResults(dir string, through bool) (*results, error) {
	root, err := openFolder(dir)
	if err != nil {
		return nil, err
	}
	r := &results{root: root, files: root, through: through}
	if err := r.replaceable(); err != nil {
		root.Close()
		return nil, &engine.Error{Kind: engine.KindConfig, Err: err}
	}
	return r, nil
}

// openRunResults are the folder of a run, and for what the agent makes a folder in it, or the one
// that the experiment names.
func (r *runner) openRunResults() error {
	r.results = &results{through: r.opts.through}
	if err := r.makeFolder(); err != nil {
		return err
	}
	r.result.Outputs = r.exp.Outputs
	if r.result.Outputs == "" {
		r.result.Outputs = filepath.Join(r.folder.Path(), runs.OutputsName)
	}
	var err error
	r.results.files, err = openFolder(r.result.Outputs)
	return err
}

// replaceable refuses what cannot give way to Seer's own files.
func (r *results) replaceable() error {
	var errs []error
	for _, name := range []string{agentLog, recordName, runs.ModelsName} {
		if info, err := r.root.Lstat(name); err == nil && info.IsDir() {
			errs = append(errs, &os.PathError{Op: "write", Path: r.path(name), Err: plainfile.ErrFolder})
		}
	}
	return errors.Join(append(errs, record.Replaceable(r.root, record.Name))...)
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
	if r.results == nil {
		return
	}
	for _, root := range []*os.Root{r.results.root, r.results.files} {
		if root != nil {
			_ = root.Close() // only a handle: each file has been closed
		}
	}
}
