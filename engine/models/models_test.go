package models_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/cachegc"
	"github.com/seer-engine/seer/engine/errdefs"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/models"
	"github.com/seer-engine/seer/sdk"
)

// fetcher has one model of two files, whose content comes with its location.
type fetcher struct{}

func (fetcher) Resolve(_ context.Context, ref sdk.ModelRef) (sdk.ResolvedModel, error) {
	revision := ref.Revision
	if revision == "" {
		revision = "r/1"
	}
	return sdk.ResolvedModel{Name: ref.Name, Revision: revision, Files: []sdk.ModelFile{{Path: "config.json", Size: 2}, {Path: "sub/w", Size: 2}}}, nil
}

func (fetcher) Locate(context.Context, sdk.FileRef) (sdk.Location, error) {
	return sdk.Location{Content: []byte("{}")}, nil
}

type bench struct {
	*models.Manager
	t       *testing.T
	own     string
	records []machine.Record
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, own: filepath.Join(t.TempDir(), "own [é]")}
	home := t.TempDir()
	b.Manager = &models.Manager{
		Getter: models.Getter{
			Fetcher: func(context.Context, string, ...string) (sdk.Fetcher, error) { return fetcher{}, nil },
			Cache:   func() (string, error) { return b.own, os.MkdirAll(b.own, 0o700) },
			Getenv: func(name string) string {
				if name == "HOME" {
					return home
				}
				return ""
			},
		},
		Records:    func() ([]machine.Record, error) { return b.records, nil },
		References: func(context.Context) (*cachegc.References, error) { return &cachegc.References{}, nil },
		Manifests: models.Manifests{Dir: func() (string, error) {
			return filepath.Join(home, "manifests"), os.MkdirAll(filepath.Join(home, "manifests"), 0o700)
		}},
		Now: time.Now,
	}
	return b
}

func (b *bench) pull(name string) string {
	b.t.Helper()
	ref, err := models.Parse(name)
	if err != nil {
		b.t.Fatal(err)
	}
	got, err := b.Pull(b.t.Context(), ref)
	if err != nil {
		b.t.Fatal(err)
	}
	return got.Dir
}

