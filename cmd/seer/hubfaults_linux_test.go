package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/enginetest/fakehub"
)

// hubFault is what a user meets when something goes wrong at the Hub. The model is org/model,
// which is open, unless repo says otherwise.
type hubFault struct {
	name    string
	options fakehub.Options
	repo    func(*fakehub.Repo)
	hub     func(*fakehub.Hub)       // after it has started
	program func(*program)           // before the model is pulled
	faults  []fakehub.Fault          // removed when the command has ended
	files   map[string]fakehub.File  // default: modelFiles
	again   func(*fakehub.Hub) error // makes it go right, if removing the faults is not enough
	args    []string                 // default: models pull org/model

	code  int          // how the command ends
	says  []string     // of its error
	never bool         // it cannot go right
	uses  fakehub.Call // what the hub must be asked
	once  bool         // no file is asked for more often than once
}

// hubBlock is what a mover loses at most of one connection; see package transfer.
const hubBlock = 8 << 20

// firstBlobs is how many requests begin the downloads of the LFS files of modelFiles. A refusal
// means that a signature has expired only once the host has sent content.
const firstBlobs = 3

func modelFiles() map[string]fakehub.File {
	return map[string]fakehub.File{
		"config.json":            {Content: fakehub.Text(`{"a":1}`)},
		"deep/er/vocab €.txt":    {Content: fakehub.Text("a b")},
		"empty.txt":              {},
		"model-1.safetensors":    {Content: fakehub.Random(3*hubBlock+7, 1), Kind: fakehub.LFS},
		"model-2.safetensors":    {Content: fakehub.Random(100, 2), Kind: fakehub.LFS},
		"tokenizer/spiece.model": {Content: fakehub.Random(5000, 3), Kind: fakehub.LFS},
	}
}

// TestHubFaults pulls a model while something goes wrong. The model is right at the end, or
// there is one error with its exit code and no file that looks like one of the model; without
// the fault, the next pull then brings the model. The user's token goes to the API alone.
func TestHubFaults(t *testing.T) {
	t.Parallel()
	rows := slices.Concat(hubBodyFaults(), hubStatusFaults(), hubAccessFaults(), hubTreeFaults(), hubXetFaults())
	turns := make(chan struct{}, 6) // most of them wait for backoffs and timeouts
	var all sync.WaitGroup
	for _, row := range rows {
		all.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			t.Run(row.name, row.run)
		})
	}
	all.Wait()
}

func hubBodyFaults() []hubFault {
	blob := func(f fakehub.Fault) []fakehub.Fault {
		f.Call, f.Path = fakehub.Blob, "/blobs/*"
		return []fakehub.Fault{f}
	}
	gated := func(r *fakehub.Repo) { r.Gated, r.Readers = "auto", []string{"user"} }
	stalled := make(chan struct{})
	return []hubFault{
		{name: "nothing; the ETags of the content network are no hashes"},
		{name: "every redirect is absolute", faults: []fakehub.Fault{{Call: fakehub.Resolve, Redirect: fakehub.Absolute}}},
		{name: "a mirror sends large files itself", faults: []fakehub.Fault{{Call: fakehub.Resolve, Redirect: fakehub.Relative}}},
		{name: "a signature expires, of an open model", faults: blob(fakehub.Fault{Expired: true, Skip: firstBlobs, Times: 2})},
		{name: "a signature expires, of a gated model", repo: gated, faults: blob(fakehub.Fault{Expired: true, Skip: firstBlobs, Times: 2})},
		{name: "every signature has expired", repo: gated, faults: blob(fakehub.Fault{Expired: true}), code: 10, says: []string{"403"}},
		{name: "ranges are ignored", faults: blob(fakehub.Fault{IgnoreRange: true})},
		{name: "416 to each range", faults: blob(fakehub.Fault{NoRange: true})},
		{name: "416 to each request", faults: blob(fakehub.Fault{Status: 416}), code: 5, says: []string{"416"}},
		{name: "truncated", faults: blob(fakehub.Fault{Cut: true, After: 100_000, Times: 5})},
		{name: "truncated, and the header agrees", faults: blob(fakehub.Fault{Short: 70}), code: 5, says: []string{"not the file that was promised", "70"}},
		{name: "cut without a byte", faults: blob(fakehub.Fault{Cut: true, Times: 4})},
		{name: "cut without a byte, twice, of a gated model", repo: gated, faults: blob(fakehub.Fault{Cut: true, Times: 2})},
		{name: "a mirror of a gated model sends large files itself", repo: gated, faults: []fakehub.Fault{{Call: fakehub.Resolve, Redirect: fakehub.Relative}}},
		{name: "no answer, some times", faults: []fakehub.Fault{{Drop: true, Times: 3}}},
		{name: "a bit is flipped", faults: blob(fakehub.Fault{Flip: true, After: 10, Times: 1})},
		{name: "a bit of a small file is flipped", faults: []fakehub.Fault{{Call: fakehub.ResolveCache, Flip: true, Times: 1}}},
		{name: "a bit is flipped, always", faults: blob(fakehub.Fault{Flip: true, After: 10}), code: 5, says: []string{"not the file that was promised", "downloaded twice"}},
		{name: "stalled", faults: blob(fakehub.Fault{Stall: stalled, After: 1000, Times: 1})},
	}
}

