package image

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/seer-engine/seer/sdk"
)

// TestUnreadLayer: a layer that could not be read to its end is not called damaged.
func TestUnreadLayer(t *testing.T) {
	t.Parallel()
	for name, pack := range map[string]func(io.Writer) io.WriteCloser{
		"plain": func(w io.Writer) io.WriteCloser { return nopCloser{w} },
		"gzip":  func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
		"zstd": func(w io.Writer) io.WriteCloser {
			z, err := zstd.NewWriter(w)
			if err != nil {
				t.Fatal(err)
			}
			return z
		},
	} {
		data := packed(t, pack)
		for _, have := range []int{0, 2, 6, 200, len(data) / 2, len(data) - 100} {
			broken := iotest.ErrReader(&fs.PathError{Op: "read", Path: "/a layer", Err: syscall.EIO})
			tree, err := openTree(t.TempDir(), 1<<30)
			if err != nil {
				t.Fatal(err)
			}
			err = tree.apply(t.Context(), io.MultiReader(bytes.NewReader(data[:have]), broken))
			tree.close()
			if !errors.Is(err, syscall.EIO) || sdk.CodeOf(err) == sdk.Invalid || strings.Contains(err.Error(), "damaged") {
				t.Errorf("%s after %d bytes: %v (%s)", name, have, err, sdk.CodeOf(err))
			}
		}
	}
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// packed is a layer with files that no compression makes smaller.
func packed(t *testing.T, pack func(io.Writer) io.WriteCloser) []byte {
	t.Helper()
	var out bytes.Buffer
	z := pack(&out)
	w := tar.NewWriter(z)
	random := rand.NewChaCha8([32]byte{})
	for _, name := range []string{"a", "b"} {
		content := make([]byte, 1<<20)
		_, _ = random.Read(content)
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
