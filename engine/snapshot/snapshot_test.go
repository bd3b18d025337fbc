package snapshot_test

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/snapshot"
	"github.com/seer-engine/seer/sdk"
)

func noise(t testing.TB, n int) string {
	data := make([]byte, n)
	if _, err := rand.Read(data); err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestSaveAndRestore(t *testing.T) {
	s := newStore(t)
	big := noise(t, 3<<20)
	setuid := file("a/su", "su")
	setuid.Mode = 0o4755
	one := save(t, s, "one", dir("./"), dir("./a"), file("./a/ä b", "1"), setuid, file("big", big), file("empty", ""), link("out", "/etc/passwd"), hard("twin", "big"),
		hard("twin2", "twin"), file("latin\xe9", "x"), dir("gone"), file("gone/x", "x"), file("was", "file"), special("pipe", tar.TypeFifo, 0), special("disk", tar.TypeBlock, 8),
		special("w1", tar.TypeChar, 0), hard("w2", "w1"), file("later", "x"))
	want := strings.Join([]string{"./ 5 755 0", "a/ 5 755 0", "a/su 0 4755 0 su", "a/ä b 0 644 0 1", "big 0 644 0 3145728 bytes", "empty 0 644 0", "gone/ 5 755 0", "gone/x 0 644 0 x",
		"later 0 644 0 x", "latin\xe9 0 644 0 x", "out 2 777 0 /etc/passwd", "twin 1 644 -123456789 big", "twin2 1 644 -123456789 big", "w1 3 0 -1700000000123456789",
		"w2 3 644 -123456789", "was 0 644 0 file"}, "\n")
	if got := restored(t, s, "one", "workspace"); got != want {
		t.Errorf("restored:\n%s\nnot:\n%s", got, want)
	}
	tree := one.Trees[0]
	if tree.LeftOut != 2 || len(tree.Layers) != 1 || tree.Bytes != 3<<20+10 || tree.New != tree.Bytes || one.Bytes < 3<<20 || one.Created.IsZero() || one.Created.Location() != time.UTC {
		t.Errorf("%+v", one)
	}

	// Of what comes next, only what is new takes place.
	touched := file("later", "x")
	touched.ModTime = then.Add(time.Hour)
	changed := []item{dir("a"), file("a/ä b", "2"), file("big", big), file("empty", ""), touched, dir("was"), file("was/now", "dir")}
	two := save(t, s, "two", changed...)
	want = strings.Join([]string{"a/ 5 755 0", "a/ä b 0 644 0 2", "big 0 644 0 3145728 bytes", "empty 0 644 0", "later 0 644 3600000000000 x", "was/ 5 755 0", "was/now 0 644 0 dir"}, "\n")
	if got := restored(t, s, "two", "workspace"); got != want {
		t.Errorf("restored:\n%s\nnot:\n%s", got, want)
	}
	if tree := two.Trees[0]; two.Parent != one.ID || len(tree.Layers) != 2 || tree.Layers[0] != one.Trees[0].Layers[0] || tree.Layers[1].Size > 2000 || tree.New != 4 {
		t.Errorf("%+v", two)
	}
	three := save(t, s, "three", changed...)
	if three.Trees[0].New != 0 || len(three.Trees[0].Layers) != 2 || three.Trees[0].Index != two.Trees[0].Index {
		t.Errorf("the same once more: %+v", three)
	}
	// And without a parent, too, what is the same is there once.
	m := meta("four")
	m.Parent = snapshot.NoParent
	four, err := s.Save(t.Context(), m, []snapshot.Source{source("workspace", archive(t, changed...)), source("home", archive(t, changed...))})
	if err != nil || four.Parent != "" || four.Trees[0].Layers[0] != four.Trees[1].Layers[0] {
		t.Errorf("%+v, %v", four, err)
	}
	for _, name := range []string{"one", "two", "three", "four"} {
		if err := s.Verify(t.Context(), name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	removal(t, s)
}

// removal removes the parents first: what their children have of them stays.
func removal(t *testing.T, s *snapshot.Store) {
	for _, name := range []string{"one", "two", "four"} {
		if err := s.Remove(t.Context(), name); err != nil {
			t.Error(err)
		}
		if err := s.Verify(t.Context(), "three"); err != nil {
			t.Error(err)
		}
	}
	if got := filesIn(t, s); got != "names 1 blobs 4 tmp 0" { // document, index, two layers
		t.Error(got)
	}
	if err := s.Remove(t.Context(), "three"); err != nil {
		t.Error(err)
	}
	if got := filesIn(t, s); got != "names 0 blobs 0 tmp 0" {
		t.Error(got)
	}
	if err := s.Remove(t.Context(), "three"); sdk.CodeOf(err) != sdk.NotFound {
		t.Error(err)
	}
}

func TestOpaque(t *testing.T) {
	s := newStore(t)
	pages := noise(t, 2<<20) + strings.Repeat("\x00", 2<<20)
	m := meta("memory")
	m.Kind, m.Labels = snapshot.Memory, map[string]string{"runsc": "x"}
	raw := source("memory/pages.img", []byte(pages))
	raw.Opaque = true
	sn, err := s.Save(t.Context(), m, []snapshot.Source{raw, source("root", archive(t, file("f", "1")))})
	if err != nil || sn.Blobs[0].Bytes != 4<<20 || sn.Bytes > 3<<20 || sn.Kind != snapshot.Memory || sn.Labels["runsc"] != "x" {
		t.Fatalf("%+v, %v", sn, err)
	}
	r, err := s.Restore(t.Context(), sn.ID, "memory/pages.img")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(r); err != nil || string(got) != pages {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if _, err := s.Restore(t.Context(), "memory", "home"); sdk.CodeOf(err) != sdk.NotFound || !strings.Contains(err.Error(), "it has root, memory/pages.img") {
		t.Error(err)
	}
}

func TestReferences(t *testing.T) {
	s := newStore(t)
	if all, err := s.List(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("a new store: %v, %v", all, err)
	}
	if err := s.Sweep(t.Context()); err != nil {
		t.Error(err)
	}
	sn := save(t, s, "one", file("f", "1"))
	for _, ref := range []string{"one", sn.ID, sn.ID[7:], sn.ID[:20], sn.ID[7:19]} {
		if got, err := s.Get(t.Context(), ref); err != nil || got.ID != sn.ID || got.Name != "one" {
			t.Errorf("%s: %+v, %v", ref, got, err)
		}
	}
	for _, ref := range []string{"", "two", sn.ID[7:18], "../names/one", "sha256:" + strings.Repeat("0", 64)} {
		if _, err := s.Get(t.Context(), ref); sdk.CodeOf(err) != sdk.NotFound {
			t.Errorf("%q: %v", ref, err)
		}
	}
	for _, name := range []string{"", ".", "..", "a/b", "-x", "none", strings.Repeat("x", 64), "a b", "é", "x\n", strings.Repeat("a", 12), "sha256:x"} {
		if _, err := s.Save(t.Context(), meta(name), []snapshot.Source{source("workspace", archive(t))}); sdk.CodeOf(err) != sdk.Invalid {
			t.Errorf("%q: %v", name, err)
		}
	}
	var taken *snapshot.ExistsError
	if _, err := s.Save(t.Context(), meta("one"), []snapshot.Source{source("workspace", archive(t))}); !errors.As(err, &taken) {
		t.Error(err)
	}
	m := meta("two")
	m.Parent = "nobody"
	if _, err := s.Save(t.Context(), m, []snapshot.Source{source("workspace", archive(t))}); sdk.CodeOf(err) != sdk.NotFound {
		t.Error(err)
	}
	m = meta("two")
	m.Description = "\x1b[2J"
	if _, err := s.Save(t.Context(), m, []snapshot.Source{source("workspace", archive(t))}); sdk.CodeOf(err) != sdk.Invalid {
		t.Error(err)
	}
	if _, err := s.Save(t.Context(), meta("two"), nil); sdk.CodeOf(err) != sdk.Invalid {
		t.Error(err)
	}
	if got := filesIn(t, s); got != "names 1 blobs 3 tmp 0" {
		t.Error(got)
	}
}

func TestTarsThatAreWrong(t *testing.T) {
	s := newStore(t)
	good := archive(t, file("a", strings.Repeat("x", 1000)), file("b", "x"))
	for name, tc := range map[string]struct {
		tar  []byte
		text string
	}{
		"cut in a file":       {good[:1000], "was cut"},
		"cut after a file":    {good[:len(good)-1024], "was cut"},
		"cut in its end":      {good[:len(good)-512], "was cut"},
		"empty":               {nil, "was cut after 0 entries"},
		"text":                {[]byte(strings.Repeat("no tar ", 1000)), "not a tar"},
		"up":                  {archive(t, file("../x", "")), "leads out"},
		"link up":             {archive(t, hard("x", "../../x")), "leads out"},
		"link to nobody":      {archive(t, hard("x", "y")), "does not come before"},
		"link to a folder":    {archive(t, dir("y"), hard("x", "y")), "link to the folder"},
		"twice":               {archive(t, file("x", "1"), file("x", "2")), "twice"},
		"below a link":        {archive(t, link("l", "/etc"), file("l/passwd", "")), "below"},
		"below a file":        {archive(t, file("f", ""), file("f/g", "")), "below"},
		"a file of petabytes": {hugeHeader(t), "was cut"},
	} {
		_, err := s.Save(t.Context(), meta("x"), []snapshot.Source{source("workspace", tc.tar)})
		if err == nil || !strings.Contains(err.Error(), tc.text) || !strings.Contains(err.Error(), "save workspace as x") && tc.tar != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := filesIn(t, s); got != "names 0 blobs 0 tmp 0" {
		t.Error(got)
	}
}

func hugeHeader(t *testing.T) []byte {
	var buf bytes.Buffer
	if err := tar.NewWriter(&buf).WriteHeader(&tar.Header{Name: "x", Typeflag: tar.TypeReg, Size: 1 << 50}); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// TestHangingSource ends a save whose source says nothing any more.
func TestHangingSource(t *testing.T) {
	s := newStore(t)
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	go func() {
		_, _ = w.Write(archive(t, file("a", "1"))[:1024])
		cancel()
	}()
	_, err := s.Save(ctx, meta("x"), []snapshot.Source{{Name: "workspace", Open: func(context.Context) (io.ReadCloser, error) { return r, nil }}})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	broken := errors.New("the machine is gone")
	_, err = s.Save(t.Context(), meta("x"), []snapshot.Source{{Name: "workspace", Open: func(context.Context) (io.ReadCloser, error) { return nil, broken }}})
	if !errors.Is(err, broken) {
		t.Error(err)
	}
	if got := filesIn(t, s); got != "names 0 blobs 0 tmp 0" {
		t.Error(got)
	}
}

// TestAtOnce has savers, who remove what others build upon, and readers.
func TestAtOnce(t *testing.T) {
	s := newStore(t)
	save(t, s, "base", file("f", "base"), file("g", noise(t, 100_000)))
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			name := fmt.Sprint("own-", i)
			if _, err := s.Save(t.Context(), meta(name), []snapshot.Source{source("workspace", archive(t, file("f", name), file("g", noise(t, 1000))))}); err != nil {
				t.Error(err)
			}
			if err := s.Verify(t.Context(), name); err != nil {
				t.Error(err)
			}
			if err := s.Sweep(t.Context()); err != nil {
				t.Error(err)
			}
			if i%2 == 0 {
				if err := s.Remove(t.Context(), name); err != nil {
					t.Error(err)
				}
			}
		})
	}
	won := make(chan string, 4)
	for range 4 {
		group.Go(func() {
			sn, err := s.Save(t.Context(), meta("same"), []snapshot.Source{source("workspace", archive(t, file("f", noise(t, 100))))})
			var taken *snapshot.ExistsError
			if err == nil {
				won <- sn.ID
			} else if !errors.As(err, &taken) {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if len(won) != 1 {
		t.Errorf("%d have saved under one name", len(won))
	}
	if err := s.Remove(t.Context(), "base"); err != nil {
		t.Error(err)
	}
	if n := verifyAndRemove(t, s); n != 5 {
		t.Errorf("%d snapshots", n)
	}
}

// verifyAndRemove does so with all snapshots of a store, of which then nothing is left. It
// returns how many there were.
func verifyAndRemove(t *testing.T, s *snapshot.Store) int {
	t.Helper()
	all, err := s.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, sn := range all {
		if err := s.Verify(t.Context(), sn.Name); err != nil {
			t.Error(err)
		}
		if err := s.Remove(t.Context(), sn.Name); err != nil {
			t.Error(err)
		}
	}
	if got := filesIn(t, s); got != "names 0 blobs 0 tmp 0" {
		t.Error(got)
	}
	return len(all)
}

// TestRemovedMeanwhile restores what somebody removes.
func TestRemovedMeanwhile(t *testing.T) {
	s := newStore(t)
	body := noise(t, 8<<20)
	save(t, s, "x", file("f", body))
	r, err := s.Restore(t.Context(), "x", "workspace")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := s.Remove(t.Context(), "x"); err != nil {
		t.Fatal(err)
	}
	tr := tar.NewReader(r)
	if _, err := tr.Next(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(tr); err != nil || string(got) != body {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	// Who stops reading leaves nothing that waits for him.
	save(t, s, "y", file("f", body))
	ctx, cancel := context.WithCancel(t.Context())
	r, err = s.Restore(ctx, "y", "workspace")
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := io.Copy(io.Discard, r); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// What a source leaves out is neither there nor a reason to fail.
func TestSkip(t *testing.T) {
	s := newStore(t)
	src := source("home", archive(t, dir("./"), dir("./.seer"), dir("./.seer/keys"), file("./.seer/keys/a", "secret"), hard("twin", "./.seer/keys/a"), file(".seer/keys.txt", "x")))
	src.Skip = []string{".seer/keys"}
	if _, err := s.Save(t.Context(), meta("one"), []snapshot.Source{src}); err != nil {
		t.Fatal(err)
	}
	if got := restored(t, s, "one", "home"); strings.Contains(got, "secret") || strings.Contains(got, "twin") || !strings.Contains(got, ".seer/keys.txt") {
		t.Errorf("restored:\n%s", got)
	}
}
