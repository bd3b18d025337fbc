package treetar

import (
	"archive/tar"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A folder that was packed is there again: content, kinds, permissions, times and links.
func TestPackedTree(t *testing.T) {
	from, to, file := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "tree.tar")
	then := time.Unix(1700000000, 123456789)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(filepath.Join(from, "a é", "b"), 0o755))
	must(os.WriteFile(filepath.Join(from, "a é", "b", "file"), []byte("content"), 0o640))
	must(os.Link(filepath.Join(from, "a é", "b", "file"), filepath.Join(from, "hard")))
	must(os.Symlink("/etc/passwd", filepath.Join(from, "soft")))
	must(os.WriteFile(filepath.Join(from, "empty"), nil, 0o600))
	must(os.Chtimes(filepath.Join(from, "a é", "b", "file"), then, then))
	must(os.Chmod(filepath.Join(from, "a é", "b"), 0o555))
	must(Pack(t.Context(), from, file))
	must(Unpack(t.Context(), file, to))
	t.Cleanup(func() {
		for _, dir := range []string{from, to} {
			_ = os.Chmod(filepath.Join(dir, "a é", "b"), 0o755)
		}
	})
	got, err := os.ReadFile(filepath.Join(to, "hard"))
	must(err)
	info, err := os.Stat(filepath.Join(to, "a é", "b", "file"))
	must(err)
	same, err := os.Stat(filepath.Join(to, "hard"))
	must(err)
	dir, err := os.Stat(filepath.Join(to, "a é", "b"))
	must(err)
	link, err := os.Readlink(filepath.Join(to, "soft"))
	must(err)
	if string(got) != "content" || !os.SameFile(info, same) || info.Mode().Perm() != 0o640 || !info.ModTime().Equal(then) ||
		dir.Mode().Perm() != 0o555 || link != "/etc/passwd" {
		t.Errorf("%q, %v, %v, %q", got, info, dir, link)
	}
}

// A file that somebody else has made leads nowhere but into the folder.
func TestUnpackStaysInside(t *testing.T) {
	for name, entries := range map[string][]tar.Header{
		"a path":             {{Name: "../out", Typeflag: tar.TypeReg}},
		"an absolute path":   {{Name: "/tmp/out", Typeflag: tar.TypeReg}},
		"through a link":     {{Name: "l", Typeflag: tar.TypeSymlink, Linkname: ".."}, {Name: "l/out", Typeflag: tar.TypeReg}},
		"a hard link":        {{Name: "h", Typeflag: tar.TypeLink, Linkname: "../secret"}},
		"a file twice":       {{Name: "f", Typeflag: tar.TypeReg}, {Name: "f", Typeflag: tar.TypeReg}},
		"a folder in a file": {{Name: "f", Typeflag: tar.TypeReg}, {Name: "f/g", Typeflag: tar.TypeReg}},
	} {
		t.Run(name, func(t *testing.T) {
			top := t.TempDir()
			dir, file := filepath.Join(top, "dir"), filepath.Join(t.TempDir(), "tree.tar")
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(top, "secret"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			f, err := os.Create(file)
			if err != nil {
				t.Fatal(err)
			}
			w := tar.NewWriter(f)
			for _, h := range entries {
				h.Mode = 0o644
				if err := w.WriteHeader(&h); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			f.Close()
			if err := Unpack(t.Context(), file, dir); err == nil {
				t.Error("it was unpacked")
			}
			if left, err := os.ReadDir(top); err != nil || len(left) != 2 {
				t.Errorf("%v %v", left, err)
			}
		})
	}
}
