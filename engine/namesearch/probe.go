package namesearch

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Request says what to look for in a sandbox, and where.
type Request struct {
	Spec
	Roots []string `json:"roots"` // folders; ~ is the home
	// Vocabularies are folders of models. In files of them that hold a vocabulary, only
	// whole names count.
	Vocabularies []string `json:"vocabularies,omitempty"`
}

// Answer is what a search has found.
type Answer struct {
	Places     []string `json:"places"`               // where a name is
	Unsearched []string `json:"unsearched,omitempty"` // what could not be searched, and why
}

// Mask writes a request so that none of its words stand in it: the runtime that passes it
// on keeps it in its memory, which processes of the sandbox can read. key is random.
func (r Request) Mask(key []byte) ([]byte, error) {
	data, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	return json.Marshal(masked{hex.EncodeToString(key), hex.EncodeToString(mix(data, key))})
}

type masked struct {
	Key  string `json:"key"`
	Text string `json:"text"`
}

func mix(data, key []byte) []byte {
	out := make([]byte, len(data))
	for i, c := range data {
		out[i] = c ^ key[i%len(key)]
	}
	return out
}

func unmask(data []byte) (r Request, err error) {
	var m masked
	if err := json.Unmarshal(data, &m); err != nil {
		return r, err
	}
	key, err := hex.DecodeString(m.Key)
	if err != nil || len(key) == 0 {
		return r, errors.Join(errors.New("the request has no key"), err)
	}
	text, err := hex.DecodeString(m.Text)
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(mix(text, key), &r)
}

// Main is the program inside the sandbox: it reads a masked [Request] from in, writes an
// [Answer] to out, and returns the exit code.
func Main(ctx context.Context, in io.Reader, out, failures io.Writer) int {
	data, err := io.ReadAll(in)
	if err == nil {
		var r Request
		if r, err = unmask(data); err == nil {
			err = json.NewEncoder(out).Encode(Probe(ctx, r))
		}
	}
	if err != nil {
		fmt.Fprintln(failures, "search for names:", err)
		return 1
	}
	return 0
}

// Probe looks for names in whatever a process of this machine can read: folders, its
// environment, and what the system says of processes and mounts.
func Probe(ctx context.Context, r Request) Answer {
	names := Compile(r.Spec)
	t := &tree{ctx: ctx, names: names, vocabulary: names.Whole(), models: r.Vocabularies}
	for _, root := range r.Roots {
		if rest, home := strings.CutPrefix(root, "~"); home {
			root = os.Getenv("HOME") + rest
		}
		t.walk(root)
	}
	t.text("the environment", []byte(strings.Join(os.Environ(), "\n")))
	t.system()
	slices.Sort(t.answer.Places)
	t.answer.Places = slices.Compact(t.answer.Places)
	return t.answer
}

// Folder looks for names in a file or folder of this computer, and in its own name.
func (n Names) Folder(ctx context.Context, path string) Answer {
	t := &tree{ctx: ctx, names: n, follow: true}
	t.encodedName(path, filepath.Base(path))
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	t.walk(path)
	return t.answer
}

// Below looks for names in everything below a folder of this computer.
func (n Names) Below(ctx context.Context, folder string) Answer {
	t := &tree{ctx: ctx, names: n}
	t.walk(folder)
	return t.answer
}

// tree looks through folders.
type tree struct {
	ctx               context.Context
	names, vocabulary Names
	models            []string
	follow            bool // files that links lead to are searched, too
	answer            Answer
}

func (t *tree) text(where string, data []byte) {
	if form, found := t.names.Find(t.ctx, data); found {
		t.found(where, form)
	}
}

func (t *tree) found(where, form string) {
	t.answer.Places = append(t.answer.Places, Place(where, form))
}

// Place is a place for people, with the form in which a name is there.
func Place(where, form string) string {
	if form == "" {
		return where
	}
	return where + " (" + form + ")"
}

