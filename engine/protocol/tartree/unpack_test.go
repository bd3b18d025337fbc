package tartree

import (
	"archive/tar"
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/seer-engine/seer/engine/protocol"
)

func tarOf(headers ...tar.Header) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range headers {
		h.Mode = 0o644
		_ = w.WriteHeader(&h)
	}
	_ = w.Close()
	return b.Bytes()
}

// FuzzUnpackTree checks that nothing is ever written outside the folder.
func FuzzUnpackTree(f *testing.F) {
	f.Add(tarOf(tar.Header{Name: "../x", Typeflag: tar.TypeReg}))
	f.Add(tarOf(tar.Header{Name: "l", Typeflag: tar.TypeSymlink, Linkname: ".."}, tar.Header{Name: "l/x", Typeflag: tar.TypeReg}))
	f.Add(tarOf(tar.Header{Name: "a/b", Typeflag: tar.TypeReg}, tar.Header{Name: "a", Typeflag: tar.TypeSymlink, Linkname: "b"}))
	f.Fuzz(func(t *testing.T, data []byte) {
		outer := t.TempDir()
		dir := filepath.Join(outer, "inner")
		_, _ = Unpack(bytes.NewReader(data), dir)
		entries, err := os.ReadDir(outer)
		if err != nil || len(entries) != 1 {
			t.Errorf("outside: %v %v", entries, err)
		}
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				_ = os.Chmod(path, 0o755) // so that it can be removed
			}
			return nil
		})
	})
}

func TestUnpackTreeReplaces(t *testing.T) {
	dir := t.TempDir()
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.Symlink(outside, filepath.Join(dir, "f")); err != nil {
		t.Fatal(err)
	}
	// A link that was there before is replaced, not followed.
	if _, err := Unpack(bytes.NewReader(tarOf(tar.Header{Name: "f", Typeflag: tar.TypeReg})), dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(outside); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the link was followed: %v", err)
	}
}

func TestUnpackTreeDoesNotFollowFolderLinks(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, "d")); err != nil {
		t.Fatal(err)
	}
	_, err := Unpack(bytes.NewReader(tarOf(tar.Header{Name: "d/f", Typeflag: tar.TypeReg})), dir)
	if protocol.CodeOf(err) != protocol.Invalid {
		t.Errorf("got %v", err)
	}
	if entries, _ := os.ReadDir(outside); len(entries) > 0 {
		t.Errorf("written outside: %v", entries)
	}
}

func TestUnpackTreeFoldersThatChange(t *testing.T) {
	file := func(name string) tar.Header { return tar.Header{Name: name, Typeflag: tar.TypeReg} }
	link := func(name, to string) tar.Header {
		return tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: to}
	}
	dir := t.TempDir()
	_, err := Unpack(bytes.NewReader(tarOf(
		file("a/1"), file("b/1"), link("l", "a"), file("l/2"), link("l", "b"), file("l/3"),
		tar.Header{Name: "e", Typeflag: tar.TypeDir}, file("e"),
	)), dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a/1", "a/2", "b/1", "b/3", "e"} {
		if info, err := os.Lstat(filepath.Join(dir, name)); err != nil || !info.Mode().IsRegular() {
			t.Errorf("%s: %v %v", name, info, err)
		}
	}
	if _, err := Unpack(bytes.NewReader(tarOf(file("b"))), dir); err == nil {
		t.Error("a folder with content was replaced")
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".seer-*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
