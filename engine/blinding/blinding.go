// Package blinding keeps the names of hidden models from agents. For agents that have the whole
// sandbox, it makes copies of models' folders without the names. It searches a prepared sandbox,
// and the things that an agent gets, for the names.
//
// A copy keeps everything that the model's code needs: the architecture, the sizes, the
// vocabulary, the weights.
package blinding

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/namesearch"
	"github.com/seer-engine/seer/sdk"
)

// Report says what was done to a folder.
type Report struct {
	Files   int      // in the blinded folder
	Left    []string // files that were left out: texts for people, and what training left
	Changed []string // files whose texts were changed
	Dropped []string // configuration values that were left out, as FILE: KEY
}

// Epoch is the time of all files of a blinded folder. It is one that archives of all
// formats can hold, in all time zones.
var Epoch = time.Date(2000, 1, 1, 12, 0, 0, 0, time.UTC)

// Make writes a blinded copy of the folder src to dst, which must not exist. Nothing of
// dst is left when it fails. A file that cannot be blinded is an error of the code
// unsupported that names it.
func Make(ctx context.Context, src, dst string, names namesearch.Names) (Report, error) {
	m := &maker{names: names, prose: prose(src, names), src: src, dst: dst, sameTimes: true}
	return m.make(ctx)
}

type maker struct {
	names     namesearch.Names
	prose     namesearch.Names // what is replaced in texts: more than what must not be found
	src, dst  string
	sameTimes bool // gives all files the times of Epoch; only tests do not
	plain     bool // shows every file as it is; only tests do
	report    Report
}

func (m *maker) make(ctx context.Context) (Report, error) {
	if err := os.Mkdir(m.dst, 0o755); err != nil {
		return Report{}, fmt.Errorf("make the blinded folder: %w", err)
	}
	err := m.walk(ctx)
	if err == nil && m.report.Files == 0 {
		err = sdk.Errorf(sdk.Invalid, "the model's folder holds nothing that could be loaded")
	}
	if err == nil && m.sameTimes {
		err = setTimes(m.dst)
	}
	if err != nil {
		return Report{}, errors.Join(err, os.RemoveAll(m.dst))
	}
	return m.report, nil
}

// setTimes gives everything in a folder the same times.
func setTimes(dir string) error {
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Chtimes(path, Epoch, Epoch))
	})
}

// prose finds the names in texts that are only replaced: also the words that the
// architecture tells, and what the model's own files call it.
func prose(src string, names namesearch.Names) namesearch.Names {
	spec := namesearch.Spec{Names: names.Spec().Names}
	for _, file := range []string{"config.json", "tokenizer_config.json", "adapter_config.json"} {
		for _, name := range ownNames(filepath.Join(src, file)) {
			if strings.Count(name, "/") == 1 && !strings.ContainsAny(name[:1], "./~") {
				spec.Names = append(spec.Names, name)
			}
		}
	}
	return namesearch.Compile(spec)
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
		case !m.plain && (strings.HasPrefix(d.Name(), ".") || notLoaded(d.Name())):
			return m.leave(name, d)
		case m.inName(ctx, d.Name()):
			return cannot("its file %s has the name in its own; rename the file", name)
		case d.IsDir():
			return os.Mkdir(filepath.Join(m.dst, name), 0o755)
		}
		return m.file(ctx, name)
	})
}

func (m *maker) inName(ctx context.Context, name string) bool {
	_, found := m.names.Find(ctx, []byte(name))
	return found
}

func (m *maker) leave(name string, d fs.DirEntry) error {
	m.report.Left = append(m.report.Left, name)
	if d.IsDir() {
		return fs.SkipDir
	}
	return nil
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
	if m.plain {
		return os.Link(from, to)
	}
	switch kindOf(name, info.Size()) {
	case indexFile:
		return m.index(ctx, name, from, to)
	case vocabulary:
		return m.vocabulary(ctx, name, from, to)
	case configuration, otherJSON:
		return m.json(ctx, name, from, to)
	case template:
		return m.template(name, from, to)
	case tensorFile:
		return m.safetensors(ctx, name, from, to)
	}
	return m.searched(ctx, m.names, name, from, to)
}

// searched copies a file that has no name in it.
func (m *maker) searched(ctx context.Context, names namesearch.Names, name, from, to string) error {
	form, found, err := names.FindIn(ctx, from)
	if err != nil {
		return err
	}
	if found {
		if form != "" {
			form = " (" + form + ")"
		}
		return cannot("its file %s has the name in it%s; remove the file, take the name out of it, or convert weights to safetensors", name, form)
	}
	return copyFile(ctx, from, to)
}

func (m *maker) template(name, from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	clean := m.prose.Replace(string(data), hiddenWord)
	if clean != string(data) {
		m.report.Changed = append(m.report.Changed, name)
	}
	return os.WriteFile(to, []byte(clean), 0o644)
}

func cannot(format string, args ...any) error {
	return sdk.Errorf(sdk.Unsupported, "the model cannot be hidden: "+format, args...)
}
