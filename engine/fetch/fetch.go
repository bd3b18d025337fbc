// Package fetch brings a model's files to this computer. A fetcher says which
// files there are and where; package transfer moves and verifies them. Neither
// trusts the fetcher or the server.
package fetch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seer-engine/seer/engine/fetch/hubcache"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/engine/transfer"
	"github.com/seer-engine/seer/sdk"
)

// Options configure [Fetch].
type Options struct {
	CacheDir string       // where downloads go; private to the user
	HubCache string       // where the Hub's own clients keep models, see [hubcache]; empty = they are kept as all others
	Folders  []string     // local folders that a model may be used from in place
	Client   *http.Client // nil = one with the system's proxy settings
	// Progress receives how many bytes of how many are there, and how fast they come, from one
	// goroutine, at most ten times a second and at the end; nil = nobody.
	Progress func(Progress)
	Parallel int           // files at once; default 8
	Stall    time.Duration // a connection without a byte for so long is replaced; default 30 s
	// Notify receives what the user should know of the Hub's cache; nil = nobody.
	Notify func(hubcache.Notice)
	// Offline is why no source may be asked, for an error; empty = they may be. Then a model
	// can be had whose files are all on this computer.
	Offline string
	// Unreachable receives why the source of a model could not be asked, and which revision is
	// used instead: the last one known, whose files are all on this computer. nil = nobody.
	Unreachable func(revision string, why error)
}

// Progress says how far a download is.
type Progress = transfer.Progress

// Model is a model that is on this computer.
type Model struct {
	Name     string
	Source   string
	Revision string
	Dir      string // absolute; holds Files
	Bytes    int64
	Files    []sdk.ModelFile
	Omitted  []sdk.ModelFile // that the fetcher left out by itself
	License  string          // as the source names it; empty = not known
	Gate     string          // how the source restricts access; empty = it does not
}

// OmittedBytes is the size of the files that the fetcher left out.
func (m Model) OmittedBytes() int64 { return total(m.Omitted) }

// Fetch resolves a model and makes its files available in one folder: the one
// they are in, if that is on this computer, and otherwise one in the cache, to
// which they are downloaded, verified, and moved when all are there. A download
// that was cut is resumed. Two processes that want the same model share the work.
func Fetch(ctx context.Context, fetcher sdk.Fetcher, ref sdk.ModelRef, o Options) (Model, error) {
	s, fresh, err := o.pin(ctx, fetcher, ref)
	if err != nil {
		return Model{}, err
	}
	s.xet.planner.Client = o.Client
	m, inPlace, err := s.bring(ctx, ref, o)
	if err != nil && ctx.Err() == nil && !errors.Is(err, state.ErrNoSpace) && s.xet.giveUp() {
		m, inPlace, err = s.bring(ctx, ref, o) // what has arrived is there
	}
	if err == nil && fresh && !inPlace && o.CacheDir != "" {
		err = o.answers().keep(ref, s)
	}
	return m, err
}

// bring makes the files available. It reports whether they are where the fetcher has said.
func (s source) bring(ctx context.Context, ref sdk.ModelRef, o Options) (m Model, inPlace bool, err error) {
	m = s.model
	if o.HubCache != "" && m.Source == hubcache.Source && hubcache.Fits(m.Revision, m.Files) {
		m.Dir, err = s.fromHub(ctx, ref, o)
		return m, false, err
	}
	if dir, ok := downloaded(s, o); ok {
		m.Dir = dir
		now := time.Now() // when it was used last
		_ = os.Chtimes(dir, now, now)
		return m, false, nil
	}
	first, err := s.locate(ctx, m.Files[0])
	if err != nil {
		return Model{}, false, err
	}
	if first.Scheme == "file" && s.part != "" {
		return Model{}, false, sdk.Errorf(sdk.Unsupported, "model %s: its folder is used as it is, with all files; remove include and exclude", m.Name)
	}
	if first.Scheme == "file" {
		m.Dir, err = s.inPlace(ctx, o.Folders)
	} else {
		m.Dir, err = download(ctx, s, o)
	}
	if err != nil {
		return Model{}, false, err
	}
	return m, first.Scheme == "file", nil
}

// source asks the fetcher about one model.
type source struct {
	fetcher sdk.Fetcher
	model   Model
	xet     *xetChooser
	part    string // names the files, if patterns have chosen them; empty = those of the default

	base  string    // see [sdk.ResolvedModel]; empty = the fetcher is asked where each file is
	based *sync.Map // paths of files that were looked for below base
	probe sdk.Probe
}

// chosen are the files that the patterns choose, whether or not the fetcher heeds them.
func chosen(ref sdk.ModelRef, files []sdk.ModelFile) ([]sdk.ModelFile, error) {
	some := len(files) > 0
	files = slices.DeleteFunc(slices.Clone(files), func(f sdk.ModelFile) bool { return !ref.Wants(f.Path) })
	if some && len(files) == 0 {
		return nil, sdk.Errorf(sdk.Invalid, "no file of %s is left by the include and exclude patterns", ref.Name)
	}
	return files, nil
}

// partOf names the files that patterns have chosen. Each choice has a folder of its own, so
// that sandboxes with different patterns see no files of each other.
func partOf(ref sdk.ModelRef, files []sdk.ModelFile) string {
	if len(ref.Include)+len(ref.Exclude) == 0 {
		return ""
	}
	sum := sha256.New()
	for _, f := range files {
		fmt.Fprintf(sum, "%q\n", f.Path)
	}
	return hex.EncodeToString(sum.Sum(nil))[:16]
}

// errUnchanged says that a revision leads to the one whose files are on this computer.
var errUnchanged = errors.New("the revision is the one that is on this computer")

