package tartree_test

import (
	"archive/tar"
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/protocol/tartree"
)

// What is restored has the links that it had, but nothing is written through them.
func TestRestoreTreeKeepsLinksAndFollowsNone(t *testing.T) {
	outside, dir := t.TempDir(), filepath.Join(t.TempDir(), "né w")
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	add := func(h *tar.Header, text string) {
		h.Size = int64(len(text))
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	add(&tar.Header{Typeflag: tar.TypeSymlink, Name: "hosts", Linkname: "/etc/hosts"}, "")
	add(&tar.Header{Typeflag: tar.TypeSymlink, Name: "away", Linkname: outside}, "")
	add(&tar.Header{Typeflag: tar.TypeReg, Name: "away/planted", Mode: 0o644}, "x")
	add(&tar.Header{Typeflag: tar.TypeReg, Name: "../planted", Mode: 0o644}, "x")
	add(&tar.Header{Typeflag: tar.TypeReg, Name: "file", Mode: 0o755}, "y")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := tartree.Restore(&b, dir)
	if protocol.CodeOf(err) != protocol.Invalid {
		t.Errorf("got %v", err)
	}
	if to, err := os.Readlink(filepath.Join(dir, "hosts")); err != nil || to != "/etc/hosts" {
		t.Errorf("%s, %v", to, err)
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) > 0 {
		t.Errorf("written outside: %v, %v", entries, err)
	}
	if info, err := os.Stat(filepath.Join(dir, "file")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("%v, %v", info, err)
	}
}
