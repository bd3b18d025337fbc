package build

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/errdefs"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/event/eventtext"
)

// What installers say is kept for a month, so far as it may be large, and an error names it.
func TestInstallLog(t *testing.T) {
	t.Parallel()
	b, cache := newBuilder(t)
	dir := filepath.Join(cache, logsDir)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for name, age := range map[string]time.Duration{"old.log": logsKept + time.Hour, "young.log": logsKept - time.Hour} {
		if err := errors.Join(os.WriteFile(filepath.Join(dir, name), nil, 0o600), os.Chtimes(filepath.Join(dir, name), now, now.Add(-age))); err != nil {
			t.Fatal(err)
		}
	}
	var lines []string
	i := &Installation{builder: b, Request: Request{Report: event.NewReporter("", event.SourceEngine, b.Now, func(ev event.Event) { lines = append(lines, eventtext.Sentence(ev)) })}}
	failed := errors.New("it failed")

	silent := i.newLog("sb-1")
	if err := silent.end(t.Context(), failed); !errors.Is(err, failed) || err.Error() != "it failed" {
		t.Errorf("of one that said nothing: %v", err)
	}
	log := i.newLog("sb-1")
	log.line("Successfully installed alpha-1.0 beta-2.0")
	log.line("2 upgraded, 3 newly installed, 0 to remove and 5 not upgraded.")
	if got := log.finished("what"); got.Contents != "what" || got.Packages != 5 {
		t.Errorf("%+v", got)
	}
	err := log.end(t.Context(), failed)
	file := filepath.Join(dir, "sb-1.log")
	if !errors.Is(err, failed) || err.Error() != "it failed; all that was printed is in "+file {
		t.Errorf("%v", err)
	}
	if kind := errdefs.KindOf(err); kind == errdefs.KindNoSpace {
		t.Errorf("%v is %s", err, kind)
	}
	kept, rerr := os.ReadFile(file)
	if rerr != nil || string(kept) != strings.Join(lines, "\n")+"\n" {
		t.Errorf("kept: %q, %v; said: %q", kept, rerr, lines)
	}
	full := i.newLog("sb-1")
	full.line("ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device")
	full.file = nil // there was no room for it either
	if err := full.end(t.Context(), failed); errdefs.KindOf(errdefs.Wrap(errdefs.KindConfig, err)) != errdefs.KindNoSpace || !errors.Is(err, failed) {
		t.Errorf("of a full disk: %v is %s", err, errdefs.KindOf(err))
	}
	left, _ := filepath.Glob(filepath.Join(dir, "*"))
	if len(left) != 2 || filepath.Base(left[1]) != "young.log" {
		t.Errorf("left: %q", left)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}

	long := func() *installLog {
		large := i.newLog("sb-1")
		for range 20 {
			large.line(strings.Repeat("x", 1<<20))
		}
		return large
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if err := long().end(stopped, failed); err.Error() != "it failed" {
		t.Errorf("of one that was stopped: %v", err)
	}
	if err := long().end(t.Context(), failed); err.Error() != "it failed; a part of what was printed is in "+file {
		t.Errorf("of one that was cut: %v", err)
	}
	if info, err = os.Stat(file); err != nil || info.Size() > longestLog+100 {
		t.Errorf("%d bytes are kept, %v", info.Size(), err)
	}
}

// What could not be written is in no file, and an error does not say that it is.
func TestInstallLogIsNotWritten(t *testing.T) {
	t.Parallel()
	b, cache := newBuilder(t)
	i := &Installation{builder: b, Request: Request{Report: event.NewReporter("", event.SourceEngine, b.Now, func(event.Event) {})}}
	file := filepath.Join(cache, logsDir, "sb-1.log")
	for _, tc := range []struct{ before, want string }{
		{"", "it failed"},
		{"a line", "it failed; a part of what was printed is in " + file},
	} {
		log := i.newLog("sb-1")
		log.open()
		log.lines = 1 // it is open
		if tc.before != "" {
			log.line(tc.before)
		}
		_ = log.file.Close()
		log.file, _ = os.Open(file) // which takes no more
		log.line("another line")
		if err := log.end(t.Context(), errors.New("it failed")); err.Error() != tc.want {
			t.Errorf("after %q: %v", tc.before, err)
		}
	}
}

// Without a place for it nothing is kept, and nothing else is the worse for it.
func TestInstallLogHasNoPlace(t *testing.T) {
	t.Parallel()
	b, cache := newBuilder(t)
	if err := os.WriteFile(filepath.Join(cache, logsDir), nil, 0o600); err != nil { // no folder
		t.Fatal(err)
	}
	said := 0
	i := &Installation{builder: b, Request: Request{Report: event.NewReporter("", event.SourceEngine, b.Now, func(event.Event) { said++ })}}
	log := i.newLog("sb-1")
	for range 9 {
		log.line("a line")
	}
	if err := log.end(t.Context(), nil); err != nil || said != 9 {
		t.Errorf("%v, %d lines", err, said)
	}
}
