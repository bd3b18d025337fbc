package scaffold

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	settleTime = 100 * time.Millisecond // editors write in several steps
	settleMost = time.Second            // after which is built although there is no end to changes
	hashLimit  = 8 << 20                // larger files count by size and time
	sameMost   = 5                      // builds in a row during which something has changed
)

// digest is of all sources.
type digest = [sha256.Size]byte

// watcher notices changes of a plugin's sources.
type watcher struct {
	dir, out string
	notify   *fsnotify.Watcher
}

func watch(ctx context.Context, o BuildOptions, built func(Result, error)) error {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return err
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return fmt.Errorf("%s is no folder that can be watched", dir)
	}
	o.Dir = dir
	if o.Out == "" {
		o.Out = filepath.Join(dir, outFolder)
	}
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watching %s: %w", dir, err)
	}
	defer notify.Close()
	w := watcher{dir: dir, out: abs(o.Out), notify: notify}
	return w.loop(ctx, func(compiled func()) {
		r, err := build(ctx, o)
		compiled()
		if ctx.Err() == nil {
			built(r, err)
		}
	})
}

// loop builds whenever the sources are others than those of the last build. What changes
// during a build starts another one, also when it is as before at the end: nobody knows
// what the compiler has seen. A build that changes sources itself is not followed for ever.
func (w watcher) loop(ctx context.Context, build func(compiled func())) error {
	var last digest
	for unsure := 0; ctx.Err() == nil; {
		before, err := w.state()
		if err != nil {
			return err
		}
		if before == last {
			if err := w.wait(ctx); err != nil {
				return err
			}
			unsure = 0
			continue
		}
		var after digest
		build(func() { after, err = w.state() })
		if err != nil {
			return err
		}
		if unsure++; after == before || unsure == sameMost {
			last, unsure = after, 0
		}
	}
	return nil
}

// wait returns when something has happened and then nothing more for a moment.
func (w watcher) wait(ctx context.Context) error {
	var settled, latest <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case _, ok := <-w.notify.Events:
			if !ok {
				return fmt.Errorf("watching %s has ended", w.dir)
			}
		case err, ok := <-w.notify.Errors:
			if !ok || !errors.Is(err, fsnotify.ErrEventOverflow) {
				return fmt.Errorf("watching %s: %w", w.dir, err)
			}
		case <-settled:
			return nil
		case <-latest:
			return nil
		}
		settled = time.After(settleTime)
		if latest == nil {
			latest = time.After(settleMost)
		}
	}
}

// state watches all folders that there are now, and is a digest of what is in them.
func (w watcher) state() (sum digest, err error) {
	h := sha256.New()
	err = filepath.WalkDir(w.dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist) && path != w.dir:
			return nil // it went away meanwhile; there will be an event
		case err != nil:
			return fmt.Errorf("watching %s: %w", w.dir, err)
		case path != w.dir && w.ignored(path, d):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir():
			if err := w.notify.Add(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("watching %s: %w", path, err)
			}
			return nil
		}
		_, err = fmt.Fprintf(h, "%q %s\n", path, contentOf(path))
		return err
	})
	return digest(h.Sum(nil)), err
}

// ignored are what builds write, what belongs to tools, and what editors leave.
func (w watcher) ignored(path string, d fs.DirEntry) bool {
	name := d.Name()
	switch {
	case strings.HasPrefix(name, "."), path == w.out:
		return true
	case d.IsDir():
		return name == "node_modules" || filepath.Dir(path) == w.dir && (name == "build" || name == outFolder)
	}
	return name == "package-lock.json" || strings.HasSuffix(name, "~") || !d.Type().IsRegular() && d.Type()&fs.ModeSymlink == 0
}

// contentOf is different for different content. A file that cannot be read is like any
// other such file: the build says what is wrong with it.
func contentOf(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return "unreadable"
	}
	if info.Size() > hashLimit || !info.Mode().IsRegular() {
		return fmt.Sprint(info.Size(), info.ModTime().UnixNano())
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "unreadable"
	}
	return fmt.Sprintf("%x", sha256.Sum256(data))
}