func hubStatusFaults() []hubFault {
	return []hubFault{
		{name: "429 at resolve, with RateLimit", faults: []fakehub.Fault{{Call: fakehub.Resolve, Status: 429, Reset: time.Second, Times: 3}}},
		{name: "429 at the API, with RateLimit", faults: []fakehub.Fault{{Call: fakehub.Tree, Status: 429, Reset: time.Second, Times: 1}}},
		{name: "429 for an hour", faults: []fakehub.Fault{{Call: fakehub.Resolve, Status: 429, Reset: time.Hour}}, code: 6, says: []string{"429"}},
		{name: "429 at the API for an hour", faults: []fakehub.Fault{{Call: fakehub.Info, Status: 429, Reset: time.Hour}}, code: 6, says: []string{"limits requests"}},
		{name: "500 some times", faults: []fakehub.Fault{{Status: 500, Skip: 2, Times: 3}}},
		{name: "503 that asks to wait", faults: []fakehub.Fault{{Call: fakehub.Blob, Status: 503, RetryAfter: 1, Times: 2}}},
		{name: "502 always", faults: []fakehub.Fault{{Call: fakehub.Blob, Status: 502}}, code: 6, says: []string{"502", "what has arrived is kept"}},
		{name: "502 of the API", faults: []fakehub.Fault{{Call: fakehub.Info, Status: 502}}, code: 6, says: []string{"502"}},
		{name: "404 at the content network", faults: []fakehub.Fault{{Call: fakehub.Blob, Status: 404}}, code: 4, says: []string{"404"}},
		{name: "the Hub is not there", hub: (*fakehub.Hub).Close, code: 6, says: []string{"refused"}, never: true},
	}
}

func hubAccessFaults() []hubFault {
	repo := func(change func(*fakehub.Repo)) func(*fakehub.Repo) { return change }
	gated := repo(func(r *fakehub.Repo) { r.Gated = "manual" })
	private := repo(func(r *fakehub.Repo) { r.Private = true })
	open := func(h *fakehub.Hub) error {
		return h.Change("org/model", func(r *fakehub.Repo) { r.Private, r.Gated, r.Disabled = false, "", false })
	}
	rename := func(h *fakehub.Hub) {
		if err := h.Rename("org/model", "other/name"); err != nil {
			panic(err)
		}
	}
	token := func(value string) func(*program) {
		return func(p *program) {
			p.env = slices.DeleteFunc(p.env, func(v string) bool { return strings.HasPrefix(v, "HF_TOKEN=") })
			if value != "" {
				p.env = append(p.env, "HF_TOKEN="+value)
			}
		}
	}
	return []hubFault{
		{name: "renamed", hub: rename},
		{name: "renamed and private", hub: rename, repo: func(r *fakehub.Repo) { r.Private, r.Readers = true, []string{"user"} }},
		{name: "gated, no token", repo: gated, program: token(""), again: open, code: 10, says: []string{"org/model is gated", "/org/model", "HF_TOKEN"}},
		{name: "gated, not approved", repo: gated, again: open, code: 10, says: []string{"org/model is gated", "ask for access at", "/org/model"}},
		{name: "gated, approved", repo: func(r *fakehub.Repo) { r.Gated, r.Readers = "manual", []string{"user"} }},
		{name: "private, no token", repo: private, program: token(""), again: open, code: 4, says: []string{"org/model does not exist on the Hub, or is private"}},
		{name: "private, of others", repo: private, again: open, code: 4, says: []string{"may not see it"}},
		{name: "private, of the user", repo: func(r *fakehub.Repo) { r.Private, r.Readers = true, []string{"user"} }},
		{name: "disabled", repo: func(r *fakehub.Repo) { r.Disabled = true }, again: open, code: 10, says: []string{"is disabled on the Hub"}},
		{name: "a token that nobody knows", repo: private, program: token("hf_wrong"), code: 10, says: []string{"the Hub refuses the token"}, never: true},
		{name: "no such revision", args: []string{"org/model@v9"}, code: 4, says: []string{"no branch, tag or commit", "v9"}, never: true},
	}
}

