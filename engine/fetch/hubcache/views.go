package hubcache

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/seer-engine/seer/engine/cachegc"
)

// RefView is the kind of what sandboxes refer to: a view, by its folder.
const RefView = "view of a model"

// Views are the views in a cache of the engine, as a source of [cachegc]. Blobs are the
// user's and no items.
type Views string

// Items are the views.
func (own Views) Items(ctx context.Context, refs *cachegc.References) ([]cachegc.Item, error) {
	paths, err := views(filepath.Join(globbed(string(own)), Source, "*"), strings.Repeat("[0-9a-f]", 40))
	if err != nil {
		return nil, err
	}
	var all []cachegc.Item
	for _, path := range paths {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		dir, err := filepath.EvalSymlinks(path)
		if errors.Is(err, fs.ErrNotExist) {
			dir = path // a link to a view that is gone
		}
		last, err := cachegc.LastUse(dir)()
		if err != nil {
			continue // it is being removed
		}
		all = append(all, cachegc.Item{
			Kind: "model", Name: cachegc.FolderName(path), Bytes: alone(dir), Last: last, Needed: refs.Has(RefView, dir),
			Lock: path + ".lock", Fresh: cachegc.LastUse(dir), Remove: func() error { return errors.Join(removeView(dir), removeFile(path)) },
		})
	}
	return all, nil
}

// views are the views of commits in folders, the latter two as patterns: whole ones and parts.
func views(folders, commits string) ([]string, error) {
	whole, err := filepath.Glob(filepath.Join(folders, commits))
	if err != nil {
		return nil, err
	}
	parts, err := filepath.Glob(filepath.Join(folders, commits+","+strings.Repeat("[0-9a-f]", 16)))
	return append(whole, parts...), err
}

// removeView removes a view. Its name is gone first, as that of all that is removed.
func removeView(dir string) error {
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
		return nil
	}
	return cachegc.RemoveTree(dir)
}

// alone is how many bytes only a view has: blobs that the user has removed, and copies.
func alone(dir string) (bytes int64) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		var st unix.Stat_t
		if err == nil && d.Type().IsRegular() && unix.Lstat(path, &st) == nil && st.Nlink == 1 {
			bytes += st.Blocks * 512
		}
		return nil // what cannot be read is counted by nobody
	})
	return bytes
}
