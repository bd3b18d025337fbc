package snapshot_test

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/snapshot"
)

var then = time.Unix(1_700_000_000, 123_456_789)

func newStore(t testing.TB) *snapshot.Store {
	return &snapshot.Store{Dir: filepath.Join(t.TempDir(), "é store")}
}

type item struct {
	tar.Header
	body string
}

func file(name, body string) item {
	return item{tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, ModTime: then, Format: tar.FormatPAX}, body}
}
func dir(name string) item {
	return item{tar.Header{Name: name + "/", Typeflag: tar.TypeDir, Mode: 0o755, ModTime: then, Format: tar.FormatPAX}, ""}
}
func link(name, to string) item {
	return item{tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: to, Mode: 0o777, ModTime: then, Format: tar.FormatPAX}, ""}
}
func hard(name, to string) item {
	return item{tar.Header{Name: name, Typeflag: tar.TypeLink, Linkname: to, ModTime: then, Mode: 0o644}, ""}
}
func special(name string, kind byte, major int64) item {
	return item{tar.Header{Name: name, Typeflag: kind, Devmajor: major}, ""}
}

func archive(t testing.TB, items ...item) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, i := range items {
		i.Size = int64(len(i.body))
		if err := w.WriteHeader(&i.Header); err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(w, i.body)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func source(name string, data []byte) snapshot.Source {
	return snapshot.Source{Name: name, Open: func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }}
}

func meta(name string) snapshot.Meta {
	return snapshot.Meta{Name: name, Kind: snapshot.FileSystem, Sandbox: "sb-1", Provider: "local"}
}

// save stores a tree called workspace.
func save(t testing.TB, s *snapshot.Store, name string, items ...item) snapshot.Snapshot {
	t.Helper()
	sn, err := s.Save(t.Context(), meta(name), []snapshot.Source{source("workspace", archive(t, items...))})
	if err != nil {
		t.Fatal(err)
	}
	return sn
}

func get(t testing.TB, s *snapshot.Store, ref string) snapshot.Snapshot {
	t.Helper()
	sn, err := s.Get(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	return sn
}

// restored is a tree as one line per entry, sorted; order in the stream is checked.
func restored(t testing.TB, s *snapshot.Store, ref, name string) string {
	t.Helper()
	r, err := s.Restore(t.Context(), ref, name)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var lines []string
	links := false
	for tr := tar.NewReader(r); ; {
		h, err := tr.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(tr)
		if err != nil {
			t.Fatal(err)
		}
		isLink := h.Typeflag == tar.TypeSymlink || h.Typeflag == tar.TypeLink
		if links && !isLink && h.Typeflag != tar.TypeChar {
			t.Errorf("%s comes after links", h.Name)
		}
		links = links || isLink
		body := string(data)
		if len(body) > 20 {
			body = fmt.Sprintf("%d bytes", len(body))
		}
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %c %o %d %s%s", h.Name, h.Typeflag, h.Mode, h.ModTime.UnixNano()-then.UnixNano(), h.Linkname, body)))
	}
	sort.Strings(lines)
	return strings.Join(lines, "\n")
}

// filesIn counts what a store has on the disk.
func filesIn(t testing.TB, s *snapshot.Store) string {
	t.Helper()
	counts := ""
	for _, sub := range []string{"names", "blobs", "tmp"} {
		entries, err := os.ReadDir(filepath.Join(s.Dir, sub))
		if err != nil {
			t.Fatal(err)
		}
		counts += fmt.Sprintf("%s %d ", sub, len(entries))
	}
	return strings.TrimSpace(counts)
}

func exported(t testing.TB, s *snapshot.Store, ref string) []byte {
	t.Helper()
	var buf bytes.Buffer
	if err := s.Export(t.Context(), ref, &buf); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// again gives the tree of the snapshot called one.
func again(s *snapshot.Store) func(context.Context) (io.ReadCloser, error) {
	return func(ctx context.Context) (io.ReadCloser, error) { return s.Restore(ctx, "one", "workspace") }
}
