package runs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/seer-engine/seer/engine/errdefs"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/internal/lazyregexp"
)

// syncEvery is how long an event may wait until it is on the disk.
const syncEvery = time.Second

// Folder is the folder of a run that is going on. Append and Close are not for concurrent use.
type Folder struct {
	// Warn is called once when the disk does not take an event; nil = not called.
	Warn func(err error)

	id, path string
	root     *os.Root
	log      *os.File
	size     int64    // of the lines that are whole
	torn     bool     // a part of a line is behind them
	blobs    []string // that are not known to be on the disk
	err      error    // the first one

	after func(time.Duration, func()) *time.Timer // time.AfterFunc, but in tests
	timer *time.Timer                             // nil = nothing waits for a sync
	mu    sync.Mutex                              // for timer and late
	late  error                                   // of a sync by the timer
}

// Create makes the folder root/<name>-<YYYYMMDD-HHMMSS>-<end of id> and root itself, sets the link
// root/latest, and locks the log. name is that of the experiment; characters that do not belong
// into the name of a file are replaced. The time in the folder's name is that of now's location.
//
// A root that is a link, and a latest that is not, are refused: the working folder may have come
// from a stranger.
func Create(root, name, id string, now time.Time) (*Folder, error) {
	f, err := create(root, name, id, now)
	if err != nil {
		err = fmt.Errorf("make the folder of the run: %w", state.NoSpace(root, err))
		return nil, errdefs.Wrap(errdefs.KindConfig, err)
	}
	return f, nil
}

func create(root, name, id string, now time.Time) (_ *Folder, err error) {
	if root, err = filepath.Abs(root); err != nil {
		return nil, err
	}
	if err := makeRoot(root); err != nil {
		return nil, err
	}
	above, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer above.Close()
	if err := checkLatest(above); err != nil {
		return nil, err
	}
	dir, err := makeFolder(above, name, id, now)
	if err != nil {
		return nil, err
	}
	f := &Folder{id: id, path: filepath.Join(root, dir), after: time.AfterFunc}
	if err = f.open(above, dir); err == nil {
		err = link(above, dir)
	}
	if err != nil {
		f.closeFiles()
		_ = above.RemoveAll(dir) // it has nothing yet
		return nil, err
	}
	return f, errors.Join(state.SyncDir(f.path), state.SyncDir(root))
}

// makeRoot makes the folder of all runs. A link in its place may lead anywhere.
func makeRoot(root string) error {
	info, err := os.Lstat(root)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return os.MkdirAll(root, 0o755)
	case err != nil:
		return err
	case info.Mode().Type() == fs.ModeSymlink:
		return fmt.Errorf("%s is a link, and Seer writes no runs through links; remove it, or name the folder that it leads to", root)
	case !info.IsDir():
		return fmt.Errorf("%s is not a folder; move it, or name another folder for runs", root)
	}
	return nil
}

// unnamed are the characters that are not for the names of folders.
var unnamed = lazyregexp.New(`[^A-Za-z0-9._-]+`)

// mostName is how long an experiment's name is in that of a folder.
const mostName = 60

// folderName is the name of a folder for the run.
func folderName(name, id string, now time.Time) string {
	name = strings.Trim(unnamed().ReplaceAllString(name, "-"), "-.")
	name = strings.TrimRight(name[:min(len(name), mostName)], "-.")
	if name == "" {
		name = "run"
	}
	end := unnamed().ReplaceAllString(strings.TrimPrefix(id, idPrefix), "-")
	return name + "-" + now.Format("20060102-150405") + "-" + end[max(0, len(end)-6):]
}

// mostSame is how many folders with one name are tried.
const mostSame = 1000

func makeFolder(above *os.Root, name, id string, now time.Time) (string, error) {
	base := folderName(name, id, now)
	dir := base
	for n := 2; ; n++ {
		err := above.Mkdir(dir, 0o700) // prompts and answers are nobody else's
		if !errors.Is(err, fs.ErrExist) || n > mostSame {
			return dir, err
		}
		dir = fmt.Sprintf("%s-%d", base, n)
	}
}

