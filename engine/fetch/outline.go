package fetch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/gguf"
	"github.com/seer-engine/seer/engine/safetensors"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/engine/transfer"
)

// OutlineOptions configure [Remote.Outline].
type OutlineOptions struct {
	Options
	// Kind keeps outlines apart that have different files whole; the name of a folder.
	Kind string
	// Whole says which files are downloaded whole, by their paths.
	Whole func(path string) bool
}

const (
	weightsFile  = ".safetensors"
	firstRead    = 64 << 10 // bytes; most headers are shorter, so that one request brings them
	firstGGUF    = 1 << 20
	furtherGGUF  = 4 // times as much is read if that is too little
	partialAfter = ".partial"
)

// Outline makes a folder that shows what a model is, without its weights: all files are there,
// each as long as it is. Those that o.Whole names are whole and verified. Files of safetensors
// and GGUF have their header, which is not verified. The rest of a file is a hole. An outline that
// was made before is used again.
func (r *Remote) Outline(ctx context.Context, o OutlineOptions) (string, error) {
	if o.CacheDir == "" {
		return "", errNoCache
	}
	final, err := r.source.cachePath(filepath.Join(o.CacheDir, o.Kind))
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(final), 0o700); err != nil {
		return "", state.NoSpace(final, err)
	}
	lock, err := state.Acquire(ctx, final+".lock")
	if err != nil {
		return "", fmt.Errorf("model %s: %w", r.Name, err)
	}
	defer lock.Remove()
	if (&job{source: r.source}).complete(final) {
		now := time.Now() // when it was used last
		return final, os.Chtimes(final, now, now)
	}
	if o.Offline != "" {
		return "", errNobodyAsked(r.Name, o.Offline)
	}
	if err := r.drawOutline(ctx, final+partialAfter, o); err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		return "", fmt.Errorf("model %s: %w", r.Name, err)
	}
	return final, errors.Join(os.RemoveAll(final), os.Rename(final+partialAfter, final))
}

// drawOutline fills a folder.
func (r *Remote) drawOutline(ctx context.Context, dir string, o OutlineOptions) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	var whole, headers, holes []transfer.File
	ggufs := r.ggufs()
	for _, f := range r.Files {
		file := transfer.File{Path: f.Path, Size: f.Size}
		switch {
		case o.Whole(f.Path):
			file.SHA256, file.GitSHA1 = f.SHA256, f.GitSHA1
			whole = append(whole, file)
		case strings.HasSuffix(f.Path, weightsFile):
			file.Size = min(f.Size, firstRead)
			headers = append(headers, file)
		case ggufs[f.Path]:
			file.Size = min(f.Size, firstGGUF)
			headers = append(headers, file)
		default:
			holes = append(holes, file)
		}
	}
	t := o.transfer()
	t.Dir = dir
	t.Renew = func(ctx context.Context, f transfer.File) (transfer.Source, error) {
		return r.plainAddress(ctx, f.Path)
	}
	if err := transfer.Download(ctx, whole, t); err != nil {
		return err
	}
	if err := r.drawHeaders(ctx, headers, t); err != nil {
		return err
	}
	for _, f := range append(holes, headers...) {
		if err := r.lengthen(dir, f.Path); err != nil {
			return state.NoSpace(dir, err)
		}
	}
	return nil
}

// drawHeaders brings the headers of files of safetensors and GGUF.
func (r *Remote) drawHeaders(ctx context.Context, files []transfer.File, t transfer.Options) error {
	t.Progress = nil
	t.Renew = func(ctx context.Context, f transfer.File) (transfer.Source, error) {
		s, err := r.plainAddress(ctx, f.Path)
		return s.First(f.Size), err
	}
	for len(files) > 0 {
		if err := transfer.Download(ctx, files, t); err != nil {
			return err
		}
		var longer []transfer.File
		for _, f := range files {
			n, err := r.headerEnd(filepath.Join(t.Dir, filepath.FromSlash(f.Path)), f)
			if err != nil {
				return err
			}
			if most := r.size(f.Path); n > f.Size && n <= most {
				f.Size = n
				longer = append(longer, f)
			}
		}
		files = longer
	}
	return nil
}

// headerEnd is where the header of a file ends of which the beginning is there; 0 = it can have
// none. Of GGUF, it is how much to read next.
func (r *Remote) headerEnd(path string, begin transfer.File) (int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if strings.HasSuffix(path, gguf.Suffix) {
		if _, err := gguf.Parse(f); !errors.Is(err, gguf.ErrShort) {
			return 0, nil // it is complete, or [modelinfo.Read] tells what is wrong
		}
		return min(begin.Size*furtherGGUF, r.size(begin.Path)), nil
	}
	var first [safetensors.LengthBytes]byte
	read, _ := f.ReadAt(first[:], 0)
	n, err := safetensors.Length(first[:read])
	if err != nil {
		return 0, nil //nolint:nilerr // what is wrong with it, [modelload.Check] tells
	}
	return safetensors.LengthBytes + n, nil
}

// ggufs are the files of which the header says what the model is: those of its only model in GGUF,
// if it has no safetensors.
func (r *Remote) ggufs() map[string]bool {
	var names []string
	for _, f := range r.Files {
		if strings.HasSuffix(f.Path, weightsFile) {
			return nil
		}
		names = append(names, f.Path)
	}
	models, found := gguf.Models(names), map[string]bool{}
	if len(models) > 1 {
		return nil
	}
	for _, files := range models {
		for _, name := range files {
			found[name] = true
		}
	}
	return found
}

func (r *Remote) size(path string) int64 {
	for _, f := range r.Files {
		if f.Path == path {
			return f.Size
		}
	}
	return 0
}

// lengthen gives a file its size, by a hole.
func (r *Remote) lengthen(dir, path string) error {
	at := filepath.Join(dir, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(at, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(f.Truncate(r.size(path)), f.Close())
}
