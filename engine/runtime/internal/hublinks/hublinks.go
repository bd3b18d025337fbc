// Package hublinks lets the clients of the Hugging Face Hub in a sandbox find the models and
// datasets that the sandbox is shown, under their names at the Hub. It makes links in the
// cache of these clients, which is the sandbox's own:
//
//	models--ORG--NAME/refs/main               the commit
//	models--ORG--NAME/snapshots/COMMIT/PATH   absolute link to the file of the model
//	models--ORG--NAME/.no_exist/COMMIT/PATH   empty: the repository has no such file
//	.seer-links                               what of this is Seer's
//
// The links are single files, so that a client that reaches the Hub can add what is missing.
package hublinks

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seer-engine/seer/internal/lazyregexp"
)

// Copy is a commit of a repository in a folder of the machine.
type Copy struct {
	Repo   string   `json:"repo"` // org/name, or datasets/org/name
	Commit string   `json:"commit"`
	Refs   []string `json:"refs"`             // branches and tags by which it is found
	Absent []string `json:"absent,omitempty"` // files that the repository has not; no client asks for them
	Dir    string   `json:"-"`                // absolute; has the files
}

// maxFiles is how many files of a folder are linked one by one. Of a larger one the folder is
// linked as a whole, to which no client can add anything.
const maxFiles = 5000

const noteName = ".seer-links"

// Cache is where clients keep what they fetch, by the variables of their environment, as long
// as that is in their home; empty = elsewhere, for example on a volume that other machines
// use, too.
func Cache(home string, getenv func(string) string) string {
	dir := filepath.Join(home, ".cache", "huggingface", "hub")
	if base := getenv("XDG_CACHE_HOME"); base != "" {
		dir = filepath.Join(base, "huggingface", "hub")
	}
	if base := getenv("HF_HOME"); base != "" {
		dir = filepath.Join(base, "hub")
	}
	for _, name := range []string{"HUGGINGFACE_HUB_CACHE", "HF_HUB_CACHE"} {
		if set := getenv(name); set != "" {
			dir = set
		}
	}
	if rest, ok := strings.CutPrefix(dir, "~/"); ok {
		dir = filepath.Join(home, rest)
	}
	if rel, err := filepath.Rel(home, dir); err != nil || !filepath.IsLocal(rel) {
		return ""
	}
	return dir
}

// Make has the cache hold links to exactly these copies, and takes away those of earlier
// calls. What clients have stored there stays. Folders of copies that do not exist are left
// out.
func Make(cache string, copies []Copy) error {
	before, err := readNote(cache)
	if err != nil || len(before)+len(copies) == 0 {
		return err
	}
	for _, old := range before {
		if err := remove(cache, old); err != nil {
			return err
		}
	}
	made := []Copy{}
	for _, c := range copies {
		if info, err := os.Stat(c.Dir); err != nil || !info.IsDir() || !c.valid() {
			continue
		}
		made = append(made, c)
	}
	// The note is first: of what is not there yet, nothing has to be taken away.
	if err := writeNote(cache, made); err != nil {
		return err
	}
	for _, c := range made {
		if err := link(cache, c); err != nil {
			return err
		}
	}
	return nil
}

var (
	commit = lazyregexp.New(`^[0-9a-f]{40}$`)
	repo   = lazyregexp.New(`^(datasets/)?[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_][A-Za-z0-9._-]*)?$`)
)

func (c Copy) valid() bool {
	return commit().MatchString(c.Commit) && repo().MatchString(c.Repo) && filepath.IsAbs(c.Dir) &&
		!slices.ContainsFunc(slices.Concat(c.Refs, c.Absent), func(path string) bool { return !fs.ValidPath(path) || path == "." })
}

// folder is the folder of the repository.
func (c Copy) folder(cache string) string {
	kind, id := "models", c.Repo
	if rest, ok := strings.CutPrefix(c.Repo, "datasets/"); ok {
		kind, id = "datasets", rest
	}
	return filepath.Join(cache, kind+"--"+strings.ReplaceAll(id, "/", "--"))
}

func (c Copy) snapshot(cache string) string {
	return filepath.Join(c.folder(cache), "snapshots", c.Commit)
}

