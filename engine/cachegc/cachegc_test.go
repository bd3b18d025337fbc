package cachegc

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/seer-engine/seer/engine/state"
)

// collector has one source with files of the cache that were used so many days ago.
func collector(t *testing.T, needed string, days map[string]int) (*Collector, string) {
	t.Helper()
	store, err := state.Open(state.Options{StateDir: t.TempDir(), CacheDir: t.TempDir(), RuntimeDir: filepath.Join(t.TempDir(), "run"), Getenv: os.Getenv})
	if err != nil {
		t.Fatal(err)
	}
	dir, err := store.Cache("things")
	if err != nil {
		t.Fatal(err)
	}
	for name, age := range days {
		path, when := filepath.Join(dir, name), time.Now().Add(-time.Duration(age)*24*time.Hour)
		if err := errors.Join(os.WriteFile(path, []byte("1234"), 0o600), os.Chtimes(path, when, when)); err != nil {
			t.Fatal(err)
		}
	}
	source := SourceFunc(func(_ context.Context, refs *References) (items []Item, err error) {
		for name := range days {
			path := filepath.Join(dir, name)
			if last, err := LastUse(path)(); err == nil {
				items = append(items, Item{Kind: "thing", Name: name, Bytes: 4, Last: last, Needed: refs.Has("thing", name), Fresh: LastUse(path), Remove: func() error { return os.Remove(path) }})
			}
		}
		return items, nil
	})
	return &Collector{Store: store, Now: time.Now, Logger: hclog.NewNullLogger(), Sources: []Source{source},
		References: func(context.Context) (*References, error) {
			r := &References{}
			r.Add("thing", needed)
			return r, nil
		},
		Partials: []Partials{{Dir: "things", What: "broken off", Lock: func(name string) string { return filepath.Join("locks", name) }}},
	}, dir
}

func names(removed []Removed) string {
	var all []string
	for _, r := range removed {
		all = append(all, r.Name)
	}
	return strings.Join(all, ", ")
}

func TestPrune(t *testing.T) {
	t.Parallel()
	c, dir := collector(t, "needed", map[string]int{"needed": 90, "old": 60, "older": 61, "week": 7, "today": 0})
	if would, err := c.Prune(t.Context(), Options{DryRun: true}); err != nil || names(would) != "thing older, thing old" {
		t.Errorf("dry run: %s, %v", names(would), err)
	}
	if done, err := c.Prune(t.Context(), Options{}); err != nil || names(done) != "thing older, thing old" || done[0].Why != "not used for 61 days, 4 B" {
		t.Errorf("%+v, %v", done, err)
	}
	if done, err := c.Prune(t.Context(), Options{MaxBytes: 1}); err != nil || names(done) != "thing week" {
		t.Errorf("above the size: %s, %v", names(done), err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// Nothing is pruned while it is not known what is needed, and a source that fails keeps
// nothing of the others.
func TestPruneWithErrors(t *testing.T) {
	t.Parallel()
	lost := errors.New("lost")
	c, _ := collector(t, "", map[string]int{"old": 60})
	c.Sources = append(c.Sources, SourceFunc(func(context.Context, *References) ([]Item, error) { return nil, lost }))
	known := c.References
	c.References = func(context.Context) (*References, error) { return nil, lost }
	if done, err := c.Prune(t.Context(), Options{}); !errors.Is(err, lost) || len(done) != 0 {
		t.Errorf("without references: %+v, %v", done, err)
	}
	c.References = known
	if done, err := c.Prune(t.Context(), Options{}); !errors.Is(err, lost) || names(done) != "thing old" {
		t.Errorf("%+v, %v", done, err)
	}
}

func TestSweepPartials(t *testing.T) {
	t.Parallel()
	c, dir := collector(t, "", map[string]int{"one.partial": 0, "two.partial": 0, "whole": 0})
	locks, err := c.Store.Cache("things", "locks")
	if err != nil {
		t.Fatal(err)
	}
	lock, _, err := state.TryAcquire(filepath.Join(locks, "two"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	done, err := c.SweepPartials(t.Context())
	if err != nil || names(done) != "one.partial" {
		t.Errorf("%+v, %v", done, err)
	}
	if _, found, err := Folders(c.Store, "things"); err != nil || len(found) != 0 {
		t.Errorf("folders of %s: %v, %v", dir, found, err)
	}
}

// What a running sandbox may have begun with, and what saved processes may need, stays.
func TestNeededByTime(t *testing.T) {
	t.Parallel()
	day := func(n int) time.Time { return time.Unix(int64(n)*86400, 0) }
	for _, tc := range []struct {
		name         string
		since, until time.Time
		last, made   time.Time
		needed       bool
	}{
		{"nothing runs", time.Time{}, time.Time{}, day(1), day(1), false},
		{"used before the sandbox began", day(5), time.Time{}, day(4), day(1), false},
		{"used when it began", day(5), time.Time{}, day(5), day(1), true},
		{"made after the processes were saved", time.Time{}, day(5), day(7), day(6), false},
		{"there when they were saved", time.Time{}, day(5), day(7), day(5), true},
		{"nobody knows when it was made", time.Time{}, day(5), day(7), time.Time{}, true},
	} {
		r := References{Since: tc.since, Until: tc.until}
		if got := r.time(Item{Last: tc.last, Made: tc.made}); got != tc.needed {
			t.Errorf("%s: %v", tc.name, got)
		}
	}
}