// resolve pins a model, and makes sure that the fetcher's answer can be used. The error is
// errUnchanged if the fetcher has nothing new to say about ref.Have.
func resolve(ctx context.Context, fetcher sdk.Fetcher, ref sdk.ModelRef) (source, error) {
	resolved, err := fetcher.Resolve(ctx, ref)
	if err != nil {
		return source{}, err
	}
	if ref.Have != "" && resolved.Revision == ref.Have && len(resolved.Files) == 0 {
		return source{model: Model{License: resolved.License, Gate: resolved.Gate}, probe: resolved.Probe, base: resolved.Base}, errUnchanged
	}
	return usable(fetcher, ref, resolved)
}

// usable makes sure that an answer of a fetcher can be used.
func usable(fetcher sdk.Fetcher, ref sdk.ModelRef, resolved sdk.ResolvedModel) (source, error) {
	var err error
	if resolved.Files, err = chosen(ref, resolved.Files); err != nil {
		return source{}, err
	}
	m := Model{
		Name: ref.Name, Source: ref.Source, Revision: resolved.Revision, Files: resolved.Files,
		Omitted: resolved.Omitted, License: resolved.License, Gate: resolved.Gate,
	}
	if resolved.Name != "" {
		m.Name = resolved.Name
	}
	m.Bytes = total(m.Files)
	s := source{
		fetcher: fetcher, model: m, xet: newXetChooser(fetcher), part: partOf(ref, m.Files),
		base: resolved.Base, based: &sync.Map{}, probe: resolved.Probe,
	}
	if s.base != "" && !isFolder(s.base) {
		return s, s.refuse("its files are said to be below %.200q, which is not an address that ends with a slash", s.base)
	}
	return s, check(m)
}

// isFolder reports whether files can be below an address.
func isFolder(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && strings.HasSuffix(address, "/") && u.RawQuery+u.Fragment == ""
}

// resolved is the answer that the model was made from, as far as it counts for ever.
func (s source) resolved() sdk.ResolvedModel {
	m := s.model
	return sdk.ResolvedModel{Name: m.Name, Revision: m.Revision, Files: m.Files, Omitted: m.Omitted, License: m.License, Gate: m.Gate}
}

// ref names a file to the fetcher.
func (s source) ref(path string) sdk.FileRef {
	return sdk.FileRef{Source: s.model.Source, Name: s.model.Name, Revision: s.model.Revision, Path: path}
}

// place is a checked location.
type place struct {
	*url.URL // empty if the file is in parts, or comes with the location
	sdk.Location
}

func (s source) locate(ctx context.Context, f sdk.ModelFile) (place, error) {
	loc, err := s.fetcher.Locate(ctx, s.ref(f.Path))
	if err != nil {
		return place{}, fmt.Errorf("model %s: locate %s: %w", s.model.Name, f.Path, err)
	}
	at := place{&url.URL{}, loc}
	if loc.URL == "" && (len(loc.Content)+len(loc.Parts)+len(loc.Fetches) > 0 || f.Size == 0) {
		return at, nil
	}
	at.URL, err = url.Parse(loc.URL)
	if err != nil {
		return place{}, s.refuse("%s is said to be at an unreadable address", f.Path)
	}
	switch at.Scheme {
	case "http", "https":
		if at.Host == "" {
			return place{}, s.refuse("%s is said to be at an address without a host", f.Path)
		}
	case "file":
		if at.Host != "" || !filepath.IsAbs(at.Path) || strings.Contains(at.Path, "\x00") {
			return place{}, s.refuse("%s is said to be at %q, which is not an absolute path on this computer", f.Path, loc.URL)
		}
	default:
		return place{}, s.refuse("%s is said to be at an address of the kind %q; https, http and file can be read", f.Path, at.Scheme)
	}
	return at, nil
}

// refuse blames the fetcher.
func (s source) refuse(format string, args ...any) error {
	return sdk.Errorf(sdk.Internal, "model %s: the fetcher of %q is wrong: %s", s.model.Name, s.model.Source, fmt.Sprintf(format, args...))
}

// check makes names safe before they become paths.
func check(m Model) error {
	s := source{model: m}
	switch {
	case m.Revision == "":
		return s.refuse("there is no revision")
	case len(m.Files) == 0:
		return s.refuse("there are no files")
	}
	seen := map[string]bool{}
	for _, f := range m.Files {
		switch {
		case !fs.ValidPath(f.Path) || f.Path == "." || strings.ContainsAny(f.Path, "\\\x00"):
			return s.refuse("%q is not a plain relative path", f.Path)
		case seen[f.Path]:
			return s.refuse("%q is there twice", f.Path)
		case f.Size < 0:
			return s.refuse("%q has a negative size", f.Path)
		}
		seen[f.Path] = true
	}
	for p := range seen {
		for dir := filepath.Dir(p); dir != "."; dir = filepath.Dir(dir) {
			if seen[dir] {
				return s.refuse("%q is both a file and a folder", dir)
			}
		}
	}
	return nil
}

// cachePath is where a model lives below the cache: one segment each for source,
// name and revision, so that no two models share a folder. A part of the files follows the
// revision after a comma, which no escaped revision has.
func (s source) cachePath(cache string) (string, error) {
	m := s.model
	parts := []string{cache}
	for _, part := range []string{m.Source, m.Name, m.Revision} {
		seg := url.PathEscape(part)
		if part == "" || part == "." || part == ".." || len(seg) > 200 {
			return "", s.refuse("%q cannot be the name of a folder", part)
		}
		parts = append(parts, seg)
	}
	dir := filepath.Join(parts...)
	if s.part != "" {
		dir += "," + s.part
	}
	return dir, nil
}

func total(files []sdk.ModelFile) (n int64) {
	for _, f := range files {
		n += f.Size
	}
	return n
}
