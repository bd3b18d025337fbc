package collect

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/seer-engine/seer/engine/plainfile"
)

// walker finds what programs obey in a folder, and does not look into it.
type walker struct {
	root    *os.Root
	entries int
	skip    string            // a path that is passed over
	extra   map[string]string // of [Guard]
	first   bool              // for tests of attacks: the first error ends the look
	errs    []error
	unsaid  int // errors that are only counted
}

// walk calls found for what programs obey in a folder, and then looks into its other
// folders. What it cannot look into does not keep it from the rest.
func (w *walker) walk(ctx context.Context, found func(name string) error) error {
	w.folder(ctx, w.root, ".", 0, found)
	if ctx.Err() != nil && len(w.errs) == 0 { // it was between two folders
		w.errs = append(w.errs, context.Cause(ctx))
	}
	if w.unsaid > 0 {
		w.errs = append(w.errs, fmt.Errorf("and %d errors more", w.unsaid))
	}
	return errors.Join(w.errs...)
}

// folder opens each folder from the one above: the way from the top costs a step for each
// folder, and an agent can make many of them.
func (w *walker) folder(ctx context.Context, at *os.Root, folder string, depth int, found func(name string) error) {
	names, err := w.list(ctx, at, ".", folder, depth)
	w.failed(passable(err))
	var folders []string
	for _, name := range names {
		full := path.Join(folder, name)
		if full == w.skip {
			continue
		}
		if _, led := w.extra[canonicalPath(full)]; led || Obeyed(name) {
			w.failed(found(full))
			continue
		}
		if info, err := at.Lstat(name); err == nil && info.IsDir() {
			folders = append(folders, name)
		}
	}
	for _, name := range folders {
		if w.entries > maxEntries || ctx.Err() != nil || w.first && len(w.errs) > 0 {
			return // the error says so
		}
		below, err := at.OpenRoot(name)
		if err != nil {
			w.failed(passable(err))
			continue
		}
		w.folder(ctx, below, path.Join(folder, name), depth+1, found)
		below.Close()
	}
}

// failed keeps an error, unless there are many.
func (w *walker) failed(err error) {
	const most = 5
	switch {
	case err == nil:
	case len(w.errs) < most:
		w.errs = append(w.errs, err)
	default:
		w.unsaid++
	}
}

// passable passes over a folder that went away or that this user may not read: it is another
// user's, since [Guard.Settle] unlocks his own.
func passable(err error) error {
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	return err
}

var errTooMany = errors.New("the workspace has too many files or folders in each other to look for what programs obey; remove it before you use programs there")

// list reads the names in a folder, which is called folder in errors.
func (w *walker) list(ctx context.Context, at *os.Root, name, folder string, depth int) (names []string, err error) {
	if depth > 4*maxDepth {
		return nil, fmt.Errorf("%.200q: %w", folder, errTooMany)
	}
	f, err := openFolder(at, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for {
		batch, err := f.Readdirnames(512)
		names = append(names, batch...)
		if w.entries += len(batch); w.entries > maxEntries {
			return names, fmt.Errorf("%.200q: %w", folder, errTooMany)
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if errors.Is(err, io.EOF) || err == nil && len(batch) == 0 {
			return names, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// errLeave says that a folder is not to be looked into.
var errLeave = errors.New("leave")

// each calls f for an obeyed file or folder and for all that it consists of. Of a
// repository of git that is its settings, and not what git keeps there as data.
func (g *Guard) each(ctx context.Context, name string, f func(name string, s setting) error) error {
	s, err := g.read(name)
	if err != nil {
		return err
	}
	if err := f(name, s); err != nil {
		if errors.Is(err, errLeave) {
			return nil
		}
		return err
	}
	if !s.kind.IsDir() && !s.repo {
		return nil
	}
	w := walker{root: g.root}
	return g.below(ctx, &w, settingsOf(name), 0, f)
}

func (g *Guard) below(ctx context.Context, w *walker, folder string, depth int, f func(string, setting) error) error {
	names, err := w.list(ctx, g.root, folder, folder, depth)
	if err != nil {
		return passable(err)
	}
	repo := g.isRepo(folder)
	var errs []error
	for _, name := range names {
		if repo && isData(name) {
			continue
		}
		full := path.Join(folder, name)
		s, err := g.read(full)
		if err == nil {
			err = f(full, s)
		}
		if err == nil && s.kind.IsDir() {
			err = g.below(ctx, w, full, depth+1, f)
		}
		if err != nil && !errors.Is(err, errLeave) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func isHead(name string) bool { return canonical(path.Base(name)) == canonical("HEAD") }

// settingsOf is the folder that an obeyed name stands for.
func settingsOf(name string) string {
	if isHead(name) {
		return path.Dir(name)
	}
	return name
}

// isRepo reports whether git takes a folder for a repository.
func (g *Guard) isRepo(folder string) bool {
	there := func(name string) bool {
		_, err := g.root.Lstat(path.Join(folder, name))
		return err == nil
	}
	return there("HEAD") && (there("objects") && there("refs") || there("commondir"))
}

// isData reports whether git keeps there what it was given and what it has to remember,
// and nothing that it obeys.
func isData(name string) bool {
	return slices.Contains([]string{"HEAD", "objects", "refs", "logs", "lfs", "index", "packed-refs", "shallow", "COMMIT_EDITMSG", "MERGE_MSG", "MERGE_MODE", "SQUASH_MSG", "AUTO_MERGE", "gc.log"}, name) ||
		strings.HasSuffix(name, "_HEAD")
}

func sumOf(root *os.Root, name string) (string, error) {
	f, info, err := plainfile.Open(root, name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	_, err = io.Copy(sum, io.LimitReader(f, info.Size()))
	return hex.EncodeToString(sum.Sum(nil)), err
}