func TestParse(t *testing.T) {
	for name, want := range map[string]sdk.ModelRef{
		"org/name":           {Source: "hub", Name: "org/name"},
		"org/name@refs/pr/1": {Source: "hub", Name: "org/name", Revision: "refs/pr/1"},
		"datasets/org/d@v1":  {Source: "hub", Name: "datasets/org/d", Revision: "v1"},
		"hub:org/name@v1":    {Source: "hub", Name: "org/name", Revision: "v1"},
		"test:a@b/c":         {Source: "test", Name: "a@b/c"},
	} {
		if got, err := models.Parse(name); err != nil || got.Source != want.Source || got.Name != want.Name || got.Revision != want.Revision {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	for _, name := range []string{"", "org/name@", "./folder", "/folder", "folder:x", "~/x", "a/b/c", "@v1", "org/na me"} {
		if got, err := models.Parse(name); err == nil || errdefs.KindOf(err) != errdefs.KindConfig {
			t.Errorf("%q: %+v, %v", name, got, err)
		}
	}
}

// Models of other sources are in the engine's own cache.
func TestOwnCache(t *testing.T) {
	b := newBench(t)
	if all, err := b.List(t.Context()); err != nil || len(all) != 0 {
		t.Fatalf("%+v, %v", all, err)
	}
	dir := b.pull("test:a b/é")
	all, err := b.List(t.Context())
	if err != nil || len(all) != 1 || all[0].Name != "test:a b/é" || all[0].Where != models.InOwn || all[0].Bytes != 4 || all[0].Revisions[0].Revision != "r/1" {
		t.Fatalf("%+v, %v", all, err)
	}
	u, err := b.Usage(t.Context())
	if err != nil || len(u.Models) != 1 || u.Own.Bytes < u.Models[0].Bytes || u.Hub.Bytes != 0 || u.Bytes != u.Own.Bytes {
		t.Errorf("%+v, %v", u, err)
	}
	ref, _ := models.Parse("test:a b/é")
	if _, err := b.Verify(t.Context(), ref); sdk.CodeOf(err) != sdk.Unsupported {
		t.Error(err)
	}
	b.records = []machine.Record{{ID: "sb-1", State: sdk.Running, Models: []machine.Model{{Source: "test", Revision: "r/1"}}}}
	if _, err := b.FindRemoval(t.Context(), ref); errdefs.KindOf(err) != errdefs.KindConflict || !strings.Contains(err.Error(), "sb-1") {
		t.Error(err)
	}
	b.records = nil
	found, err := b.FindRemoval(t.Context(), ref)
	if err != nil || len(found) != 1 {
		t.Fatalf("%+v, %v", found, err)
	}
	gone, err := b.Remove(t.Context(), found[0])
	if _, left := os.Lstat(dir); err != nil || !errors.Is(left, os.ErrNotExist) || len(gone.Revisions) != 1 {
		t.Errorf("%+v, %v, %v", gone, err, left)
	}
	if _, err := b.FindRemoval(t.Context(), ref); errdefs.KindOf(err) != errdefs.KindNotFound {
		t.Error(err)
	}
}

// What is old and what downloads have left goes; what is used, new or in work stays.
func TestGC(t *testing.T) {
	b := newBench(t)
	used, old, fresh := b.pull("test:used"), b.pull("test:old"), b.pull("test:new")
	left := filepath.Join(b.own, "test", "left", "r.partial")
	if err := os.MkdirAll(filepath.Join(left, "files"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(left, "files", "w.incomplete"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	when := time.Now().Add(-40 * 24 * time.Hour)
	for _, dir := range []string{used, old, left} {
		if err := os.Chtimes(dir, when, when); err != nil {
			t.Fatal(err)
		}
	}
	for _, at := range []string{used, old, fresh} { // each has another revision
		if err := os.Rename(at, filepath.Join(filepath.Dir(at), filepath.Base(filepath.Dir(at)))); err != nil {
			t.Fatal(err)
		}
	}
	b.records = []machine.Record{{ID: "sb-1", State: sdk.Running, Models: []machine.Model{{Source: "test", Revision: "used"}}}}
	would, err := b.GC(t.Context(), models.GCOptions{DryRun: true})
	if err != nil || len(would) != 2 {
		t.Fatalf("%+v, %v", would, err)
	}
	gone, err := b.GC(t.Context(), models.GCOptions{})
	if err != nil || len(gone) != 2 {
		t.Errorf("%+v, %v", gone, err)
	}
	all, err := b.List(t.Context())
	if err != nil || len(all) != 2 || all[0].Name != "test:new" || all[1].Name != "test:used" {
		t.Errorf("%+v, %v", all, err)
	}
}

// The manifest that a start has kept stays until the start has its record.
func TestGCKeepsManifestsOfAStart(t *testing.T) {
	b := newBench(t)
	began := time.Now().Add(-time.Minute)
	digest, err := b.Manifests.Keep(models.Manifest{Version: 1, Revision: "r"})
	if err != nil {
		t.Fatal(err)
	}
	b.Now = func() time.Time { return began.Add(5 * time.Hour) }
	b.References = func(context.Context) (*cachegc.References, error) { return &cachegc.References{Since: began}, nil }
	if _, err := b.GC(t.Context(), models.GCOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Manifests.Load(digest); err != nil {
		t.Errorf("while the start goes on: %v", err)
	}
	b.References = func(context.Context) (*cachegc.References, error) { return &cachegc.References{}, nil }
	if _, err := b.GC(t.Context(), models.GCOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Manifests.Load(digest); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after its end: %v", err)
	}
}

func TestManifests(t *testing.T) {
	b := newBench(t)
	m := models.Manifest{Version: 1, Revision: "r", Files: []sdk.ModelFile{{Path: "a é", Size: 3, SHA256: "00"}, {Path: "b", GitSHA1: "11"}}}
	digest, err := b.Manifests.Keep(m)
	if err != nil {
		t.Fatal(err)
	}
	again, err := b.Manifests.Keep(m)
	if err != nil || again != digest {
		t.Errorf("%s, %v", again, err)
	}
	got, err := b.Manifests.Load(digest)
	if err != nil || len(got.Files) != 2 || got.Files[0] != m.Files[0] || got.Revision != "r" {
		t.Errorf("%+v, %v", got, err)
	}
	for _, wrong := range []string{"", "sha256:", "sha256:../x", digest[7:], digest + "0"} {
		if _, err := b.Manifests.Load(wrong); err == nil {
			t.Errorf("%q is read", wrong)
		}
	}
	if err := b.Manifests.Sweep(map[string]bool{digest: true}, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := b.Manifests.Sweep(nil, time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	dir, _ := b.Manifests.Dir()
	path := filepath.Join(dir, digest[7:]+".json")
	if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Manifests.Load(digest); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Error(err)
	}
	if _, err := b.Manifests.Keep(m); err != nil { // a damaged one is written again
		t.Fatal(err)
	}
	if err := b.Manifests.Sweep(nil, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Manifests.Load(digest); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
