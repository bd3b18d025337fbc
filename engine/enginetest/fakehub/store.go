package fakehub

import (
	"crypto/sha1" // what git names its objects with
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
)

// repo is a repository and its state.
type repo struct {
	Repo
	commits []*commit
}

type commit struct {
	sha   string
	title string
	date  time.Time
	files map[string]*file
	paths []string // sorted
}

// file is a file and the names that its content has.
type file struct {
	content Content
	kind    Kind
	xets    *xetStore

	once   sync.Once
	oid    string   // git's, of the content or of the pointer
	sha256 string   // not for Git
	xet    *xetFile // for Xet
	err    error    // reading failed
}

func (h *Hub) newRepo(r Repo) (*repo, error) {
	if r.Type == "" {
		r.Type = Model
	}
	state := &repo{Repo: r}
	state.Branches, state.Tags, state.Pulls = maps.Clone(r.Branches), maps.Clone(r.Tags), maps.Clone(r.Pulls)
	if len(r.Commits) == 0 {
		r.Commits = []Commit{{Title: "initial commit"}}
	}
	for _, c := range r.Commits {
		if err := h.addCommit(state, c); err != nil {
			return nil, err
		}
	}
	if state.Branches == nil {
		state.Branches = map[string]int{}
	}
	if _, named := state.Branches["main"]; !named {
		state.Branches["main"] = len(state.commits) - 1
	}
	for name, at := range state.refs() {
		if at < 0 || at >= len(state.commits) {
			return nil, fmt.Errorf("repository %s: %s is commit %d of %d", r.ID, name, at, len(state.commits))
		}
	}
	return state, nil
}

// addCommit appends a commit, whose name depends on all that is before it.
func (h *Hub) addCommit(r *repo, c Commit) error {
	made := &commit{title: c.Title, date: h.now().UTC().Truncate(time.Second), files: map[string]*file{}}
	if made.title == "" {
		made.title = fmt.Sprintf("Commit %d", len(r.commits))
	}
	sum := sha1.New()
	_, _ = fmt.Fprintf(sum, "%s %s %d %s\n", r.Type, r.ID, len(r.commits), made.title)
	for _, name := range slices.Sorted(maps.Keys(c.Files)) {
		f := c.Files[name]
		if f.Content == nil {
			f.Content = Text("")
		}
		state := &file{content: f.Content, kind: f.Kind, xets: h.xets}
		if err := state.name(); err != nil {
			return fmt.Errorf("repository %s: read %s: %w", r.ID, name, err)
		}
		made.files[name] = state
		made.paths = append(made.paths, name)
		_, _ = fmt.Fprintf(sum, "%s %s\n", state.oid, name)
	}
	made.sha = hex.EncodeToString(sum.Sum(nil))
	r.commits = append(r.commits, made)
	return nil
}

// name computes the names of the content, once.
func (f *file) name() error {
	f.once.Do(func() {
		if f.kind == Git {
			f.oid, f.err = blobID(f.content)
			return
		}
		sum := sha256.New()
		if f.err = consume(sum, f.content); f.err != nil {
			return
		}
		f.sha256 = hex.EncodeToString(sum.Sum(nil))
		if f.oid, f.err = blobID(Text(f.pointer())); f.err == nil && f.kind == Xet {
			f.xet, f.err = f.xets.add(f.content)
		}
	})
	return f.err
}

// pointer is what git has in place of a file of LFS.
func (f *file) pointer() string {
	return fmt.Sprintf("version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %d\n", f.sha256, f.content.Size())
}

func blobID(c Content) (string, error) {
	sum := sha1.New()
	_, _ = fmt.Fprintf(sum, "blob %d\x00", c.Size())
	err := consume(sum, c)
	return hex.EncodeToString(sum.Sum(nil)), err
}

func consume(sum hash.Hash, c Content) error {
	n, err := io.Copy(sum, whole(c))
	if err == nil && n != c.Size() {
		err = fmt.Errorf("the content has %d bytes and says %d", n, c.Size())
	}
	return err
}

// refs are all names of commits.
func (r *repo) refs() map[string]int {
	all := map[string]int{}
	for name, at := range r.Branches {
		all[name], all["refs/heads/"+name] = at, at
	}
	for name, at := range r.Tags {
		all[name], all["refs/tags/"+name] = at, at
	}
	for n, at := range r.Pulls {
		all[fmt.Sprintf("refs/pr/%d", n)] = at
	}
	return all
}

// at finds the commit that a revision names.
func (r *repo) at(rev string) *commit {
	if at, known := r.refs()[rev]; known {
		return r.commits[at]
	}
	i := slices.IndexFunc(r.commits, func(c *commit) bool { return c.sha == rev })
	if i < 0 {
		return nil
	}
	return r.commits[i]
}

// folders are the folders of a commit, sorted.
func (c *commit) folders() []string {
	found := map[string]bool{}
	for _, p := range c.paths {
		for dir := path.Dir(p); dir != "." && dir != "/"; dir = path.Dir(dir) {
			found[dir] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// folderID is a name for the content of a folder.
func (c *commit) folderID(dir string) string {
	sum := sha1.New()
	for _, p := range c.paths {
		if strings.HasPrefix(p, dir+"/") {
			_, _ = fmt.Fprintf(sum, "%s %s\n", c.files[p].oid, p)
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}
