package snapshot_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/snapshot"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

// A large file that does not shrink is stored and placed without a copy, others compressed.
func TestFileThatIsKeptAsItIs(t *testing.T) {
	s := newStore(t)
	from := t.TempDir()
	write := func(name, text string) string { return testkit.WriteFile(t, filepath.Join(from, name), text) }
	pages := noise(t, 17<<20)
	m := meta("memory")
	m.Kind = snapshot.Memory
	sn, err := s.Save(t.Context(), m, []snapshot.Source{
		{Name: "memory/pages.img", Opaque: true, File: write("pages.img", pages)},
		{Name: "memory/zeros.img", Opaque: true, File: write("zeros.img", strings.Repeat("\x00", 17<<20))},
		{Name: "memory/small.img", Opaque: true, File: write("small.img", pages[:1000])},
	})
	if err != nil || sn.Blobs[0].Part.Digest != sn.Blobs[0].Digest || sn.Blobs[0].Bytes != 17<<20 || sn.Blobs[1].Part.Size > 1<<20 {
		t.Fatalf("%+v %v", sn, err)
	}
	stored := filepath.Join(s.Dir, "blobs", sn.Blobs[0].Digest[7:])
	if err := os.RemoveAll(from); err != nil { // whoever made the file removes it
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := s.Export(t.Context(), "memory", &file); err != nil {
		t.Fatal(err)
	}
	other := newStore(t)
	if _, err := other.Import(t.Context(), &file, ""); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*snapshot.Store{s, other} {
		if err := s.Verify(t.Context(), "memory"); err != nil {
			t.Error(err)
		}
		place(t, s, "memory/pages.img", pages)
		place(t, s, "memory/zeros.img", strings.Repeat("\x00", 17<<20))
		place(t, s, "memory/small.img", pages[:1000])
	}
	at := filepath.Join(t.TempDir(), "placed")
	verify, err := s.Place(t.Context(), get(t, s, "memory"), "memory/pages.img", at)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := stat(t, at), stat(t, stored); !os.SameFile(a, b) || b.Mode().Perm() != 0o600 {
		t.Errorf("it was copied, or is open to others: %v %v", a, b)
	}
	verifyExact := placed(t, s, sn.ID)
	f, err := os.OpenFile(stored, os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteAt([]byte("other bytes"), 5<<20)
	}
	if err != nil || f.Close() != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{"placed": verify(t.Context()), "placed by its ID": verifyExact(t.Context()), "verified": s.Verify(t.Context(), "memory")} {
		if sdk.CodeOf(err) != sdk.Invalid || !strings.Contains(err.Error(), "memory is damaged") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := s.Place(t.Context(), get(t, s, "memory"), "memory/zeros.img", at); err == nil {
		t.Error("a file that was there was replaced")
	}
}

// TestWhichSumDecides has a snapshot with a wrong sum: only who names it by its ID has the
// SHA-256 looked at, and what older versions have saved has no other.
func TestWhichSumDecides(t *testing.T) {
	s := newStore(t)
	path := filepath.Join(t.TempDir(), "pages.img")
	if err := os.WriteFile(path, []byte(noise(t, 17<<20)), 0o600); err != nil {
		t.Fatal(err)
	}
	m := meta("memory")
	m.Kind = snapshot.Memory
	sn, err := s.Save(t.Context(), m, []snapshot.Source{{Name: "memory/pages.img", Opaque: true, File: path}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		ref, sum string
		damaged  bool
	}{{"memory", sn.Blobs[0].XXH3, false}, {"memory", strings.Repeat("0", 32), true}, {"memory", "", false}, {sn.ID, strings.Repeat("0", 32), false}, {sn.ID[7:20], "", false}} {
		found := get(t, s, tc.ref)
		found.Blobs[0].XXH3 = tc.sum
		verify, err := s.Place(t.Context(), found, "memory/pages.img", filepath.Join(t.TempDir(), "placed"))
		if err != nil {
			t.Fatal(err)
		}
		if err := verify(t.Context()); (err != nil) != tc.damaged {
			t.Errorf("%s with the sum %q: %v", tc.ref, tc.sum, err)
		}
	}
}

// placed is how the pages of a snapshot are verified.
func placed(t *testing.T, s *snapshot.Store, ref string) func(context.Context) error {
	t.Helper()
	verify, err := s.Place(t.Context(), get(t, s, ref), "memory/pages.img", filepath.Join(t.TempDir(), "placed"))
	if err != nil {
		t.Fatal(err)
	}
	return verify
}

func place(t *testing.T, s *snapshot.Store, name, want string) {
	t.Helper()
	at := filepath.Join(t.TempDir(), "placed")
	verify, err := s.Place(t.Context(), get(t, s, "memory"), name, at)
	if err != nil {
		t.Fatal(err)
	}
	if err := verify(t.Context()); err != nil {
		t.Error(err)
	}
	if data, err := os.ReadFile(at); err != nil || string(data) != want {
		t.Errorf("%s: %d bytes, %v", name, len(data), err)
	}
}

func stat(t *testing.T, path string) os.FileInfo {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info
}
