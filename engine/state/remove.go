package state

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// RemoveAll removes a folder, also where an installer has made folders in it read-only.
func RemoveAll(dir string) error {
	if err := os.RemoveAll(dir); err == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}

// Walk calls see for a folder and everything in it. What is not there, or is removed meanwhile, is left
// out. An error of see ends the walk.
func Walk(dir string, see func(path string, d fs.DirEntry) error) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		return see(path, d)
	})
}

// DiskUse adds up what the files of a folder take on the disk as far as nobody else has them.
// What may not be read or is gone meanwhile weighs nothing.
func DiskUse(ctx context.Context, folder string) (bytes int64, err error) {
	err = filepath.WalkDir(folder, func(_ string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var info fs.FileInfo
		if err == nil && d.Type().IsRegular() {
			info, err = d.Info()
		}
		if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && info != nil && !shared(info) {
			bytes += info.Size()
		}
		return err
	})
	return bytes, err
}

// shared reports whether a file has another name elsewhere, such as a blinded copy's.
func shared(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && s.Nlink > 1
}
