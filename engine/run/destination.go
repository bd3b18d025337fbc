package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/remedy"
)

// tried is how much must fit into the folder of the results: enough that a disk with room
// for names only is found.
const tried = 64 << 10

// folders makes the two folders of this computer that a run writes to, and tries them.
func (r *runner) folders() error {
	if err := r.openSpace(); err != nil { // first: a run that is refused leaves no folder
		return err
	}
	err := r.openRunResults()
	if err != nil {
		err = errors.Join(err, r.space.close())
		r.space = nil
	}
	return err
}

// openSpace opens and locks the agent's folder.
func (r *runner) openSpace() error {
	records, err := r.engine.SurfaceRecords()
	if err != nil {
		return err
	}
	records.Dir = filepath.Join(records.Dir, "runs")
	if err := os.MkdirAll(records.Dir, 0o700); err != nil {
		return err
	}
	r.space, err = openWorkspace(r.exp.Workspace.Dir, records, r.started, r.warn)
	if err == nil {
		r.space.leaveOpen = r.opts.unguarded
	}
	return kindOf(err, r.exp.Workspace.Dir)
}

// unwritable says which of the experiment's folders cannot be written, and how to name
// another one. A full disk stays one.
func unwritable(what, field, dir string, err error) error {
	if err == nil {
		return nil
	}
	next := "name another folder in"
	if engine.KindOf(err) == engine.KindNoSpace {
		next = "make room, or name another folder in"
	}
	err = remedy.For(fmt.Errorf("%s cannot be written: %s: %w; %s %s", what, dir, reason(err), next, field), remedy.Remedy{Action: remedy.SetFolder, Field: field})
	if engine.KindOf(err) == engine.KindNoSpace {
		return &engine.Error{Kind: engine.KindNoSpace, Err: err}
	}
	return &engine.Error{Kind: engine.KindConfig, Err: err}
}

// reason is an error without the file that it was about, which may be one for a trial.
func reason(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

func try(dir string) error {
	f, err := os.CreateTemp(dir, ".seer-trial-*")
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, tried))
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}

// unsaved keeps a sandbox that the agent used as a whole, where the workspace cannot be
// written any more: what it made, as a notebook, may be nowhere else.
func (r *runner) unsaved() error {
	if r.sandbox == nil || !r.exp.Sandbox.Whole() {
		return nil
	}
	err := try(r.exp.Workspace.Dir)
	if err == nil {
		return nil
	}
	r.opts.Keep = true
	return unwritable("the workspace (so the sandbox is kept with what the agent made in it)", "workspace.dir", r.exp.Workspace.Dir, err)
}

// kindOf gives what keeps the workspace dir from being used its kind.
func kindOf(err error, dir string) error {
	var busy *BusyError
	var path *fs.PathError
	switch {
	case errors.As(err, &busy):
		return &engine.Error{Kind: engine.KindConflict, Err: err}
	case errors.As(err, &path):
		return unwritable("the workspace", "workspace.dir", dir, err)
	}
	return err
}

// once joins errors, and tells of a full disk only once: every file that comes after it
// fails, too.
func once(errs ...error) error {
	var all []error
	full := false
	for _, err := range errs {
		again := engine.KindOf(err) == engine.KindNoSpace
		if err == nil || full && again {
			continue
		}
		full = full || again
		all = append(all, err)
	}
	return errors.Join(all...)
}

// logFile keeps what the agent prints. Where that cannot be written, the agent goes on: it
// is said once, and what came meanwhile is missing from the file.
type logFile struct {
	mu    sync.Mutex
	file  *os.File
	path  string
	warn  func(format string, args ...any)
	lost  int64 // bytes
	tells sync.Once
}

func openLog(r *results, warn func(string, ...any)) (*logFile, error) {
	f, err := r.create(agentLog)
	if err != nil {
		return nil, err
	}
	return &logFile{file: f, path: r.path(agentLog), warn: warn}, nil
}

// Write never fails: the agent's output would end with it.
func (l *logFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, err := l.file.Write(p)
	if err != nil {
		l.lost += int64(len(p) - n)
		l.tells.Do(func() {
			next := "look at the disk"
			if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
				next = "make room now, so that the results can be collected"
			}
			l.warn("outputs: %s does not get the agent's output at the moment: %v; %s", l.path, reason(err), next)
		})
	}
	return len(p), nil
}

// Close reports missing output.
func (l *logFile) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost > 0 {
		l.warn("outputs: %s lacks %d bytes of what the agent printed", l.path, l.lost)
	}
	return l.file.Close()
}
