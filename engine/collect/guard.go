package collect

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/seer-engine/seer/engine/isolation/filebits"
	"github.com/seer-engine/seer/engine/plainfile"
)

// Bounds of what a guard remembers. What the user has beyond them is moved aside when it
// has changed, and not restored.
const (
	maxSettings = 64 << 20 // bytes in all
	maxSetting  = 4 << 20  // of one file
)

// Guard keeps an agent from leaving something in the user's folder that programs obey.
// What was there before stays as it was.
type Guard struct {
	root   *os.Root
	before map[string]setting // of everything obeyed, by slash path
	bytes  int64
	extra  map[string]string // further paths that are obeyed: as file systems compare it → path
	warn   func(format string, args ...any)

	names                 bool // for tests: where settings lead is not looked at
	first                 bool // for tests: the first error ends the look
	closed                bool // for tests: folders that cannot be read stay so
	moved, restored, lost names
}

// setting is one file or folder below an obeyed name.
type setting struct {
	kind fs.FileMode // type bits
	sum  string      // of a file
	data []byte      // of a file; nil = it is too large to be remembered
	mode fs.FileMode
	link string // where a link leads
	repo bool   // a file HEAD of a repository of git
}

// Watch remembers what a folder has before an agent works in it, but for the folder skip
// at its top, which the agent fills.
func Watch(ctx context.Context, root *os.Root, skip string, warn func(string, ...any)) (*Guard, error) {
	g := &Guard{root: root, warn: warn}
	return g, g.watch(ctx, skip)
}

func (g *Guard) watch(ctx context.Context, skip string) error {
	g.before, g.extra = map[string]setting{}, map[string]string{}
	if shut, err := filebits.Closed(g.root.Name()); err != nil || len(shut) > 0 {
		return errors.Join(err, unreadable(shut))
	}
	var repos []string
	w := walker{root: g.root, skip: skip}
	err := w.walk(ctx, func(name string) error {
		if canonical(path.Base(name)) == canonical(".git") && path.Dir(name) != "." {
			repos = append(repos, path.Dir(name))
		}
		return nil
	})
	if err == nil && !g.names {
		err = g.pointed(ctx, repos)
	}
	if err != nil {
		return err
	}
	w = walker{root: g.root, skip: skip, extra: g.extra}
	err = w.walk(ctx, func(name string) error { return g.remember(ctx, name) })
	return errors.Join(err, g.links(func(name string) error { return g.remember(ctx, name) }))
}

// unreadable refuses folders of the user's that nobody could compare afterwards.
func unreadable(folders []string) error {
	if len(folders) == 0 {
		return nil
	}
	var all names
	for _, name := range folders {
		all.add(name)
	}
	return fmt.Errorf("the workspace has folders that you cannot read, %s: an agent could hide there what programs obey; give yourself the right (chmod u+rx), or name another workspace", all)
}

// remember notes an obeyed file or folder with everything in it.
func (g *Guard) remember(ctx context.Context, name string) error {
	return g.each(ctx, name, func(name string, s setting) error {
		g.before[name] = s
		return nil
	})
}

// Settle is called when the agent has ended: what is new and obeyed gets another name,
// and what was there before and has changed is moved aside and restored.
func (g *Guard) Settle(ctx context.Context) error {
	var errs []error
	if !g.closed { // programs enter folders that they cannot read, and obey what is there
		_, err := filebits.Unlock(g.root.Name())
		errs = append(errs, err)
	}
	if err := g.links(func(name string) error { return g.reconcile(ctx, name) }); err != nil {
		errs = append(errs, err)
	}
	w := walker{root: g.root, extra: g.extra, first: g.first}
	err := w.walk(ctx, func(name string) error {
		errs = append(errs, g.reconcile(ctx, name))
		return nil
	})
	if len(g.moved.all) > 0 {
		g.warn("workspace: programs would obey %s, which the agent made or changed; each is kept with %s behind its name", g.moved, suffix)
	}
	if len(g.restored.all) > 0 {
		g.warn("workspace: restored as before the run: %s", g.restored)
	}
	if len(g.lost.all) > 0 {
		g.warn("workspace: the agent changed %s, too large to be restored", g.lost)
	}
	return errors.Join(append(errs, err)...)
}

