package notebook_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/seer-engine/seer/engine/notebook"
	"github.com/seer-engine/seer/internal/testkit"
)

// book is a service with notebooks that a test writes.
type book struct {
	mu       sync.Mutex
	contents map[string]string // by session
	paths    map[string]string
	versions map[string]int
	changed  chan struct{}
	cut      bool // answers break off
	asked    int  // how often, for notebooks
}

func newBook() *book {
	return &book{contents: map[string]string{}, paths: map[string]string{}, versions: map[string]int{}, changed: make(chan struct{})}
}

func (b *book) write(session, path, content string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.contents[session], b.paths[session] = content, path
	b.versions[session]++
	close(b.changed)
	b.changed = make(chan struct{})
}

func (b *book) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	session, notebookToo := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/seer/v1/sessions/"), "/notebook")
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.contents[session]; !ok {
		w.WriteHeader(404)
		fmt.Fprint(w, `{"error":{"code":"not_found","message":"no such session"}}`)
		return
	}
	if !notebookToo {
		_ = json.NewEncoder(w).Encode(map[string]any{"id": session, "path": b.paths[session]})
		return
	}
	b.asked++
	for wait := r.URL.Query().Get("wait") != "0"; wait && r.URL.Query().Get("unless") == fmt.Sprint("v", b.versions[session]); {
		changed := b.changed
		b.mu.Unlock()
		select {
		case <-changed:
		case <-r.Context().Done():
		}
		b.mu.Lock()
		if r.Context().Err() != nil {
			return
		}
	}
	v := fmt.Sprint("v", b.versions[session])
	w.Header().Set("X-Seer-Version", v)
	if r.URL.Query().Get("unless") == v {
		w.WriteHeader(304)
		return
	}
	if b.cut {
		b.cut = false
		w.Header().Set("Content-Length", "100000")
		fmt.Fprint(w, "{")
		hangUp()
	}
	fmt.Fprint(w, b.contents[session])
}

func (b *book) requests() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.asked
}

func (b *book) client(t *testing.T) *notebook.Client {
	t.Helper()
	srv := httptest.NewServer(b)
	t.Cleanup(srv.Close)
	return clientOf(t, srv.URL)
}

func waitForFile(t *testing.T, path, want string) {
	t.Helper()
	testkit.EventuallyNil(t, path, func() error {
		data, err := os.ReadFile(path)
		if err == nil && string(data) != want {
			err = fmt.Errorf("it has %q, not %q", data, want)
		}
		return err
	})
}