func hubTreeFaults() []hubFault {
	with := func(more map[string]fakehub.File) map[string]fakehub.File {
		all := modelFiles()
		for name, f := range more {
			all[name] = f
		}
		return all
	}
	one := func(path string) map[string]fakehub.File {
		return with(map[string]fakehub.File{path: {Content: fakehub.Text("x")}})
	}
	many := map[string]fakehub.File{}
	for i := range 40 {
		many[fmt.Sprintf("part/%02d.json", i)] = fakehub.File{Content: fakehub.Text(fmt.Sprint(i))}
	}
	return []hubFault{
		{name: "pages of a tree", options: fakehub.Options{PageSize: 7}, files: with(many), once: true},
		{name: "a page of a tree is cut", options: fakehub.Options{PageSize: 7}, files: with(many), faults: []fakehub.Fault{{Call: fakehub.Tree, Skip: 2, Times: 1, Cut: true, After: 20}}},
		{name: "names that collide on case", files: with(map[string]fakehub.File{"a/README.txt": {Content: fakehub.Text("1")}, "A/readme.txt": {Content: fakehub.Text("2")}})},
		{name: "a path that leads out", files: one("../evil.json"), code: 3, says: []string{"../evil.json", "leads out of the repository"}, never: true},
		{name: "a path from the root", files: one("/etc/evil.json"), code: 3, says: []string{"/etc/evil.json", "leads out of the repository"}, never: true},
		{name: "a path with an empty part", files: one("a//evil.json"), code: 3, says: []string{"leads out of the repository"}, never: true},
		{name: "a file that is a folder, too", files: with(map[string]fakehub.File{"x.json": {}, "x.json/y.json": {}}), code: 5, says: []string{`"x.json"`}, never: true},
		{name: "no file", files: map[string]fakehub.File{}, code: 3, says: []string{"org/model"}, never: true},
	}
}

// hubXetFaults are those of the Xet storage. Plain HTTPS mends them.
func hubXetFaults() []hubFault {
	sparse := fakehub.Bytes(slices.Concat(bytes.Repeat([]byte("weights "), hubBlock/4), bytes.Repeat([]byte{0, 1, 2}, hubBlock/3)))
	rows := []hubFault{
		{name: "Xet, nothing"},
		{name: "Xet lies about a chunk", faults: []fakehub.Fault{{Call: fakehub.Xorb, Lie: true}}},
		{name: "Xet, a bit is flipped", faults: []fakehub.Fault{{Call: fakehub.Xorb, Flip: true, After: 100, Times: 1}}},
		{name: "Xet, cut", faults: []fakehub.Fault{{Call: fakehub.Xorb, Cut: true, After: 100, Times: 1}}},
		{name: "Xet has no reconstruction", faults: []fakehub.Fault{{Call: fakehub.Reconstruction, Status: 404}}},
		{name: "Xet gives no token", faults: []fakehub.Fault{{Call: fakehub.XetToken, Status: 500}}},
		{name: "Xet, a signature expires", faults: []fakehub.Fault{{Call: fakehub.Xorb, Expired: true, Times: 1}}},
	}
	for i := range rows {
		rows[i].files = modelFiles()
		rows[i].files["model-1.safetensors"] = fakehub.File{Content: sparse, Kind: fakehub.Xet}
		rows[i].uses = fakehub.XetToken
	}
	return rows
}