// reconcile compares an obeyed file or folder with what was there before.
func (g *Guard) reconcile(ctx context.Context, name string) error {
	now, err := g.read(name)
	if err != nil {
		return g.aside(name) // whatever it is, nobody could say that it is the user's
	}
	before, known := g.before[name]
	if isHead(name) && !now.repo && (!known || !before.repo) {
		return nil // a file of that name, and no repository
	}
	if !known || before.kind != now.kind || before.repo != now.repo {
		return g.aside(name)
	}
	return errors.Join(g.changes(ctx, name), g.restore(name))
}

// changes moves aside what is not as before.
func (g *Guard) changes(ctx context.Context, top string) error {
	var changed []string
	err := g.each(ctx, top, func(name string, now setting) error {
		before, known := g.before[name]
		if known && before.kind == now.kind && (now.kind.IsDir() || before.sum == now.sum && before.link == now.link && before.mode == now.mode) {
			return nil
		}
		changed = append(changed, name)
		return errLeave
	})
	for _, name := range changed {
		err = errors.Join(err, g.aside(name))
	}
	return err
}

// restore puts back what is missing of the files below an obeyed name.
func (g *Guard) restore(top string) error {
	var errs []error
	for name, s := range g.before {
		if name != top && !strings.HasPrefix(name, settingsOf(top)+"/") || s.kind.IsDir() || s.repo {
			continue
		}
		if _, err := g.root.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		err := g.root.MkdirAll(path.Dir(name), 0o755)
		switch {
		case err != nil:
		case s.kind == fs.ModeSymlink:
			err = g.root.Symlink(s.link, name)
		case s.data == nil:
			g.lost.add(name)
			continue
		default:
			err = g.root.WriteFile(name, s.data, s.mode)
		}
		errs = append(errs, err)
		g.restored.add(name)
	}
	return errors.Join(errs...)
}

// aside gives something a name that nobody obeys and nobody has.
func (g *Guard) aside(name string) error {
	safe := path.Join(path.Dir(name), Safe(path.Base(name)))
	if safe == name {
		safe += suffix
	}
	const tries = 1000
	for n := 1; n <= tries; n++ {
		to := safe
		if n > 1 {
			to = fmt.Sprintf("%s-%d", safe, n)
		}
		if _, err := g.root.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := g.root.Rename(name, to); err != nil {
			return fmt.Errorf("programs would obey %q, and it cannot be renamed: %w; remove it before you use them in that folder", name, err)
		}
		g.moved.add(name)
		return nil
	}
	return fmt.Errorf("programs would obey %q, and it cannot be renamed: %s-2 to %[2]s-%d are there; remove it before you use them in that folder", name, safe, tries)
}

// read looks at one file or folder.
func (g *Guard) read(name string) (setting, error) {
	info, err := g.root.Lstat(name)
	if err != nil {
		return setting{}, err
	}
	s := setting{kind: info.Mode().Type(), mode: info.Mode().Perm()}
	switch {
	case info.IsDir():
	case s.kind == fs.ModeSymlink:
		s.link, err = g.root.Readlink(name)
	case info.Mode().IsRegular():
		s.sum, err = sumOf(g.root, name)
		if err == nil && info.Size() <= maxSetting && g.bytes+info.Size() <= maxSettings {
			s.data, err = plainfile.Read(g.root, name, maxSetting)
			g.bytes += int64(len(s.data))
		}
	}
	if errors.Is(err, fs.ErrPermission) { // the agent could not read or change it, either
		err = nil
	}
	if isHead(name) {
		s.repo = g.isRepo(path.Dir(name))
		if s.repo { // the commit that is checked out may change
			s.sum, s.kind, s.link, s.mode = "", 0, "", 0
		}
	}
	return s, err
}