func TestMirrorFollows(t *testing.T) {
	b := newBook()
	b.write("s", "notebooks/a b é.ipynb", "one")
	dir := filepath.Join(t.TempDir(), "not yet", "there")
	var warned []string
	m := notebook.NewMirror(b.client(t), "s", dir, func(text string) { warned = append(warned, text) })
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.Run(ctx)
	}()
	path := filepath.Join(dir, "a b é.ipynb")
	waitForFile(t, path, "one")
	b.mu.Lock()
	b.cut = true
	b.mu.Unlock()
	b.write("s", "notebooks/a b é.ipynb", "two")
	waitForFile(t, path, "two")
	b.write("s", "notebooks/a b é.ipynb", "three")
	cancel() // the last change is saved although the user has gone
	<-done
	waitForFile(t, path, "three")
	if m.Path() != path {
		t.Errorf("the copy is at %q", m.Path())
	}
	for _, text := range warned {
		if !strings.Contains(text, "cannot be saved") && !strings.Contains(text, "saved again") {
			t.Errorf("%q", text)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 { // the notebook, and whose it is
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestMirrorOverwritesNobody(t *testing.T) {
	dir := t.TempDir()
	b := newBook()
	c := b.client(t)
	save := func(c *notebook.Client, session string) string {
		t.Helper()
		m := notebook.NewMirror(c, session, dir, nil)
		if err := m.Save(t.Context()); err != nil {
			t.Fatal(err)
		}
		return filepath.Base(m.Path())
	}
	b.write("one", "notebooks/n.ipynb", "1")
	b.write("two", "elsewhere/n.ipynb", "2")
	b.write("three", "notebooks/mine.ipynb", "3")
	if err := os.WriteFile(filepath.Join(dir, "mine.ipynb"), []byte("the user's own"), 0o644); err != nil {
		t.Fatal(err)
	}
	other := newBook() // another sandbox with the same notebook
	other.write("one", "notebooks/n.ipynb", "1 of another")
	srv := httptest.NewServer(other)
	t.Cleanup(srv.Close)
	a, err := notebook.Parse(srv.URL + "/?token=another-token")
	if err != nil {
		t.Fatal(err)
	}
	got := []string{save(c, "one"), save(c, "two"), save(notebook.NewClient(a), "one"), save(c, "three"), save(c, "one"), save(c, "two")}
	if want := []string{"n.ipynb", "n_2.ipynb", "n_3.ipynb", "mine_2.ipynb", "n.ipynb", "n_2.ipynb"}; !slices.Equal(got, want) {
		t.Errorf("saved as %q, want %q", got, want)
	}
	for name, want := range map[string]string{"n.ipynb": "1", "n_2.ipynb": "2", "n_3.ipynb": "1 of another", "mine.ipynb": "the user's own", "mine_2.ipynb": "3"} {
		waitForFile(t, filepath.Join(dir, name), want)
	}
	// Many at once get a name each.
	var wg sync.WaitGroup
	names := make(chan string, 20)
	for i := range 20 {
		session := fmt.Sprint("at once ", i)
		b.write(session, fmt.Sprint(i, "/same.ipynb"), session)
		wg.Add(1)
		go func() {
			defer wg.Done()
			m := notebook.NewMirror(c, session, dir, nil)
			if err := m.Save(t.Context()); err != nil {
				t.Error(err)
			}
			if data, err := os.ReadFile(m.Path()); err != nil || string(data) != session {
				t.Errorf("%q, %v", data, err)
			}
			names <- m.Path()
		}()
	}
	wg.Wait()
	close(names)
	seen := map[string]bool{}
	for name := range names {
		seen[name] = true
	}
	if len(seen) != 20 {
		t.Errorf("%d names for 20 notebooks", len(seen))
	}
}

// Somebody may empty the folder meanwhile, or plant what is no file where the owners are named.
func TestMirrorInAFolderOfOthers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "outputs")
	b := newBook()
	b.write("s", "notebooks/n.ipynb", "1")
	c := b.client(t)
	m := notebook.NewMirror(c, "s", dir, nil)
	saves := func(m *notebook.Mirror, content, want string) {
		t.Helper()
		b.write("s", "notebooks/n.ipynb", content)
		if err := m.Save(t.Context()); err != nil || filepath.Base(m.Path()) != want {
			t.Errorf("saved as %q, %v", m.Path(), err)
		}
		waitForFile(t, filepath.Join(dir, want), content)
	}
	saves(m, "2", "n.ipynb")
	for _, gone := range []string{dir, filepath.Join(dir, ".seer")} {
		if err := os.RemoveAll(gone); err != nil {
			t.Fatal(err)
		}
		saves(m, "after "+gone, "n.ipynb")
	}
	for n, plant := range []func(string) error{
		func(name string) error { return os.Mkdir(name, 0o755) },
		func(name string) error { return os.Symlink("nowhere", name) },
	} {
		name := fmt.Sprintf("planted%d", n)
		if err := plant(filepath.Join(dir, ".seer", name+".ipynb")); err != nil {
			t.Fatal(err)
		}
		b.write(name, name+".ipynb", name)
		m := notebook.NewMirror(c, name, dir, nil)
		if err := m.Save(t.Context()); err != nil || filepath.Base(m.Path()) != name+"_2.ipynb" {
			t.Errorf("saved as %q, %v", m.Path(), err)
		}
	}
}

func TestMirrorStaysInItsFolder(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	b := newBook()
	c := b.client(t)
	for i, path := range []string{"../../up.ipynb", "/etc/abs.ipynb", `..\..\back.ipynb`, "..", ".ipynb", "a/.hidden.ipynb", "nul\x00.ipynb", strings.Repeat("ü", 300) + ".ipynb", "", "x.py"} {
		session := fmt.Sprint(i)
		b.write(session, path, session)
		m := notebook.NewMirror(c, session, dir, nil)
		if err := m.Save(t.Context()); err != nil || filepath.Dir(m.Path()) != dir || !strings.HasSuffix(m.Path(), ".ipynb") {
			t.Errorf("%q: %q, %v", path, m.Path(), err)
		}
	}
	// A link in the place of a copy is replaced; one in the place of the folder's own notes is not followed.
	b.write("s", "linked.ipynb", "content")
	m := notebook.NewMirror(c, "s", dir, nil)
	if err := m.Save(t.Context()); err != nil {
		t.Fatal(err)
	}
	target := filepath.Join(outside, "target")
	if err := os.WriteFile(target, []byte("untouched"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(m.Path()); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, m.Path()); err != nil {
		t.Fatal(err)
	}
	b.write("s", "linked.ipynb", "changed")
	if err := m.Save(t.Context()); err != nil {
		t.Fatal(err)
	}
	waitForFile(t, m.Path(), "changed")
	waitForFile(t, target, "untouched")

	dir = t.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, ".seer")); err != nil {
		t.Fatal(err)
	}
	if err := notebook.NewMirror(c, "s", dir, nil).Save(t.Context()); err == nil {
		t.Error("a link that leads out of the folder was followed")
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}

// TestMirrorFullDisk runs itself on a file system of 64 KiB.
func TestMirrorFullDisk(t *testing.T) { testkit.OnSmallDisk(t, 64<<10, fullDisk) }

func fullDisk(t *testing.T) {
	b := newBook()
	b.write("s", "n.ipynb", "old")
	warned := make(chan string, 100)
	m := notebook.NewMirror(b.client(t), "s", "/mnt/out", func(text string) { warned <- text })
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.Run(ctx)
	}()
	waitForFile(t, "/mnt/out/n.ipynb", "old")
	b.write("s", "n.ipynb", strings.Repeat("x", 1<<20))
	if text := <-warned; !strings.Contains(text, "no space is left") {
		t.Errorf("%q", text)
	}
	before := b.requests()
	testkit.Eventually(t, "more tries that report nothing", func() bool { return b.requests() > before+2 })
	waitForFile(t, "/mnt/out/n.ipynb", "old")
	b.write("s", "n.ipynb", "small again")
	waitForFile(t, "/mnt/out/n.ipynb", "small again")
	if text := <-warned; !strings.Contains(text, "saved again") {
		t.Errorf("%q", text)
	}
	cancel()
	<-done
	if len(warned) > 0 {
		t.Errorf("also warned: %q", <-warned)
	}
	if entries, err := os.ReadDir("/mnt/out/.seer"); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// mirrored saves a notebook of version 1 and serves what answer says of later requests: the version
// that comes, "" for none. Of a request that waits for changes, waits is true.
func mirrored(t *testing.T, answer func(ctx context.Context, unless string, waits bool) string) *notebook.Mirror {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/notebook") {
			fmt.Fprint(w, `{"id":"s","path":"notebooks/a.ipynb"}`)
			return
		}
		v := "1"
		if q := r.URL.Query(); q.Get("unless") != "" {
			v = answer(r.Context(), q.Get("unless"), q.Get("wait") != "0")
		}
		if w.Header().Set("X-Seer-Version", v); v == "" {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		fmt.Fprint(w, v)
	}))
	t.Cleanup(srv.Close)
	m := notebook.NewMirror(clientOf(t, srv.URL), "s", t.TempDir(), func(text string) { t.Error(text) })
	if err := m.Save(t.Context()); err != nil {
		t.Fatal(err)
	}
	return m
}

