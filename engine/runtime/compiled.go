package runtime

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const maxCompiled = 16 << 20 // of one file

// unpackCompiled puts bytecode beside the worker's files, where Python looks for it.
// That of another Python does no harm, and where there is none, Python makes it.
func unpackCompiled(dir, archive string) error {
	if archive == "" {
		return nil
	}
	r, err := zip.OpenReader(archive)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer r.Close()
	for _, f := range r.File {
		if !filepath.IsLocal(f.Name) || !strings.HasSuffix(f.Name, ".pyc") || f.UncompressedSize64 > maxCompiled {
			return fmt.Errorf("%s does not belong there", f.Name)
		}
		if err := unpackOne(filepath.Join(dir, filepath.FromSlash(f.Name)), f); err != nil {
			return err
		}
	}
	return nil
}

func unpackOne(path string, f *zip.File) error {
	in, err := f.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	out, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, io.LimitReader(in, maxCompiled))
	return errors.Join(err, out.Close())
}
