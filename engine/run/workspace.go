package run

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/collect"
	"github.com/seer-engine/seer/engine/isolation/filebits"
	"github.com/seer-engine/seer/engine/plainfile"
	"github.com/seer-engine/seer/engine/remedy"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/engine/surface"
	workspaces "github.com/seer-engine/seer/engine/workspace"
)

// lockFile is there while a run works in the workspace.
const lockFile = ".seer-workspace.lock"

// workspace is the agent's folder while it is being filled.
type workspace struct {
	dir     string
	root    *os.Root
	written map[string]string // slash path → hex SHA-256 of what was written
	before  map[string]string // the same, from the run before
	lock    *os.File          // one run at a time
	notes   string            // where written is kept: not in the folder, where the agent could change it
	running string            // the file that says that a run works here; empty = none yet
	now     time.Time
	warn    func(format string, args ...any)
	guard   *collect.Guard  // of what programs obey; nil = there is none
	modes   *filebits.Modes // what others may do there; nil = it is not restored

	uncollected bool // outputs of this run may be left there

	overwrite bool // for tests: what is in the way of a surface is replaced
	leaveOpen bool // for tests: what the agent opens to other users stays open
}

// BusyError says that another run works in the workspace.
type BusyError struct{ Dir string }

func (e *BusyError) Error() string {
	return fmt.Sprintf("another run is working in the workspace %s; wait for it, or give this one folders of its own in workspace.dir and outputs", e.Dir)
}

// Remedy implements [remedy.Carrier].
func (e *BusyError) Remedy() []remedy.Remedy {
	return []remedy.Remedy{{Action: remedy.SetFolder, Field: "workspace.dir"}, {Action: remedy.SetFolder, Field: "outputs"}}
}

// openWorkspace makes and locks the folder. records remember what Seer wrote, so that a
// second run can replace its own files and never one that the user or the agent changed.
func openWorkspace(dir string, records surface.Records, now time.Time, warn func(string, ...any)) (*workspace, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the workspace: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the workspace: %w", err)
	}
	w := &workspace{dir: dir, root: root, now: now, warn: warn, written: map[string]string{}, before: map[string]string{}}
	if w.lock, err = w.acquire(); err != nil {
		root.Close()
		return nil, err
	}
	if err = w.remember(records); err == nil {
		err = w.begin()
	}
	if err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

// begin notes that a run works here. What an earlier run could not collect, such as one that
// was killed, would look like results of this one, so it is kept under another name.
func (w *workspace) begin() error {
	running := w.notes + ".running"
	_, err := os.Stat(running)
	if errors.Is(err, fs.ErrNotExist) {
		w.running = running
		return os.WriteFile(running, nil, 0o600)
	}
	if err != nil {
		return err
	}
	if _, err := w.root.Lstat(outputsName); errors.Is(err, fs.ErrNotExist) {
		w.running = running
		return nil
	}
	kept := outputsName + ".kept-" + w.now.Format("20060102-150405")
	if err := w.root.Rename(outputsName, kept); err != nil {
		return fmt.Errorf("keep what an interrupted run has left in %s: %w", filepath.Join(w.dir, outputsName), err)
	}
	w.running = running // and not before: the next run has to know, too
	w.warn("%s has what an earlier run made and did not collect; it is kept as %s", outputsName, kept)
	return nil
}

// remember reads what the run before wrote.
func (w *workspace) remember(records surface.Records) (err error) {
	if w.notes, err = records.File(w.dir); err != nil {
		return err
	}
	data, err := os.ReadFile(w.notes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(data, &w.before)
	}
	if err != nil {
		return fmt.Errorf("read the list of files of the previous run: %w; if you remove it, Seer treats all files in the workspace as yours", err)
	}
	return nil
}

func (w *workspace) close() error {
	if w.running != "" && !w.uncollected {
		_ = os.Remove(w.running)
	}
	_ = w.root.Remove(lockFile)
	_ = w.lock.Close()
	return w.root.Close()
}

// save writes the record of this run's files, and of those of the run before that
// are still to be replaced or swept: a run may end before it comes to that.
func (w *workspace) save() error {
	all := map[string]string{}
	maps.Copy(all, w.before)
	maps.Copy(all, w.written)
	data, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	return state.WriteFile(w.notes, append(data, '\n'), 0o600)
}

// file puts one that was read before.
func (w *workspace) file(f workspaces.File) error {
	r, err := f.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	return w.write(f.Path, data, f.Mode.Perm())
}

// add copies a file or folder of the user's into the workspace, as name.
func (w *workspace) add(source, name string) error {
	info, err := os.Stat(source)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		data, err := os.ReadFile(source)
		if err != nil {
			return err
		}
		return w.write(name, data, info.Mode().Perm())
	}
	return w.addTree(source, name)
}

