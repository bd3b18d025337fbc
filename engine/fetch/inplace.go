package fetch

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/seer-engine/seer/sdk"
)

// inPlace finds the one folder that all files are in. It must be, or be in, a
// folder that the user named, and nothing in it may lead outside.
func (s source) inPlace(ctx context.Context, folders []string) (string, error) {
	base := ""
	for _, f := range s.model.Files {
		at, err := s.locate(ctx, f)
		if err != nil {
			return "", err
		}
		dir, ok := strings.CutSuffix(at.Path, "/"+f.Path)
		if at.Scheme != "file" || !ok || (base != "" && dir != base) {
			return "", s.refuse("%s is not in the same folder as the other files", f.Path)
		}
		base = dir
	}
	base = filepath.Clean(base)
	resolved, err := filepath.EvalSymlinks(base)
	if err != nil {
		return "", s.unusable("the folder "+base, err)
	}
	if !granted(resolved, folders) {
		return "", sdk.Errorf(sdk.Unauthorized, "model %s: the folder %s is none that the experiment names", s.model.Name, base)
	}
	for _, f := range s.model.Files {
		if err := s.checkInPlace(resolved, f); err != nil {
			return "", err
		}
	}
	return base, nil
}

func granted(dir string, folders []string) bool {
	for _, folder := range folders {
		if allowed, err := filepath.EvalSymlinks(folder); err == nil && inside(allowed, dir) {
			return true
		}
	}
	return false
}

func (s source) checkInPlace(base string, f sdk.ModelFile) error {
	path := filepath.Join(base, filepath.FromSlash(f.Path))
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return s.unusable(path, err)
	}
	if !inside(base, target) {
		return sdk.Errorf(sdk.Invalid, "model %s: %s is a link that leaves the model's folder; put the file itself there", s.model.Name, path)
	}
	info, err := os.Stat(target)
	switch {
	case err != nil:
		return s.unusable(path, err)
	case !info.Mode().IsRegular():
		return sdk.Errorf(sdk.Invalid, "model %s: %s is not a regular file", s.model.Name, path)
	case info.Size() != f.Size:
		return sdk.Errorf(sdk.Unavailable, "model %s: %s is changing (%d bytes, then %d); try again when nothing writes to it", s.model.Name, path, f.Size, info.Size())
	}
	return nil
}

func (s source) unusable(what string, err error) error {
	code := sdk.Invalid
	if errors.Is(err, fs.ErrNotExist) {
		code = sdk.NotFound
	}
	return sdk.Errorf(code, "model %s: %s cannot be used: %v", s.model.Name, what, err)
}

func inside(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}
