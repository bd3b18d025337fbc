package scaffold_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/plugin/scaffold"
	"github.com/seer-engine/seer/sdk"
)

// watched is a plugin's folder that is built at every change.
type watched struct {
	t     *testing.T
	dir   string
	built chan error
	ended chan error
}

// fakeGo is a compiler that takes no time: its module is always the same, and it fails
// where there is a file "broken".
const fakeGo = `case $1 in env) echo go1.26.0; exit;; esac
while [ $# -gt 1 ]; do [ "$1" = -o ] && out=$2; shift; done
[ ! -e broken ] || { echo './broken:1:1: it is broken' >&2; exit 1; }
/bin/cp "$MADE" "$out"`

// exporting is a module that exports the function expose.
var exporting = []byte{0, 'a', 's', 'm', 1, 0, 0, 0, 1, 5, 1, 0x60, 0, 1, 0x7f, 3, 2, 1, 0, 7, 10, 1, 6, 'e', 'x', 'p', 'o', 's', 'e', 0, 0, 10, 6, 1, 4, 0, 0x41, 0, 0x0b}

// watch starts with one good build.
func watch(t *testing.T) *watched {
	t.Helper()
	made := filepath.Join(t.TempDir(), "made.wasm")
	if err := os.WriteFile(made, exporting, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("MADE", made)
	w := &watched{t: t, dir: plugin(t, sdk.KindExpose), built: make(chan error, 100), ended: make(chan error, 1)}
	tools(t, map[string]string{"go": fakeGo})
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		w.ended <- scaffold.Watch(ctx, scaffold.BuildOptions{Dir: w.dir}, func(_ scaffold.Result, err error) { w.built <- err })
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-w.ended; err != nil && !t.Failed() && !strings.Contains(t.Name(), "Gone") {
			t.Errorf("watching ended with %v", err)
		}
	})
	w.expect("", "at first")
	return w
}

// expect waits for a build that fails with the text, or succeeds if there is none. On a
// slow machine there may be one more before it.
func (w *watched) expect(text, why string) {
	w.t.Helper()
	for limit := time.After(time.Minute); ; {
		select {
		case err := <-w.built:
			if (err == nil) == (text == "") && (err == nil || strings.Contains(err.Error(), text)) {
				return
			}
			w.t.Logf("%s: built with %v", why, err)
		case <-limit:
			w.t.Fatalf("%s: it was not built as it should: %q", why, text)
		}
	}
}

// settle waits until no more builds come: on a slow machine there may be one or two.
func (w *watched) settle() {
	w.t.Helper()
	for range 20 {
		select {
		case <-w.built:
		case <-time.After(time.Second):
			return
		}
	}
	w.t.Fatal("it builds for ever")
}

// quiet makes sure that nothing was built because of what has been done.
func (w *watched) quiet(why string) {
	w.t.Helper()
	time.Sleep(300 * time.Millisecond) // longer than the time that it waits for more changes
	if n := len(w.built); n > 0 {
		w.t.Errorf("%s: %d builds that nobody asked for", why, n)
		for range n {
			<-w.built
		}
	}
}

func (w *watched) write(name, text string) {
	w.t.Helper()
	file := filepath.Join(w.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		w.t.Fatal(err)
	}
	replace(w.t, file, text)
}

func (w *watched) remove(name string) {
	w.t.Helper()
	if err := os.RemoveAll(filepath.Join(w.dir, name)); err != nil {
		w.t.Fatal(err)
	}
}

