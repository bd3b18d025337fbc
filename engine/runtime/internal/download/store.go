package download

import (
	"cmp"
	"context"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/seer-engine/seer/engine/fetch/hubcache"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/transfer"
	"github.com/seer-engine/seer/sdk"
)

// store brings the files into a store, and links to them into the folder. What is in the store
// already was written by other machines, and perhaps by their sandboxes: this machine verifies
// it once.
func (d *download) store(ctx context.Context, s protocol.DownloadStore, o transfer.Options) error {
	var files []sdk.ModelFile
	sizes := map[string]int64{}
	for _, f := range d.spec.Files {
		files = append(files, sdk.ModelFile{Path: f.Path, Size: f.Size, SHA256: f.SHA256, GitSHA1: f.GitSHA1})
		sizes[f.Path] = f.Size
	}
	cache := hubcache.Cache{Dir: filepath.Join(s.Dir, "hub"), Own: d.own, Symbolic: true}
	if _, err := cache.Store(ctx, hubcache.Request{
		Name: s.Name, Canonical: cmp.Or(s.Canonical, s.Name), Revision: s.Revision, Commit: s.Commit, Files: files, View: d.dir,
		Part:     "machine", // the other files of the commit are not known here
		Transfer: o, Locate: func(ctx context.Context, path string) (transfer.Source, error) {
			return d.ask(ctx, transfer.File{Path: path, Size: sizes[path]})
		},
	}); err != nil {
		return err
	}
	return filepath.WalkDir(d.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		return os.Chmod(path, 0o755)
	})
}
