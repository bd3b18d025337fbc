package callcmd

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/sanitize"
	"github.com/seer-engine/seer/sdk"
)

// debounce is how long a file must rest before it is read: editors write in steps.
const debounce = 150 * time.Millisecond

// watcher serves a file again whenever it has changed.
type watcher struct {
	app     app
	file    string
	serve   func(ctx context.Context) (*engine.Service, error)
	lastSum [sha256.Size]byte // of the file that was last served, or tried to be
	served  sdk.Interface     // that is served
}

// change is an edit that was served, as a JSON line.
type change struct {
	File    string   `json:"file"`
	Kept    bool     `json:"kept"` // the worker goes on, with what it has loaded
	Reason  string   `json:"reason,omitempty"`
	Added   []string `json:"added"`
	Changed []string `json:"changed"` // in what a caller sees
	Removed []string `json:"removed"`
}

// run watches until ctx ends. The folder is watched, because editors put a new file in
// the place of the old one.
func (w *watcher) run(ctx context.Context) error {
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watch the file %s: %w", w.file, err)
	}
	defer notify.Close()
	if err := notify.Add(filepath.Dir(w.file)); err != nil {
		return fmt.Errorf("watch the folder of %s: %w", w.file, err)
	}
	w.app.UI.Tell("Watching %s; Ctrl-C ends that, and the service stays", w.file)
	rest := time.NewTimer(debounce) // also for what has changed until now
	defer rest.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-notify.Errors:
			w.app.UI.Note("warning", "a change may have been missed: "+err.Error())
			rest.Reset(debounce)
		case e := <-notify.Events:
			if filepath.Base(e.Name) == filepath.Base(w.file) {
				rest.Reset(debounce)
			}
		case <-rest.C:
			if err := w.serveIfChanged(ctx); err != nil {
				return err
			}
		}
	}
}

// serveIfChanged serves the file if it has changed. If the file does not load, it says why
// and keeps serving the last version.
func (w *watcher) serveIfChanged(ctx context.Context) error {
	data, err := os.ReadFile(w.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it is being replaced
	}
	if err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	if sum == w.lastSum {
		return nil
	}
	w.lastSum = sum
	v, err := w.serve(ctx)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case w.isFatal(err):
		return err
	case err != nil:
		w.app.Report(err, cli.ExitCode(err, nil))
		w.app.UI.Note("not loaded", "the previous version stays")
		return nil
	}
	return w.tell(v)
}

// isFatal reports whether there is nothing left to serve in.
func (w *watcher) isFatal(err error) bool {
	k := cli.KindOf(err)
	return err != nil && k != engine.KindService && k != engine.KindConfig
}

func (w *watcher) tell(v *engine.Service) error {
	c := compare(w.served, v.Interface())
	w.served = v.Interface()
	c.File = w.file
	if p := v.InPlace(); p != nil {
		c.Kept, c.Reason = p.Kept, p.Reason
	}
	if w.app.JSON {
		return w.app.PrintJSON(c)
	}
	how := "loaded anew"
	if c.Reason != "" {
		how += " (" + c.Reason + ")"
	}
	if c.Kept {
		how = "taken over, what was loaded is kept"
	}
	return w.app.Println(fmt.Sprintf("%s %s: %s%s", time.Now().Format("15:04:05"), sanitize.Line(v.Name()), sanitize.Line(how), sanitize.Line(c.text())))
}

func (c change) text() string {
	var parts []string
	for _, p := range []struct {
		word  string
		names []string
	}{{"new", c.Added}, {"other signature or docs", c.Changed}, {"gone", c.Removed}} {
		if len(p.names) > 0 {
			parts = append(parts, p.word+": "+strings.Join(p.names, ", "))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "; " + strings.Join(parts, "; ")
}

// compare tells two interfaces apart, by what a caller sees of them.
func compare(before, after sdk.Interface) change {
	c := change{Added: []string{}, Changed: []string{}, Removed: []string{}}
	old := map[string][]byte{}
	for _, f := range before.Functions {
		old[f.Name] = signatureOf(f)
	}
	for _, f := range after.Functions {
		was, ok := old[f.Name]
		switch {
		case !ok:
			c.Added = append(c.Added, f.Name)
		case !bytes.Equal(was, signatureOf(f)):
			c.Changed = append(c.Changed, f.Name)
		}
		delete(old, f.Name)
	}
	c.Removed = append(c.Removed, slices.Sorted(maps.Keys(old))...)
	slices.Sort(c.Changed)
	return c
}

func signatureOf(f sdk.Function) []byte {
	f.Line = 0
	text, err := json.Marshal(f)
	if err != nil {
		return nil
	}
	return text
}