func TestWatch(t *testing.T) {
	w := watch(t)
	wasm := filepath.Join(w.dir, "dist", "expose-tiny.wasm")
	good, err := os.ReadFile(wasm)
	if err != nil {
		t.Fatal(err)
	}
	w.settle() // its own output builds nothing

	change(t, filepath.Join(w.dir, "tiny", "tiny.go"), "package", "package ")
	w.expect("", "a save by renaming")
	if err := os.WriteFile(filepath.Join(w.dir, "tiny", "tiny.go"), []byte("package tiny"), 0o644); err != nil {
		t.Fatal(err)
	}
	w.expect("", "a save in place")
	w.settle() // it may have been seen empty
	w.write("deep/er/new.go", "package er")
	w.expect("", "a new folder")
	w.settle() // folder and file may have been noticed one after the other
	w.write("deep/er/new.go", "package er // more")
	w.expect("", "a change in the new folder")
	w.remove("deep")
	w.expect("", "a folder that is removed")

	w.write("broken", "")
	w.expect("does not compile", "a mistake")
	if now, err := os.ReadFile(wasm); err != nil || string(now) != string(good) {
		t.Errorf("the last good build is gone: %v", err)
	}
	w.remove("broken")
	w.expect("", "the mistake mended")

	text := read(t, w.dir, "plugin.yaml")
	w.write("plugin.yaml", "id: [")
	w.expect("plugin.yaml:", "a manifest that is none")
	w.write("plugin.yaml", string(text))
	w.expect("", "the manifest mended")
}

// What tools and editors write besides builds nothing, nor does a save without a change.
func TestWatchIgnores(t *testing.T) {
	w := watch(t)
	w.settle()
	same := string(read(t, w.dir, "main.go"))
	for _, name := range []string{".git/index", ".main.go.swp", "main.go~", "node_modules/x/y.js", "build/plugin.wasm", "dist/other.txt", "package-lock.json"} {
		w.write(name, "x")
	}
	w.write("main.go", same)
	w.quiet("nothing that counts")
	w.write("main.go", same+"// more\n")
	w.expect("", "a change that counts")
	w.settle()
}

// A burst of changes is few builds, and what changes during a build is built.
func TestWatchBurst(t *testing.T) {
	w := watch(t)
	for i := range 50 {
		w.write("main.go", strings.Repeat("//\n", i))
	}
	w.expect("", "a burst")
	w.settle()
	w.write("broken", "")
	w.expect("does not compile", "after the burst")
}

// A mistake that came and went during a build does not stay: the compiler saw it, and the
// sources are as before.
func TestWatchMistakeDuringBuild(t *testing.T) {
	w := watch(t)
	slow, compiler := filepath.Join(t.TempDir(), "slow"), filepath.Join(os.Getenv("PATH"), "go")
	replace(t, compiler, "#!/bin/sh\n"+strings.Replace(fakeGo, "\n", "\n[ ! -e '"+slow+"' ] || { : > broken; /bin/rm '"+slow+"'; }\n", 1))
	if err := os.Chmod(compiler, 0o755); err != nil {
		t.Fatal(err)
	}
	replace(t, slow, "")
	w.write("main.go", "package main")
	w.expect("does not compile", "a mistake that appears during the build")
	w.remove("broken")
	w.expect("", "the mistake mended")
}

// A build that changes sources each time ends nevertheless.
func TestWatchBuildThatWrites(t *testing.T) {
	w := watch(t)
	replace(t, filepath.Join(os.Getenv("PATH"), "go"), "#!/bin/sh\n"+strings.Replace(fakeGo, "\n", "\necho more >> generated.txt\n", 1))
	if err := os.Chmod(filepath.Join(os.Getenv("PATH"), "go"), 0o755); err != nil {
		t.Fatal(err)
	}
	w.write("main.go", "package main")
	w.expect("", "a change")
	w.settle()
	w.quiet("it builds for ever")
}

func TestWatchFolderGone(t *testing.T) {
	w := watch(t)
	w.settle()
	if err := os.Rename(w.dir, w.dir+"-elsewhere"); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-w.ended:
		if err == nil || !strings.Contains(err.Error(), w.dir) {
			t.Errorf("the folder is gone, and the error is %v", err)
		}
		w.ended <- err
	case <-time.After(time.Minute):
		t.Fatal("it goes on watching a folder that is gone")
	}
	if err := scaffold.Watch(t.Context(), scaffold.BuildOptions{Dir: w.dir}, nil); err == nil || !strings.Contains(err.Error(), "no folder") {
		t.Error(err)
	}
}
