// Package folder is the model source for folders of this computer.
package folder

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/seer-engine/seer/sdk"
)

// Source is the value of [sdk.ModelRef.Source] that this plugin serves.
const Source = "folder"

// FS is what is needed of a folder.
type FS interface {
	fs.ReadDirFS
	// Digests returns the SHA-256 of each file, in hex.
	Digests(names []string) ([]string, error)
}

// Fetcher implements [sdk.Fetcher] for local folders. A model's name is the
// folder's absolute path, its revision a digest of all files' names and
// contents: the same files have the same revision, wherever they are.
type Fetcher struct {
	Open func(path string) FS
}

// Resolve implements [sdk.Fetcher].
func (f Fetcher) Resolve(_ context.Context, ref sdk.ModelRef) (sdk.ResolvedModel, error) {
	if err := checkName(ref.Name); err != nil {
		return sdk.ResolvedModel{}, err
	}
	files, err := list(f.Open(ref.Name), ref.Wants)
	if err != nil {
		return sdk.ResolvedModel{}, explain(ref.Name, err)
	}
	if len(files) == 0 {
		return sdk.ResolvedModel{}, sdk.Errorf(sdk.Invalid, "model folder %s has no files to use; check the folder and the include and exclude patterns", ref.Name)
	}
	revision := digest(files)
	if ref.Revision != "" && ref.Revision != revision {
		return sdk.ResolvedModel{}, sdk.Errorf(sdk.NotFound, "model folder %s is at revision %s, not %s; its content has changed, or the revision is of something else", ref.Name, revision, ref.Revision)
	}
	return sdk.ResolvedModel{Name: ref.Name, Revision: revision, Files: files}, nil
}

// Locate implements [sdk.Fetcher].
func (f Fetcher) Locate(_ context.Context, file sdk.FileRef) (sdk.Location, error) {
	if err := checkName(file.Name); err != nil {
		return sdk.Location{}, err
	}
	if !fs.ValidPath(file.Path) || file.Path == "." {
		return sdk.Location{}, sdk.Errorf(sdk.Invalid, "%q is not the path of a file inside a model folder", file.Path)
	}
	u := url.URL{Scheme: "file", Path: path.Join(file.Name, file.Path)}
	return sdk.Location{URL: u.String()}, nil
}

func checkName(name string) error {
	if !path.IsAbs(name) {
		return sdk.Errorf(sdk.Invalid, "model folder %q must be an absolute path", name)
	}
	return nil
}

// explain keeps the host's code and names the folder.
func explain(name string, err error) error {
	var e *sdk.Error
	if errors.As(err, &e) {
		return sdk.Errorf(e.Code, "model folder %s: %s", name, e.Message)
	}
	return sdk.Errorf(sdk.Internal, "model folder %s: %v", name, err)
}

// list finds the files, sorted by path. A repository's own history is not part
// of a model.
func list(fsys FS, wants func(path string) bool) ([]sdk.ModelFile, error) {
	var files []sdk.ModelFile
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		case d.IsDir() || !wants(name):
			return nil
		case !d.Type().IsRegular():
			return sdk.Errorf(sdk.Invalid, "%s is neither a file nor a folder; remove it or exclude it", name)
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		files = append(files, sdk.ModelFile{Path: name, Size: info.Size()})
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(files, func(a, b sdk.ModelFile) int { return strings.Compare(a.Path, b.Path) })
	var names []string
	for _, f := range files {
		names = append(names, f.Path)
	}
	sums, err := fsys.Digests(names)
	for i := range sums {
		files[i].SHA256 = sums[i]
	}
	return files, err
}

func digest(files []sdk.ModelFile) string {
	h := sha256.New()
	for _, f := range files {
		fmt.Fprintf(h, "%s\x00%d\x00%s\n", f.Path, f.Size, f.SHA256)
	}
	return "sha256-" + hex.EncodeToString(h.Sum(nil))
}
