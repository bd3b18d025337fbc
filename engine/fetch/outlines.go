package fetch

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/seer-engine/seer/engine/cachegc"
	"github.com/seer-engine/seer/engine/state"
)

// Outlines are the folders that [Remote.Outline] has made in a cache, as a source of
// [cachegc].
type Outlines string

// Items are the outlines, and what is left of those whose making was broken off.
func (dir Outlines) Items(ctx context.Context, refs *cachegc.References) ([]cachegc.Item, error) {
	found, err := fs.Glob(os.DirFS(string(dir)), "*/*/*/*")
	if err != nil {
		return nil, err
	}
	var all []cachegc.Item
	for _, at := range found {
		path := filepath.Join(string(dir), filepath.FromSlash(at))
		if filepath.Ext(path) == ".lock" {
			continue
		}
		bytes, err := state.DiskUse(ctx, path)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			continue // it is being removed
		}
		last, err := cachegc.LastUse(path)()
		if err != nil {
			continue // it is being removed
		}
		all = append(all, cachegc.Item{
			Kind: "outline of a model", Name: cachegc.FolderName(path), Bytes: bytes, Last: last,
			Lock: path + ".lock", Fresh: cachegc.LastUse(path), Remove: func() error { return cachegc.RemoveTree(path) },
		})
	}
	return all, nil
}
