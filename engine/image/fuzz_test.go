package image

import (
	"archive/tar"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seer-engine/seer/internal/testkit"
)

// FuzzLayer unpacks whatever comes upon hard links to a base: it may be refused, but it
// stays in its place, and the base stays as it is.
func FuzzLayer(f *testing.F) {
	for _, seed := range [][]tar.Header{
		{{Name: "a/b", Typeflag: tar.TypeReg}, {Name: "l", Typeflag: tar.TypeSymlink, Linkname: "/a"}, {Name: "l/c", Typeflag: tar.TypeReg}, {Name: "a/.wh.b", Typeflag: tar.TypeReg}},
		{{Name: "w", Typeflag: tar.TypeChar}, {Name: "v", Typeflag: tar.TypeLink, Linkname: "w"}, {Name: "d/.wh..wh..opq", Typeflag: tar.TypeReg}},
		{{Name: "h", Typeflag: tar.TypeLink, Linkname: "a/b"}, {Name: "../../x", Typeflag: tar.TypeReg}, {Name: "/a", Typeflag: tar.TypeDir}},
	} {
		var buf bytes.Buffer
		w := tar.NewWriter(&buf)
		for _, h := range seed {
			if err := w.WriteHeader(&h); err != nil {
				f.Fatal(err)
			}
		}
		f.Add(buf.Bytes()) // and no end
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		place := t.TempDir()
		base, top := filepath.Join(place, "base"), filepath.Join(place, "top")
		for _, dir := range []string{base + "/a", base + "/d", top} {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(base+"/a/b", []byte("base"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(place, base+"/out"); err != nil {
			t.Fatal(err)
		}
		if err := linkTree(t.Context(), base, top); err != nil {
			t.Fatal(err)
		}
		tree, err := openTree(top, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		defer tree.close()
		tree.overlay = true
		if err := tree.apply(t.Context(), bytes.NewReader(data)); strings.Contains(fmt.Sprint(err), "escapes") {
			t.Errorf("only the last wall held: %v", err)
		}
		if data, err := os.ReadFile(base + "/a/b"); err != nil || string(data) != "base" {
			t.Errorf("the base has %q, %v", data, err)
		}
		info, err := os.Stat(base + "/a/b")
		if err != nil || info.Mode() != 0o600 {
			t.Errorf("the base's file has the mode %v", info.Mode())
		}
		if entries, _ := os.ReadDir(place); len(entries) != 2 {
			t.Errorf("beside it: %v", entries)
		}
	})
}

// FuzzSIF looks for a system in whatever comes: what it finds is a squashfs within the file.
func FuzzSIF(f *testing.F) {
	squashfs := make([]byte, 4096)
	copy(squashfs, squashfsMagic)
	squashfs[28], squashfs[40] = 4, 96
	f.Add(squashfs)
	f.Add([]byte(testkit.ReadFile(f, writeSIF(f, filepath.Join(f.TempDir(), "seed.sif"), squashfs, nil))))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := squashfsIn(bytes.NewReader(data), int64(len(data)), "linux/amd64")
		if err == nil && !bytes.HasPrefix(data[s.offset:][:s.size], squashfsMagic) {
			t.Errorf("found %+v", s)
		}
	})
}
