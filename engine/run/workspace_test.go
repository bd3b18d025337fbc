package run

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/surface"
	"github.com/seer-engine/seer/internal/testkit"
)

func openTest(t *testing.T, dir string) (*workspace, *[]string) {
	t.Helper()
	warnings := &[]string{}
	w, err := openWorkspace(dir, notes(t, dir), time.Unix(1e9, 0).UTC(), func(f string, a ...any) { *warnings = append(*warnings, fmt.Sprintf(f, a...)) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.close() })
	return w, warnings
}

// notes is the private folder for what is noted of dir.
func notes(t *testing.T, dir string) surface.Records {
	t.Helper()
	r := surface.Records{Dir: dir + ".notes"}
	if err := os.MkdirAll(r.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return r
}

func put(t *testing.T, text string, elem ...string) string {
	t.Helper()
	return testkit.WriteFile(t, filepath.Join(elem...), text)
}

func read(t *testing.T, elem ...string) string {
	t.Helper()
	return testkit.ReadFile(t, filepath.Join(elem...))
}

// fill adds a file to a workspace and notes it, as a run does.
func fill(t *testing.T, w *workspace, source string) {
	t.Helper()
	if err := errors.Join(w.add(source, filepath.Base(source)), w.save()); err != nil {
		t.Fatal(err)
	}
}

func TestWorkspaceReplacesItsOwnFilesAndKeepsOthers(t *testing.T) {
	source, dir := t.TempDir(), filepath.Join(t.TempDir(), "my work é")
	lib := put(t, "one", source, "helpers.py")
	w, _ := openTest(t, dir)
	fill(t, w, lib)

	w.close()
	put(t, "two", source, "helpers.py")
	w, warnings := openTest(t, dir)
	fill(t, w, lib)
	if read(t, dir, "helpers.py") != "two" || len(*warnings) > 0 {
		t.Fatalf("a second run: %v", *warnings)
	}

	w.close()
	put(t, "by the agent", dir, "helpers.py")
	w, warnings = openTest(t, dir)
	fill(t, w, lib)
	if read(t, dir, "helpers.py") != "two" || len(*warnings) != 1 {
		t.Errorf("warnings = %v", *warnings)
	}
	if got := read(t, dir, "helpers.py.kept-20010909-014640"); got != "by the agent" {
		t.Errorf("kept %q", got)
	}
}

func TestWorkspaceKnowsItsFilesAfterARunThatDidNotStart(t *testing.T) {
	source, dir := t.TempDir(), t.TempDir()
	script := put(t, "one", source, "agent.py")
	w, _ := openTest(t, dir)
	fill(t, w, script)
	w.close()

	w, _ = openTest(t, dir) // as when a package is missing
	if err := w.save(); err != nil {
		t.Fatal(err)
	}
	w.close()

	put(t, "two", source, "agent.py")
	w, warnings := openTest(t, dir)
	fill(t, w, script)
	if read(t, dir, "agent.py") != "two" || len(*warnings) > 0 {
		t.Errorf("%v", *warnings)
	}
}

func TestWorkspaceCopiesPackagesWithoutCaches(t *testing.T) {
	source, dir := t.TempDir(), t.TempDir()
	put(t, "a", source, "pkg", "__init__.py")
	put(t, "b", source, "pkg", "data", "table.csv")
	put(t, "c", source, "pkg", "__pycache__", "x.pyc")
	w, _ := openTest(t, dir)
	fill(t, w, filepath.Join(source, "pkg"))
	if read(t, dir, "pkg", "data", "table.csv") != "b" {
		t.Error("data files are missing")
	}
	if _, err := os.Stat(filepath.Join(dir, "pkg", "__pycache__")); err == nil {
		t.Error("the cache was copied")
	}
}

func TestWorkspaceRemovesOnlyWhatIsStillItsOwn(t *testing.T) {
	dir := t.TempDir()
	w, _ := openTest(t, dir)
	for _, name := range []string{"tools/__init__.py", "tools/connection.json", "kept.txt"} {
		if err := w.write(name, []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put(t, "changed", dir, "kept.txt")
	w.remove([]string{filepath.Join(dir, "tools/__init__.py"), filepath.Join(dir, "tools/connection.json"), filepath.Join(dir, "kept.txt"), "/etc/hostname"})
	left, _ := os.ReadDir(dir)
	var names []string
	for _, e := range left {
		names = append(names, e.Name())
	}
	if !slices.Equal(names, []string{lockFile, "kept.txt"}) {
		t.Errorf("left: %v", names)
	}
}

func TestCollectNeverFollowsALinkOut(t *testing.T) {
	space, to, secret := t.TempDir(), filepath.Join(t.TempDir(), "out"), t.TempDir()
	put(t, "private", secret, "key")
	put(t, "result", space, "outputs", "sub", "report.md")
	for name, target := range map[string]string{"file": filepath.Join(secret, "key"), "dir": secret} {
		if err := os.Symlink(target, filepath.Join(space, "outputs", name)); err != nil {
			t.Fatal(err)
		}
	}
	w, warnings := openTest(t, space)
	n, err := gatherOutputs(t.Context(), w.root, everythingIn(testkit.OpenRoot(t, to)), w.warn)
	if err != nil || n != 1 || len(*warnings) != 1 {
		t.Fatalf("%d files, %v, %v", n, *warnings, err)
	}
	if read(t, to, "sub", "report.md") != "result" {
		t.Error("the report is missing")
	}
	for _, name := range []string{"file", "dir"} {
		if _, err := os.Lstat(filepath.Join(to, name)); err == nil {
			t.Errorf("%s was collected", name)
		}
	}
	if _, err := os.Stat(filepath.Join(space, "outputs")); err == nil {
		t.Error("collected outputs were not taken away, so the next run would find them")
	}
	if n, err := gatherOutputs(t.Context(), w.root, everythingIn(testkit.OpenRoot(t, to)), w.warn); n != 0 || err != nil {
		t.Errorf("no outputs: %d, %v", n, err)
	}
	if err := os.Symlink(secret, filepath.Join(space, "outputs")); err != nil {
		t.Fatal(err)
	}
	if n, err := gatherOutputs(t.Context(), w.root, everythingIn(testkit.OpenRoot(t, to)), w.warn); n != 0 || err != nil {
		t.Errorf("a link in the folder's place: %d, %v", n, err)
	}
	if read(t, secret, "key") != "private" {
		t.Error("the file behind the link is gone")
	}
}

func TestOneRunAtATimeInAWorkspace(t *testing.T) {
	dir := t.TempDir()
	w, _ := openTest(t, dir)
	var busy *BusyError
	if _, err := openWorkspace(dir, notes(t, dir), time.Now(), nil); !errors.As(err, &busy) {
		t.Errorf("a second run: %v", err)
	}
	w.close()
	openTest(t, dir)
}

// Outputs stay in the workspace until their copies are on the disk.
func TestOutputsThatCannotBeSynced(t *testing.T) {
	space, to := t.TempDir(), t.TempDir()
	put(t, "result", space, "outputs", "report.md")
	w, _ := openTest(t, space)
	results := everythingIn(testkit.OpenRoot(t, to))
	results.synced = func(*os.File) error {
		if read(t, to, "report.md") != "result" {
			t.Error("it is synced before it is copied")
		}
		return syscall.EIO
	}
	_, err := gatherOutputs(t.Context(), w.root, results, w.warn)
	if !errors.Is(err, syscall.EIO) || !strings.Contains(err.Error(), "they are still there") {
		t.Errorf("err = %v", err)
	}
	if _, err := os.Stat(filepath.Join(space, "outputs", "report.md")); err != nil {
		t.Error(err)
	}
}

// TestOutputsOfAKilledRunAreNotThoseOfTheNext: they are kept under another name, once, also
// where they could not be collected.
func TestOutputsOfAKilledRunAreNotThoseOfTheNext(t *testing.T) {
	for name, end := range map[string]func(*workspace){
		"killed": func(w *workspace) { // its files are closed by the system
			w.lock.Close()
			w.root.Close()
		},
		"not collected": func(w *workspace) { w.uncollected = true; w.close() },
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "space")
			put(t, "the user's", dir, "outputs", "note.txt")
			first, warnings := openTest(t, dir)
			if len(*warnings) != 0 || read(t, dir, "outputs", "note.txt") != "the user's" {
				t.Fatalf("what nobody's run left was moved: %q", *warnings)
			}
			put(t, "half", dir, "outputs", "result.txt")
			end(first)
			const kept = "outputs.kept-20010909-014640"
			inTheWay := put(t, "x", dir, kept, "x")
			if _, err := openWorkspace(dir, notes(t, dir), time.Unix(1e9, 0).UTC(), t.Logf); err == nil {
				t.Error("what cannot be moved is forgotten")
			}
			if err := os.RemoveAll(filepath.Dir(inTheWay)); err != nil {
				t.Fatal(err)
			}
			second, warnings := openTest(t, dir)
			if len(*warnings) != 1 || read(t, dir, kept, "result.txt") != "half" {
				t.Errorf("warned %q", *warnings)
			}
			if _, err := os.Stat(filepath.Join(dir, "outputs")); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("it is still there: %v", err)
			}
			put(t, "whole", dir, "outputs", "result.txt")
			second.close()
			if _, warnings := openTest(t, dir); len(*warnings) != 0 || read(t, dir, "outputs", "result.txt") != "whole" {
				t.Errorf("after a run that ended: %q", *warnings)
			}
		})
	}
}

