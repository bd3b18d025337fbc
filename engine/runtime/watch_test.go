package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/internal/testkit"
)

// watched collects what a watch tells.
type watched struct {
	mu     sync.Mutex
	events []string
	err    error
	stop   context.CancelFunc
}

func (m *machine) watch(t *testing.T, c *client.Client, path string, recursive bool) *watched {
	t.Helper()
	ctx, cancel := context.WithCancel(testContext(t))
	t.Cleanup(cancel)
	w := &watched{stop: cancel}
	go func() {
		for e, err := range c.Files().Watch(ctx, path, recursive) {
			text := string(e.Type) + " " + e.Path
			if e.IsDir {
				text += "/"
			}
			w.mu.Lock()
			w.events, w.err = append(w.events, text), err
			w.mu.Unlock()
		}
	}()
	w.expect(t, "ready ")
	return w
}

func (w *watched) expect(t *testing.T, want ...string) {
	t.Helper()
	testkit.EventuallyNil(t, strings.Join(want, ", "), func() error {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, e := range want {
			if !slices.Contains(w.events, e) {
				return fmt.Errorf("%q is not in %q %v", e, w.events, w.err)
			}
		}
		return nil
	})
}

func (w *watched) expectError(t *testing.T, code protocol.Code) {
	t.Helper()
	testkit.EventuallyNil(t, "the error "+string(code), func() error {
		w.mu.Lock()
		defer w.mu.Unlock()
		if protocol.CodeOf(w.err) != code {
			return fmt.Errorf("%q %v", w.events, w.err)
		}
		return nil
	})
}