// open makes the log and locks it.
func (f *Folder) open(above *os.Root, dir string) (err error) {
	if f.root, err = above.OpenRoot(dir); err != nil {
		return err
	}
	if err = f.root.Mkdir(BlobsName, 0o700); err != nil {
		return err
	}
	f.log, err = f.root.OpenFile(EventsName, os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return syscall.Flock(int(f.log.Fd()), syscall.LOCK_EX) // a reader has it for a moment at most
}

func checkLatest(above *os.Root) error {
	info, err := above.Lstat(LatestName)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().Type() == fs.ModeSymlink {
		return nil
	}
	if err == nil {
		err = fmt.Errorf("%s is no link, and is to be one to the newest run; move it", filepath.Join(above.Name(), LatestName))
	}
	return err
}

// link makes latest a link to dir.
func link(above *os.Root, dir string) error {
	next := "." + LatestName + "-" + dir
	_ = above.Remove(next) // of a program that was killed here
	if err := above.Symlink(dir, next); err != nil {
		return err
	}
	err := above.Rename(next, LatestName)
	if err != nil {
		_ = above.Remove(next) // the first error is the one to tell
	}
	return err
}

// Path is the absolute path of the folder.
func (f *Folder) Path() string { return f.path }

// ID is that of the run.
func (f *Folder) ID() string { return f.id }

// Root is the folder, opened. Close closes it.
func (f *Folder) Root() *os.Root { return f.root }

// Append writes an event to the log. It is an [event.Func]. Events of [event.KindCopied] are left
// out. An event that the disk does not take is missing from the log; see Warn and Close.
func (f *Folder) Append(e event.Event) {
	if e.Kind() == event.KindCopied {
		return
	}
	line, err := f.encode(e)
	f.fail(err)
	if line == nil {
		return
	}
	if err := f.write(line); err != nil {
		f.fail(err)
		return
	}
	if phase(e) {
		f.fail(f.sync())
	} else {
		f.syncLater()
	}
}

// phase reports whether the log has to be on the disk when an event is.
func phase(e event.Event) bool {
	switch e.Data.(type) {
	case event.AgentStarted, event.AgentFinished:
		return true
	}
	return e.Stage() == event.StageRun || e.Stage() == event.StageEnd
}

// write appends a line as a whole. Where the disk takes only a part, the part is removed, so that
// the log goes on with whole lines when there is room again.
func (f *Folder) write(line []byte) error {
	if f.torn {
		if err := f.log.Truncate(f.size); err != nil {
			return err
		}
		f.torn = false
	}
	n, err := f.log.Write(line)
	if err != nil {
		f.torn = n > 0 && f.log.Truncate(f.size) != nil
		return err
	}
	f.size += int64(n)
	return nil
}

// fail keeps the first error.
func (f *Folder) fail(err error) {
	if err == nil || f.err != nil {
		return
	}
	f.err = fmt.Errorf("the log of the run is not complete: %w", state.NoSpace(f.path, err))
	if f.Warn != nil {
		f.Warn(f.err)
	}
}

// sync brings everything to the disk.
func (f *Folder) sync() error {
	f.mu.Lock()
	if f.timer != nil {
		f.timer.Stop()
		f.timer = nil
	}
	err := f.late
	f.late = nil
	f.mu.Unlock()
	errs := []error{err}
	for _, name := range f.blobs {
		blob, err := f.root.Open(name)
		if err == nil {
			err = errors.Join(blob.Sync(), blob.Close())
		}
		errs = append(errs, err)
	}
	f.blobs = nil
	return errors.Join(append(errs, f.log.Sync())...)
}

// syncLater brings the log to the disk soon. Blobs follow at the next phase: a log that is ahead of
// them shows that they are missing.
func (f *Folder) syncLater() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.timer == nil {
		f.timer = f.after(syncEvery, f.onTimer)
	}
}

func (f *Folder) onTimer() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.timer == nil { // everything is on the disk already
		return
	}
	f.timer = nil
	f.late = errors.Join(f.late, f.log.Sync())
}

// Close brings the log to the disk and unlocks it. It returns the first error of any Append.
func (f *Folder) Close() error {
	f.fail(f.sync())
	f.closeFiles()
	return f.err
}

func (f *Folder) closeFiles() {
	if f.log != nil {
		_ = f.log.Close() // it is on the disk, and the lock goes with it
	}
	if f.root != nil {
		_ = f.root.Close()
	}
}