// Add takes the places of another answer.
func (a *Answer) Add(b Answer) {
	a.Places = append(a.Places, b.Places...)
	a.Unsearched = append(a.Unsearched, b.Unsearched...)
}

// Folders that are not walked: other people's programs, of which only the names of the
// packages are looked at, and the runtime, which is the same in every sandbox.
var (
	packages = map[string]bool{"site-packages": true, "dist-packages": true, "node_modules": true}
	runtimes = map[string]bool{"/seer/runtime": true}
)

// walk looks at the names and contents of everything below a folder. What cannot be read
// is not for the agent either.
func (t *tree) walk(root string) {
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case t.ctx.Err() != nil:
			return t.ctx.Err()
		case err != nil:
			return nil
		case path != root:
			t.encodedName(path, d.Name())
		}
		switch {
		case d.IsDir() && runtimes[path]:
			return fs.SkipDir
		case d.IsDir() && packages[d.Name()]:
			t.packages(path)
			return fs.SkipDir
		case d.Type()&fs.ModeSymlink != 0:
			t.link(path)
			if info, err := os.Stat(path); t.follow && err == nil && info.Mode().IsRegular() {
				t.file(path)
			} // else what it leads to is searched where it lies
		case d.Type().IsRegular():
			t.file(path)
		}
		return nil
	})
}

func (t *tree) encodedName(path, name string) {
	if form, found := t.names.Find(t.ctx, []byte(name)); found {
		t.found("the name of "+path, form)
	}
}

// packages looks at the names of installed packages.
func (t *tree) packages(path string) {
	entries, _ := os.ReadDir(path)
	for _, e := range entries {
		if t.names.In([]byte(e.Name())) {
			t.found("the name of "+filepath.Join(path, e.Name()), "")
		}
	}
}

func (t *tree) link(path string) {
	if to, err := os.Readlink(path); err == nil && t.names.In([]byte(to)) {
		t.found("where "+path+" leads", "")
	}
}

func (t *tree) file(path string) {
	names := t.names
	if t.isVocabulary(path) {
		names = t.vocabulary
	}
	form, found, err := names.FindIn(t.ctx, path)
	var unsearched *UnsearchedError
	switch {
	case found:
		t.found("the file "+path, form)
	case errors.As(err, &unsearched):
		t.answer.Unsearched = append(t.answer.Unsearched, unsearched.Path+": "+unsearched.Why)
	}
}

func (t *tree) isVocabulary(path string) bool {
	return IsVocabulary(filepath.Base(path)) && slices.ContainsFunc(t.models, func(dir string) bool { return strings.HasPrefix(path, dir+"/") })
}

// IsVocabulary reports whether files of models with this name hold a vocabulary, in which
// ordinary words stand.
func IsVocabulary(name string) bool {
	switch strings.ToLower(name) {
	case "tokenizer.json", "vocab.json", "vocab.txt", "merges.txt", "vocab.bpe", "encoder.json", "dict.txt":
		return true
	}
	return strings.HasSuffix(strings.ToLower(name), ".model") // of sentencepiece
}

// system looks at what the system says of this machine and its processes.
func (t *tree) system() {
	files := []string{"/proc/self/mountinfo", "/proc/mounts", "/proc/net/unix", "/proc/sys/kernel/hostname", "/etc/hostname", "/etc/hosts"}
	for _, pattern := range []string{"environ", "cmdline", "comm", "maps", "cgroup"} {
		found, _ := filepath.Glob("/proc/[0-9]*/" + pattern)
		files = append(files, found...)
	}
	for _, path := range files {
		if data, err := os.ReadFile(path); err == nil {
			t.text(path, data)
		}
	}
	for _, pattern := range []string{"/proc/[0-9]*/fd/*", "/proc/[0-9]*/cwd", "/proc/[0-9]*/exe", "/proc/[0-9]*/root"} {
		links, _ := filepath.Glob(pattern)
		for _, path := range links {
			t.link(path)
		}
	}
}
