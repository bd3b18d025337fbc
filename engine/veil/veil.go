// Package veil makes a copy of a model's folder that does not tell which model it
// is: for agents that have the whole sandbox, and are not to know. Weights are not
// copied but linked where the disk allows it.
//
// What a model's code needs to know stays: the architecture, the sizes, the
// vocabulary.
package veil

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/seer-engine/seer/sdk"
)

// Report says what was done to a folder.
type Report struct {
	Files   int      // in the veiled folder
	Left    []string // files that were left out, for they describe the model to people
	Changed []string // files whose texts were changed
}

// Make writes a veiled copy of the folder src to dst, which must not exist. Nothing of
// dst is left when it fails. A file that cannot be veiled is an error of the code
// unsupported that names it.
func Make(ctx context.Context, src, dst string, words Words) (Report, error) {
	m := &maker{words: words, src: src, dst: dst}
	if err := os.Mkdir(dst, 0o700); err != nil {
		return Report{}, fmt.Errorf("make the veiled folder: %w", err)
	}
	err := m.walk(ctx)
	if err == nil && m.report.Files == 0 {
		err = sdk.Errorf(sdk.Invalid, "the model's folder holds nothing that could be loaded")
	}
	if err != nil {
		return Report{}, errors.Join(err, os.RemoveAll(dst))
	}
	return m.report, nil
}

type maker struct {
	words    Words
	src, dst string
	report   Report
}

func (m *maker) walk(ctx context.Context) error {
	return filepath.WalkDir(m.src, func(path string, d fs.DirEntry, err error) error {
		if err := errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		name, err := filepath.Rel(m.src, path)
		switch {
		case err != nil || name == ".":
			return err
		case strings.HasPrefix(d.Name(), "."):
			return m.leave(name, d)
		case m.words.In([]byte(d.Name())):
			return sdk.Errorf(sdk.Unsupported, "the model cannot be hidden: its file %s has the name in its own; rename the file", name)
		case d.IsDir():
			return os.Mkdir(filepath.Join(m.dst, name), 0o700)
		case forPeople(d.Name()):
			return m.leave(name, d)
		}
		return m.file(ctx, name)
	})
}

func (m *maker) leave(name string, d fs.DirEntry) error {
	m.report.Left = append(m.report.Left, name)
	if d.IsDir() {
		return fs.SkipDir
	}
	return nil
}

// forPeople tells files that describe a model and are not needed to load it.
func forPeople(name string) bool {
	upper := strings.ToUpper(name)
	return strings.HasSuffix(upper, ".MD") || strings.HasPrefix(upper, "LICENSE") || strings.HasPrefix(upper, "NOTICE") || strings.HasPrefix(upper, "README")
}

func (m *maker) file(ctx context.Context, name string) error {
	from, to := filepath.Join(m.src, name), filepath.Join(m.dst, name)
	info, err := os.Stat(from) // what a link leads to: caches keep files elsewhere
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return nil
	}
	m.report.Files++
	switch strings.ToLower(filepath.Ext(name)) {
	case ".json":
		if info.Size() <= maxJSON {
			return m.json(ctx, name, from, to)
		}
	case ".safetensors":
		return m.safetensors(ctx, name, from, to)
	}
	found, err := m.words.InFile(ctx, from)
	if err != nil {
		return err
	}
	if found {
		return sdk.Errorf(sdk.Unsupported, "the model cannot be hidden: its file %s has the name in it; remove the file or take the name out of it", name)
	}
	return link(ctx, from, to)
}

// link shows the same bytes at another place: by a hard link, so that no path leads
// back, else by a copy.
func link(ctx context.Context, from, to string) error {
	real, err := filepath.EvalSymlinks(from)
	if err != nil {
		return err
	}
	err = os.Link(real, to)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	var at *os.LinkError
	if !errors.As(err, &at) || !errors.Is(err, syscall.EXDEV) && !errors.Is(err, syscall.EPERM) && !errors.Is(err, syscall.EMLINK) && !errors.Is(err, syscall.ENOTSUP) {
		return err
	}
	return copyFile(ctx, real, to)
}

func copyFile(ctx context.Context, from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	_, err = io.Copy(out, reader{ctx, in})
	return err
}

// reader gives up when its context ends.
type reader struct {
	ctx context.Context
	r   io.Reader
}

func (r reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}