// A request that waits for changes may be answered after a tool has saved what came later.
func TestMirrorKeepsTheLater(t *testing.T) {
	asked, release, again := make(chan struct{}), make(chan struct{}), make(chan string, 100)
	m := mirrored(t, func(ctx context.Context, unless string, waits bool) string {
		switch {
		case !waits && unless == "1":
			return "3"
		case waits && unless == "1":
			close(asked)
			<-release
			return "2"
		case waits:
			again <- unless
			<-ctx.Done()
		}
		return ""
	})
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { m.Run(ctx) })
	<-asked
	if err := m.Save(ctx); err != nil {
		t.Error(err)
	}
	close(release)
	if unless := <-again; unless != "3" {
		t.Errorf("it asks for what follows %q", unless)
	}
	if data, err := os.ReadFile(m.Path()); err != nil || string(data) != "3" {
		t.Errorf("%q, %v", data, err)
	}
	if err := os.Remove(m.Path()); err != nil { // by its reader: no fault
		t.Error(err)
	}
	stop()
	wg.Wait()
}

// What a tool saves may come after the other has saved what came later: it is asked for again.
func TestMirrorSaveKeepsTheLater(t *testing.T) {
	asked, release := make(chan struct{}), make(chan struct{})
	var released sync.Once
	again := make(chan string, 100)
	m := mirrored(t, func(ctx context.Context, unless string, waits bool) string {
		switch {
		case waits && unless == "1":
			<-asked
			return "3"
		case waits:
			released.Do(func() { close(release) }) // its copy is there
			<-ctx.Done()
		case unless == "1":
			close(asked)
			<-release
			return "2"
		default:
			again <- unless
		}
		return ""
	})
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	saved := make(chan error, 1)
	wg.Go(func() { saved <- m.Save(ctx) })
	<-asked
	wg.Go(func() { m.Run(ctx) })
	if err := <-saved; err != nil {
		t.Error(err)
	}
	select {
	case unless := <-again:
		if unless != "3" {
			t.Errorf("it asks for what follows %q", unless)
		}
	default:
		t.Error("it has not asked again")
	}
	if data, err := os.ReadFile(m.Path()); err != nil || string(data) != "3" {
		t.Errorf("%q, %v", data, err)
	}
	stop()
	wg.Wait()
}
