package tartree_test

import (
	"archive/tar"
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/protocol/tartree"
	"github.com/seer-engine/seer/internal/testkit"
)

// odd makes a folder with a pipe and a socket, which programs have open.
func odd(t *testing.T) string {
	t.Helper()
	dir := testkit.ShortDir(t)
	testkit.Listen(t, "unix", filepath.Join(dir, "socket"))
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// namesTaken is a tree with the names of a pipe and a socket, each of the kind given.
func namesTaken(t *testing.T, kind byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	entry := func(kind byte, name string) {
		h := &tar.Header{Typeflag: kind, Name: name, Mode: 0o755}
		if kind == tar.TypeSymlink {
			h.Linkname = "elsewhere"
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"pipe", "socket"} {
		entry(kind, name)
		if kind == tar.TypeDir {
			entry(tar.TypeReg, name+"/within")
			entry(tar.TypeDir, name+"/deep")
			entry(tar.TypeSymlink, name+"/deep/link")
		}
	}
	entry(tar.TypeReg, "pipes")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Nothing of a tree takes the place of what programs have open; the rest is written.
func TestUnpackTreeKeepsPipesAndSockets(t *testing.T) {
	for kind, named := range map[byte]string{
		tar.TypeReg:     "pipe, socket",
		tar.TypeSymlink: "pipe, socket",
		tar.TypeDir:     "pipe, pipe/within, pipe/deep, pipe/deep/link, socket, socket/within, socket/deep, socket/deep/link",
	} {
		t.Run(string(kind), func(t *testing.T) {
			dir, tree := odd(t), namesTaken(t, kind)
			_, err := tartree.Unpack(bytes.NewReader(tree), dir)
			if protocol.CodeOf(err) != protocol.Invalid || !strings.Contains(err.Error(), "device: "+named) {
				t.Errorf("got %v", err)
			}
			for name, is := range map[string]fs.FileMode{"pipe": fs.ModeNamedPipe, "socket": fs.ModeSocket, "pipes": 0} {
				if info, err := os.Lstat(filepath.Join(dir, name)); err != nil || info.Mode().Type() != is {
					t.Errorf("%s: %v, %v", name, info, err)
				}
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) != 3 {
				t.Errorf("there are %v, %v", left, err)
			}
			if _, err := tartree.Restore(bytes.NewReader(tree), dir); err != nil {
				t.Errorf("restored: %v", err)
			}
			info, err := os.Lstat(filepath.Join(dir, "pipe"))
			if err != nil || info.Mode().Type()&^(fs.ModeDir|fs.ModeSymlink) != 0 {
				t.Errorf("restored: %v, %v", info, err)
			}
		})
	}
}