func (c Copy) ref(cache, name string) string {
	return filepath.Join(c.folder(cache), "refs", filepath.FromSlash(name))
}

// absent is where clients note that a file does not exist.
func (c Copy) absent(cache, name string) string {
	return filepath.Join(c.folder(cache), ".no_exist", c.Commit, filepath.FromSlash(name))
}

func link(cache string, c Copy) error {
	for _, name := range c.Absent {
		path := c.absent(cache, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			return err
		}
	}
	files, err := filesOf(c.Dir)
	if err != nil {
		return err
	}
	snapshot := c.snapshot(cache)
	if files == nil {
		if err := os.MkdirAll(filepath.Dir(snapshot), 0o755); err != nil {
			return err
		}
		return errors.Join(symlink(c.Dir, snapshot), c.writeRefs(cache))
	}
	for _, f := range files {
		path := filepath.Join(snapshot, f)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := symlink(filepath.Join(c.Dir, f), path); err != nil {
			return err
		}
	}
	return c.writeRefs(cache)
}

func (c Copy) writeRefs(cache string) error {
	for _, name := range c.Refs {
		path := c.ref(cache, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := replace(path, []byte(c.Commit)); err != nil {
			return err
		}
	}
	return nil
}

// symlink makes a link. What a client has stored under its name stays.
func symlink(to, path string) error {
	if err := os.Symlink(to, path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// filesOf lists the files of a folder as paths below it; nil = there are too many.
func filesOf(dir string) (files []string, err error) {
	files = []string{}
	if dir, err = filepath.EvalSymlinks(dir); err != nil { // it may lie on a volume
		return nil, err
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		files = append(files, rel)
		if len(files) > maxFiles {
			files = nil
			return fs.SkipAll
		}
		return err
	})
	return files, err
}

// remove takes away the links of a copy, and the folders that are empty then. Clients make
// relative links, Seer absolute ones.
func remove(cache string, c Copy) error {
	if !commit().MatchString(c.Commit) || !repo().MatchString(c.Repo) {
		return nil // the note was changed by somebody else
	}
	for _, name := range c.Refs {
		if !fs.ValidPath(name) || name == "." {
			continue
		}
		path := c.ref(cache, name)
		if text, err := os.ReadFile(path); err != nil || string(text) != c.Commit {
			continue
		}
		if err := os.Remove(path); err != nil {
			return err
		}
		removeEmpty(filepath.Dir(path), c.folder(cache))
	}
	for _, name := range c.Absent {
		if !fs.ValidPath(name) || name == "." {
			continue
		}
		path := c.absent(cache, name)
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		removeEmpty(filepath.Dir(path), c.folder(cache))
	}
	var folders []string
	err := filepath.WalkDir(c.snapshot(cache), func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case d.IsDir():
			folders = append(folders, path)
			return nil
		}
		if to, err := os.Readlink(path); err != nil || !filepath.IsAbs(to) {
			return nil
		}
		return os.Remove(path)
	})
	slices.Reverse(folders) // inner ones first
	for _, path := range folders {
		_ = os.Remove(path) // if it is empty
	}
	removeEmpty(filepath.Dir(c.snapshot(cache)), cache)
	return err
}

// removeEmpty removes a folder and those above it, as far as they are empty and below top.
func removeEmpty(dir, top string) {
	for dir != top && os.Remove(dir) == nil {
		dir = filepath.Dir(dir)
	}
}

func readNote(cache string) (copies []Copy, err error) {
	text, err := os.ReadFile(filepath.Join(cache, noteName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if json.Unmarshal(text, &copies) != nil {
		return nil, nil // code in the sandbox may write what it likes
	}
	return copies, nil
}

func writeNote(cache string, copies []Copy) error {
	path := filepath.Join(cache, noteName)
	if len(copies) == 0 {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return err
	}
	text, err := json.Marshal(copies)
	if err != nil {
		return err
	}
	return replace(path, text)
}

// replace writes a file as a whole.
func replace(path string, text []byte) error {
	temporary := path + ".seer.tmp"
	if err := os.WriteFile(temporary, text, 0o644); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}
