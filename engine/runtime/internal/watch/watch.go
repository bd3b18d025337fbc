// Package watch tells what happens to files and folders.
package watch

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/fsnotify/fsnotify"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/internal/lazyregexp"
)

// maxWatched is how many folders a recursive watch may have: each takes memory of the
// kernel, which has a limit for all of its users together.
const maxWatched = 10_000

// Slots count what is open at a time. Their zero value has none taken.
type Slots struct {
	mu sync.Mutex
	n  int
}

// Take takes a slot; false where most are taken.
func (s *Slots) Take(most int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.n >= most {
		return false
	}
	s.n++
	return true
}

// Give gives a slot back.
func (s *Slots) Give() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n--
}

// Tree watches a folder, a file, or everything below a folder.
type Tree struct {
	w         *fsnotify.Watcher
	root      string          // the folder that is watched
	file      string          // the only one of it that counts; empty = all
	shown     string          // what clients call root
	recursive bool            //
	dirs      map[string]bool // that are watched
	last      protocol.WatchEvent
	missed    chan struct{} // filled when events were lost
	tell      func(protocol.WatchEvent) error
}

var errTooMany = protocol.Errorf(protocol.Invalid, "there are more than %d folders to be watched; watch some of them", maxWatched)

// New watches a file, or a folder and with recursive all below it. Clients know path as shown.
func New(shown, path string, recursive bool) (*Tree, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	w, err := fsnotify.NewBufferedWatcher(1024)
	if errors.Is(err, syscall.EMFILE) {
		return nil, protocol.Errorf(protocol.Unavailable, "too much is being watched on this system (its limit is fs.inotify.max_user_instances): %v", err)
	}
	if err != nil {
		return nil, err
	}
	t := &Tree{w: w, root: path, shown: shown, recursive: recursive && info.IsDir(), dirs: map[string]bool{}, missed: make(chan struct{}, 1)}
	go t.hearErrors()
	if !info.IsDir() { // by its folder: many programs write a new file in place of the old one
		t.root, t.file, t.shown = filepath.Dir(path), filepath.Base(path), filepath.Dir(shown)
	}
	if err := t.add(t.root, nil); err != nil {
		w.Close()
		return nil, err
	}
	return t, nil
}

// Close ends the watch.
func (t *Tree) Close() { _ = t.w.Close() }

// hearErrors takes errors at once, until the watcher is closed: while it tells one it may
// keep its lock, and who is about to add or remove a folder would wait for that for ever.
func (t *Tree) hearErrors() {
	for err := range t.w.Errors {
		if errors.Is(err, syscall.EINVAL) { // a folder was gone before it could be forgotten
			continue
		}
		select { // a queue of the kernel that is full, above all
		case t.missed <- struct{}{}:
		default:
		}
	}
}

// add watches a folder, and with recursive those below. What it finds there is told by
// found, where there is one.
func (t *Tree) add(dir string, found func(path string, isDir bool) error) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && path == t.root:
			return err
		case err != nil:
			return fs.SkipDir // gone meanwhile, or not ours to see
		case path != t.root && part().MatchString(d.Name()):
			return skip(d)
		}
		if path != dir && found != nil {
			if err := found(path, d.IsDir()); err != nil {
				return err
			}
		}
		if path != dir && !t.recursive {
			return skip(d)
		}
		if !d.IsDir() && path != dir {
			return nil
		}
		return t.addOne(path)
	})
}

func skip(d fs.DirEntry) error {
	if d.IsDir() {
		return fs.SkipDir
	}
	return nil
}

func (t *Tree) addOne(path string) error {
	if len(t.dirs) >= maxWatched {
		return errTooMany
	}
	err := t.w.Add(path)
	switch {
	case err == nil:
		t.dirs[path] = true
	case errors.Is(err, syscall.ENOSPC):
		return protocol.Errorf(protocol.Invalid, "this system lets no more folders be watched than the %d so far (its limit is fs.inotify.max_user_watches)", len(t.dirs))
	case path == t.root:
		return err
	}
	return nil
}