func TestWatch(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	m.shell("mkdir -p 'a é/b' flat/below; echo 1 > file")
	t.Run("everything below", func(t *testing.T) {
		w := m.watch(t, m.client, "/workspace/a é", true)
		m.shell("cd 'a é/b' && echo x > new && chmod 600 new && mv new other && rm other && mkdir -p deep/er && echo y > deep/er/leaf")
		w.expect(t, "created /workspace/a é/b/new", "written /workspace/a é/b/new", "attributes /workspace/a é/b/new", "renamed /workspace/a é/b/new",
			"created /workspace/a é/b/other", "removed /workspace/a é/b/other", "created /workspace/a é/b/deep/", "created /workspace/a é/b/deep/er/",
			"created /workspace/a é/b/deep/er/leaf")
		m.shell("cd 'a é/b' && mv deep moved && echo z > moved/er/again")
		w.expect(t, "renamed /workspace/a é/b/deep/", "created /workspace/a é/b/moved/", "created /workspace/a é/b/moved/er/again")
		m.shell("rm -r 'a é/b/moved'")
		w.expect(t, "removed /workspace/a é/b/moved/")
		m.shell("rm -r 'a é'")
		w.expectError(t, protocol.NotFound)
	})
	t.Run("a folder alone", func(t *testing.T) {
		w := m.watch(t, m.client, "flat", false)
		m.shell("echo x > flat/below/unseen; echo x > flat/seen")
		w.expect(t, "created flat/seen")
		w.mu.Lock()
		defer w.mu.Unlock()
		if slices.ContainsFunc(w.events, func(e string) bool { return strings.Contains(e, "unseen") }) {
			t.Errorf("%q", w.events)
		}
	})
	t.Run("a file that is replaced", func(t *testing.T) {
		w := m.watch(t, m.client, "/workspace/file", false)
		m.shell("echo 2 > part; mv part file; echo x > beside; echo 3 >> file")
		w.expect(t, "created /workspace/file", "written /workspace/file")
		w.mu.Lock()
		defer w.mu.Unlock()
		if slices.ContainsFunc(w.events, func(e string) bool { return strings.Contains(e, "beside") || strings.Contains(e, "part") }) {
			t.Errorf("%q", w.events)
		}
	})
	t.Run("what Seer writes", func(t *testing.T) {
		w := m.watch(t, m.client, "/workspace", true)
		ctx := testContext(t)
		local := t.TempDir()
		writeFile(t, filepath.Join(local, "in a tree"), "1")
		m.shell("mkdir .seer-upload-0123456789abcdef && echo 1 > .seer-upload-0123456789abcdef/whole && mv .seer-upload-0123456789abcdef uploaded; echo 1 > .0a_b1c2d.part; mv .0a_b1c2d.part n.ipynb; echo 1 > .seer-workspace.json")
		if err := m.client.Files().Write(ctx, "/workspace/single", strings.NewReader("1"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := m.client.Files().Upload(ctx, local, "/workspace/tree"); err != nil {
			t.Fatal(err)
		}
		m.shell("echo x > last")
		w.expect(t, "created /workspace/single", "created /workspace/tree/in a tree", "created /workspace/uploaded/", "created /workspace/uploaded/whole",
			"created /workspace/n.ipynb", "created /workspace/.seer-workspace.json", "written /workspace/last")
		w.mu.Lock()
		defer w.mu.Unlock()
		if slices.ContainsFunc(w.events, func(e string) bool {
			return strings.Contains(e, ".part") || strings.Contains(e, ".seer-") && !strings.Contains(e, ".seer-workspace.json")
		}) {
			t.Errorf("%q", w.events)
		}
	})
	t.Run("a runtime that is killed", func(t *testing.T) {
		w := m.watch(t, m.client, "/workspace", false)
		m.killRuntime()
		w.expect(t, "lost ")
		m.shell("echo x > after")
		w.expect(t, "created /workspace/after")
	})
}

// TestWatchOfFoldersThatGo moves and removes folders faster than a watch can follow: it
// goes on.
func TestWatchOfFoldersThatGo(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	root := filepath.Join(m.boot.Roots["/workspace"], "busy")
	mustMkdir(t, root)
	w := m.watch(t, m.client, "/workspace/busy", true)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			deep, moved := filepath.Join(root, fmt.Sprint("deep", i)), filepath.Join(root, fmt.Sprint("moved", i))
			for range 200 {
				if err := errors.Join(os.MkdirAll(filepath.Join(deep, "er"), 0o755), os.Rename(deep, moved), os.RemoveAll(moved)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	testkit.EventuallyNil(t, "a new file", func() error { // more than one: the kernel's queue may have been full
		last := filepath.Join(root, "last")
		_ = os.Remove(last)
		writeFile(t, last, "x")
		w.mu.Lock()
		defer w.mu.Unlock()
		if !slices.Contains(w.events, "created /workspace/busy/last") {
			return fmt.Errorf("not told after %d events: %v", len(w.events), w.err)
		}
		return nil
	})
}

// TestWatchHasLimits watches more folders than a kernel should keep for one, and more often
// than one should.
func TestWatchHasLimits(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	root := m.boot.Roots["/workspace"]
	few := filepath.Join(root, "few")
	mustMkdir(t, few)
	w := m.watch(t, m.client, "/workspace/few", true)
	for i := range 10_050 {
		if err := os.Mkdir(filepath.Join(few, fmt.Sprint(i)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w.expect(t, "lost ") // it has become too much
	w.expectError(t, protocol.Invalid)
	m.watch(t, m.client, "/workspace/few", false)
	var open []*watched
	mustMkdir(t, filepath.Join(root, "empty"))
	for range 31 {
		open = append(open, m.watch(t, m.client, "/workspace/empty", false))
	}
	for _, err := range m.client.Files().Watch(testContext(t), "/workspace/empty", false) {
		if protocol.CodeOf(err) != protocol.Unavailable {
			t.Errorf("one watch too many: %v", err)
		}
	}
	for _, w := range open {
		w.stop()
	}
	testkit.EventuallyNil(t, "room for another watch", func() error {
		for _, err := range m.client.Files().Watch(testContext(t), "/workspace/empty", false) {
			return err
		}
		return nil
	})
}