func (w *workspace) addTree(source, name string) error {
	src, err := os.OpenRoot(source)
	if err != nil {
		return err
	}
	defer src.Close()
	return fs.WalkDir(src.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "__pycache__" || d.Name() == ".git"):
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		info, err := fs.Stat(src.FS(), p) // follows a link that stays inside
		if err != nil {
			return fmt.Errorf("%s: %w", filepath.Join(source, p), err)
		}
		if !info.Mode().IsRegular() {
			return nil
		}
		data, err := src.ReadFile(p)
		if err != nil {
			return err
		}
		return w.write(path.Join(name, filepath.ToSlash(p)), data, info.Mode().Perm())
	})
}

// write puts one file. What stands there already and is not ours is kept under
// another name.
func (w *workspace) write(name string, data []byte, mode fs.FileMode) error {
	if err := w.vacate(name); err != nil {
		return err
	}
	sum := hash(data)
	old, err := w.sum(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return fmt.Errorf("%s is in the way: %w", filepath.Join(w.dir, name), err)
	case old == sum:
		w.written[name] = sum
		return nil
	case w.before[name] != old:
		if err := w.aside(name); err != nil {
			return err
		}
	}
	if err := w.root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	tmp := name + ".seer-tmp"
	_ = w.root.RemoveAll(tmp)
	if err := w.root.WriteFile(tmp, data, mode|0o200); err != nil {
		_ = w.root.Remove(tmp)
		return err
	}
	if err := w.root.Rename(tmp, name); err != nil {
		_ = w.root.Remove(tmp)
		return err
	}
	w.written[name] = sum
	return nil
}

// adopt notes files that another package wrote into the workspace.
func (w *workspace) adopt(files []string) error {
	for _, f := range files {
		rel, err := filepath.Rel(w.dir, f)
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		sum, err := w.sum(rel)
		if err != nil {
			return err
		}
		w.written[filepath.ToSlash(rel)] = sum
	}
	return nil
}

// sweep takes away what the run before wrote and this one did not.
func (w *workspace) sweep() {
	var stale []string
	for name, sum := range w.before {
		if _, again := w.written[name]; !again {
			stale = append(stale, filepath.Join(w.dir, filepath.FromSlash(name)))
			w.written[name] = sum
		}
	}
	w.remove(stale)
	for name := range w.before {
		if slices.Contains(stale, filepath.Join(w.dir, filepath.FromSlash(name))) {
			delete(w.written, name) // changed since, so it is somebody else's now
		}
	}
	w.before = map[string]string{}
}

// remove takes away files that have no use after the run, such as a connection
// to a sandbox that is gone, and the folders that this leaves empty.
func (w *workspace) remove(files []string) {
	dirs := map[string]bool{}
	for _, f := range files {
		rel, err := filepath.Rel(w.dir, f)
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		rel = filepath.ToSlash(rel)
		sum, err := w.sum(rel)
		if err != nil || w.written[rel] != sum {
			continue // changed since: no longer ours
		}
		if w.root.Remove(rel) != nil {
			continue
		}
		delete(w.written, rel)
		for d := path.Dir(rel); d != "."; d = path.Dir(d) {
			dirs[d] = true
		}
	}
	deepest := make([]string, 0, len(dirs))
	for d := range dirs {
		deepest = append(deepest, d)
	}
	sort.Slice(deepest, func(i, j int) bool { return strings.Count(deepest[i], "/") > strings.Count(deepest[j], "/") })
	for _, d := range deepest {
		_ = w.root.RemoveAll(path.Join(d, "__pycache__"))
		_ = w.root.Remove(d) // stays if the agent put something there
	}
}

// clear makes the way free for a file that another package writes.
func (w *workspace) clear(name string) error {
	if err := w.vacate(name); err != nil {
		return err
	}
	sum, err := w.sum(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("%s is in the way: %w", filepath.Join(w.dir, name), err)
	case w.before[name] == sum || w.overwrite:
		return w.root.Remove(name)
	}
	return w.aside(name)
}

// watch begins to guard the folder before the agent works in it.
func (w *workspace) watch(ctx context.Context) (err error) {
	if folder := openAbove(w.dir); folder != "" {
		w.warn("other users of this computer can reach the workspace %s, and the agent can let them write there while it runs; close a folder above it to them, such as with chmod o-x %s", w.dir, folder)
	}
	if w.modes, err = filebits.Remember(w.dir); err != nil {
		return fmt.Errorf("read the modes of the workspace: %w", err)
	}
	w.guard, err = collect.Watch(ctx, w.root, outputsName, w.warn)
	return err
}

// refuseObeyed makes sure that the agent has left nothing there that programs obey.
func (w *workspace) refuseObeyed(ctx context.Context) error {
	if w.guard == nil {
		return nil
	}
	return w.guard.Settle(ctx)
}

// sum is the hash of a plain file; the agent may have put anything else there.
func (w *workspace) sum(name string) (string, error) {
	f, info, err := plainfile.Open(w.root, name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	_, err = io.Copy(sum, io.LimitReader(f, info.Size())) // it may be growing
	return hex.EncodeToString(sum.Sum(nil)), err
}

func hash(data []byte) string { return surface.Sum(data) }