// Run tells events until ctx ends, the root is gone, or events are lost for good.
func (t *Tree) Run(ctx context.Context, tell func(protocol.WatchEvent) error, flush func() error) error {
	t.tell = tell
	for {
		var err error
		over := false
		select {
		case <-ctx.Done():
			return nil
		case e, open := <-t.w.Events:
			if !open {
				return nil
			}
			over, err = t.event(e)
		case <-t.missed:
			err = t.say(protocol.WatchEvent{Type: protocol.WatchLost})
		}
		var limit *protocol.Error
		if errors.As(err, &limit) { // a folder that is new cannot be watched
			over, err = true, t.say(protocol.WatchEvent{Type: protocol.WatchLost})
		}
		if err != nil {
			return err
		}
		if over || len(t.w.Events) == 0 {
			if err := flush(); err != nil || over {
				return err
			}
		}
	}
}

// part is the name of a file or folder that Seer, or the notebook service, writes beside
// its place, before it has its name.
var part = lazyregexp.New(`^\.(seer-(upload-)?([0-9]+|[0-9a-f]{16})|[0-9a-z_]{8}\.part)$`)

// event tells one event. It reports whether nothing can follow.
func (t *Tree) event(e fsnotify.Event) (over bool, err error) {
	if e.Name != t.root && part().MatchString(filepath.Base(e.Name)) {
		return false, nil
	}
	if t.file != "" && filepath.Base(e.Name) != t.file {
		return t.gone(e), nil
	}
	isDir := t.dirs[e.Name]
	if e.Has(fsnotify.Create) {
		info, serr := os.Lstat(e.Name)
		isDir = serr == nil && info.IsDir()
	}
	for _, kind := range []struct {
		op   fsnotify.Op
		name protocol.WatchType
	}{{fsnotify.Create, protocol.WatchCreated}, {fsnotify.Write, protocol.WatchWritten}, {fsnotify.Remove, protocol.WatchRemoved},
		{fsnotify.Rename, protocol.WatchRenamed}, {fsnotify.Chmod, protocol.WatchAttributes}} {
		if e.Has(kind.op) && err == nil {
			err = t.say(protocol.WatchEvent{Path: t.name(e.Name), Type: kind.name, IsDir: isDir})
		}
	}
	if err != nil || t.gone(e) {
		return true, err
	}
	if isDir && (e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename)) {
		t.forget(e.Name)
	}
	if e.Has(fsnotify.Create) && isDir && t.recursive {
		err = t.add(e.Name, func(path string, isDir bool) error {
			return t.say(protocol.WatchEvent{Path: t.name(path), Type: protocol.WatchCreated, IsDir: isDir})
		})
	}
	return false, err
}

// gone reports whether the folder that is watched is not there any more.
func (t *Tree) gone(e fsnotify.Event) bool {
	return e.Name == t.root && (e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename))
}

// forget stops watching a folder that has gone, and what was below it.
func (t *Tree) forget(dir string) {
	for path := range t.dirs {
		if path == dir || strings.HasPrefix(path, dir+"/") {
			delete(t.dirs, path)
			_ = t.w.Remove(path) // the kernel may have done it
		}
	}
}

// say tells an event, but not the same removal twice: a folder says it of itself, too.
func (t *Tree) say(e protocol.WatchEvent) error {
	again := e.Path == t.last.Path && e.Type == t.last.Type && (e.Type == protocol.WatchRemoved || e.Type == protocol.WatchRenamed)
	t.last = e
	if again {
		return nil
	}
	return t.tell(e)
}

// name is what clients call a path.
func (t *Tree) name(path string) string {
	rest, err := filepath.Rel(t.root, path)
	if err != nil {
		return path
	}
	return filepath.Join(t.shown, rest)
}