func TestSweepTakesAwayTheRunBefore(t *testing.T) {
	dir := t.TempDir()
	w, _ := openTest(t, dir)
	for _, name := range []string{"old/lib.py", "edited.py", "again.py"} {
		if err := w.write(name, []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.save(); err != nil {
		t.Fatal(err)
	}
	w.close()
	put(t, "by the agent", dir, "edited.py")
	w, _ = openTest(t, dir)
	if err := w.write("again.py", []byte("new"), 0o644); err != nil {
		t.Fatal(err)
	}
	w.sweep()
	if _, err := os.Stat(filepath.Join(dir, "old")); err == nil {
		t.Error("a stale library is still there")
	}
	if read(t, dir, "edited.py") != "by the agent" || read(t, dir, "again.py") != "new" {
		t.Error("the wrong files were swept")
	}
	if len(w.written) != 1 {
		t.Errorf("written: %v", w.written)
	}
}

func TestCollectKeepsSeersOwnRecords(t *testing.T) {
	space, to := t.TempDir(), t.TempDir()
	put(t, "seer's", to, "agent.log")
	put(t, "the agent's", space, "outputs", "agent.log")
	w, warnings := openTest(t, space)
	if n, err := gatherOutputs(t.Context(), w.root, everythingIn(testkit.OpenRoot(t, to)), w.warn); n != 1 || err != nil || len(*warnings) != 1 {
		t.Fatalf("%d, %v, %v", n, err, *warnings)
	}
	if read(t, to, "agent.log") != "seer's" || read(t, to, "agent-agent.log") != "the agent's" {
		t.Error("the agent's file took the place of Seer's log")
	}
}

func everythingIn(root *os.Root) *results { return &results{root: root, files: root} }
