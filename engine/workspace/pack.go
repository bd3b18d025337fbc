package workspace

import (
	"archive/tar"
	"fmt"
	"io"
	"strings"
	"time"
)

// Pack writes files as a tar stream for [Folder]. One that has changed its size since it was
// listed is an error.
func Pack(w io.Writer, files []File) error {
	t := tar.NewWriter(w)
	for _, f := range files {
		if err := packFile(t, f); err != nil {
			return err
		}
	}
	return t.Close()
}

func packFile(t *tar.Writer, f File) error {
	name := strings.TrimPrefix(f.Path, Folder+"/")
	if err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: int64(f.Mode.Perm()), Size: f.Size, ModTime: time.Now(), Format: tar.FormatPAX}); err != nil {
		return err
	}
	r, err := f.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	n, err := io.Copy(t, r)
	if err == nil && n < f.Size {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return fmt.Errorf("%s was changed while it was copied: %w", name, err)
	}
	return nil
}
