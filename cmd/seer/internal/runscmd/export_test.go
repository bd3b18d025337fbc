package runscmd

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/runs"
)

// page writes a run as a page of one line.
func page(w io.Writer, r *runs.Run) error {
	_, err := fmt.Fprintf(w, "page of %s", r.ID)
	return err
}

func newRun(t *testing.T) *runs.Run {
	t.Helper()
	dir := t.TempDir()
	text := `{"seq":1,"time":"2026-01-02T12:00:00Z","run":"run-1","source":"engine","type":"run.started","data":{}}` + "\n"
	if err := os.WriteFile(filepath.Join(dir, runs.EventsName), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := runs.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func newApp(t *testing.T, w Writers) app {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { out.Close() })
	for _, name := range []string{"HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"} {
		t.Setenv(name, t.TempDir())
	}
	return app{cli.New(os.Stdin, out, out, cli.Build{}), w}
}

func TestExport(t *testing.T) {
	a, r := newApp(t, Writers{HTML: page}), newRun(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "page.html")
	victim := filepath.Join(t.TempDir(), "victim")
	if err := errors.Join(os.WriteFile(victim, []byte("mine"), 0o600), os.Symlink(victim, file)); err != nil {
		t.Fatal(err)
	}
	if err := a.export(r, page, file); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != "page of run-1" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := os.ReadFile(victim); err != nil || string(got) != "mine" {
		t.Errorf("written through a link: %q, %v", got, err)
	}
	// A writer that fails leaves the old file, and nothing beside it.
	broken := func(w io.Writer, r *runs.Run) error { return errors.Join(page(w, r), errors.New("broken")) }
	if err := a.export(r, broken, file); err == nil || !strings.Contains(err.Error(), "broken") {
		t.Errorf("a writer that fails: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if err := a.export(r, page, dir); engine.KindOf(err) != engine.KindConfig {
		t.Errorf("in the place of a folder: %v", err)
	}
	if err := a.export(r, nil, file); engine.KindOf(err) != engine.KindUnsupported {
		t.Errorf("without a writer: %v", err)
	}
}

func TestReport(t *testing.T) {
	a, r := newApp(t, Writers{HTML: page}), newRun(t)
	path, err := a.report(r)
	if err != nil || path != filepath.Join(r.Dir, runs.ReportName) {
		t.Fatalf("%s, %v", path, err)
	}
	// Where the folder does not take the page, it is in the cache.
	if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o700)); err != nil {
		t.Fatal(err)
	}
	path, err = a.report(r)
	if err != nil || !strings.HasPrefix(path, os.Getenv("XDG_CACHE_HOME")) {
		t.Fatalf("%s, %v", path, err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "page of run-1" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestShortIDs(t *testing.T) {
	all := []runs.Summary{{ID: "run-aaaaaa1100000000"}, {ID: "run-aaaaaa1200000000"}, {ID: "x"}}
	if ids := shortIDs(all); strings.Join(ids, ",") != "run-aaaaaa11,run-aaaaaa12,x" {
		t.Errorf("%v", ids)
	}
}