func (f hubFault) run(t *testing.T) {
	if f.files == nil {
		f.files = modelFiles()
	}
	repo := fakehub.Repo{ID: "org/model", Commits: []fakehub.Commit{{Files: f.files}}}
	if f.repo != nil {
		f.repo(&repo)
	}
	h, err := fakehub.New(f.options)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if err := h.Add(repo); err != nil {
		t.Fatal(err)
	}
	p := hubProgram(t, h)
	home := p.ownCache()
	if f.hub != nil {
		f.hub(h)
	}
	if f.program != nil {
		f.program(p)
	}
	for _, fault := range f.faults {
		h.Inject(fault)
	}
	args := append([]string{"models", "pull"}, cmp.Or(strings.Join(f.args, " "), "org/model"))
	out, said := p.ends(f.code, args...)
	h.ClearFaults()
	if f.code == 0 {
		wantModel(t, out, f.files)
	} else {
		f.wantError(p, home, out, said)
		if !f.never {
			f.pullAgain(p, h)
		}
	}
	if f.uses != "" && h.Count(fakehub.API, f.uses).Requests == 0 {
		t.Errorf("the Hub was not asked for %s", f.uses)
	}
	asked := h.Count(fakehub.API, fakehub.Resolve, fakehub.ResolveCache).Requests
	if most := 2 * len(f.files); f.once && asked > most { // each is led to its content
		t.Errorf("%d requests for %d files, want at most %d", asked, len(f.files), most)
	}
	for _, r := range h.Requests() {
		if r.HubToken && r.Host != fakehub.API {
			t.Errorf("the token went to %s: %+v", r.Host, r)
		}
	}
}

// wantError expects one sentence, and nothing that a program could take for the model.
func (f hubFault) wantError(p *program, home, out, said string) {
	p.t.Helper()
	if out != "" || strings.Count("\n"+said, "\nseer: ") != 1 || strings.Contains(said, "hf_") {
		p.t.Errorf("stdout:\n%s\nstderr:\n%s", out, said)
	}
	for _, words := range f.says {
		if !strings.Contains(said, words) {
			p.t.Errorf("the error lacks %q:\n%s", words, said)
		}
	}
	for _, path := range visible(p.t, home) {
		p.t.Errorf("left behind: %s", path)
	}
	if list := decoded[[]listedModel](p, "models", "ls"); len(list) > 0 && len(list[0].Revisions) > 0 {
		p.t.Errorf("the model is listed: %+v", list)
	}
}

// visible are the files in the caches that are neither complete contents under the names of
// their hashes nor named as parts of a download.
func visible(t *testing.T, home string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		in := filepath.Base(filepath.Dir(path))
		known := strings.HasSuffix(path, ".lock") || strings.HasSuffix(path, ".incomplete") || strings.HasSuffix(path, ".incomplete.ranges") || strings.HasSuffix(path, ".seer")
		switch {
		case known, d.Name() == "CACHEDIR.TAG", d.Name() == "swept", in == ".rates": // how fast it came, also of what was broken off
		case in == "blobs":
			if data, err := os.ReadFile(path); err != nil || blobNames(data) != d.Name() && fmt.Sprintf("%x", sha256.Sum256(data)) != d.Name() {
				found = append(found, path)
			}
		case strings.Contains(path, "/snapshots/"), strings.Contains(path, "/models/"):
			found = append(found, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func (f hubFault) pullAgain(p *program, h *fakehub.Hub) {
	p.t.Helper()
	if f.again != nil {
		if err := f.again(h); err != nil {
			p.t.Fatal(err)
		}
	}
	out, _ := p.ends(0, "models", "pull", "org/model")
	wantModel(p.t, out, f.files)
}

// wantModel compares a folder that a command has printed with the files of a model.
func wantModel(t *testing.T, out string, files map[string]fakehub.File) {
	t.Helper()
	dir := strings.TrimSpace(out)
	found := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		found++
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		want, known := files[name]
		if !known {
			t.Errorf("%s is not a file of the model", name)
			return nil
		}
		have, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if sha256.Sum256(have) != contentSum(t, want.Content) {
			t.Errorf("%s has other bytes", name)
		}
		return nil
	})
	if err != nil || found != len(files) {
		t.Errorf("%q has %d files, want %d: %v", dir, found, len(files), err)
	}
}

func contentSum(t *testing.T, c fakehub.Content) (sum [sha256.Size]byte) {
	t.Helper()
	if c == nil {
		return sha256.Sum256(nil)
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(c, 0, c.Size())); err != nil {
		t.Fatal(err)
	}
	return [sha256.Size]byte(h.Sum(nil))
}
