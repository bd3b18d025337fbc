package egress

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/seer-engine/seer/engine/plainfile"
	"github.com/seer-engine/seer/sdk"
)

const maxProfile = 1 << 20

// section is one profile of a user's file. It is asked for single keys and never
// shown.
type section struct {
	keys  map[string]any
	where string // for people
}

// get returns a value as text, and where it is from.
func (s section) get(key string) (value, where string) {
	if key == "" {
		return "", ""
	}
	switch v := s.keys[key].(type) {
	case string:
		return v, s.where
	case bool, int64, float64:
		return fmt.Sprint(v), s.where
	}
	return "", ""
}

// profile reads the section that the user has chosen. A file that is not there is an
// empty one. Errors name the file and never quote it.
func (o Options) profile() (section, error) {
	p := o.Manifest.Profile
	if p == nil {
		return section{}, nil
	}
	path, shown, err := o.profilePath(p)
	if path == "" && err == nil {
		return section{}, nil
	}
	var text []byte
	if err == nil {
		text, err = readProfile(path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return section{}, nil
	}
	if err != nil {
		return section{}, sdk.Errorf(sdk.Unauthorized, "the profile %s cannot be read: %v", shown, err)
	}
	if p.Key != "" {
		return section{map[string]any{p.Key: strings.TrimSpace(string(text))}, shown}, nil
	}
	file := map[string]any{}
	if err := toml.Unmarshal(text, &file); err != nil {
		at := ""
		var bad *toml.DecodeError
		if errors.As(err, &bad) {
			row, column := bad.Position()
			at = fmt.Sprintf(":%d:%d", row, column)
		}
		return section{}, sdk.Errorf(sdk.Unauthorized, "the profile %s%s is not valid TOML; correct it", shown, at)
	}
	return o.choose(p, file, shown)
}

// profilePath is the file, and how it is shown to people. The file that a manifest
// names is below the home folder, also after links; the user may name any.
func (o Options) profilePath(p *sdk.Profile) (path, shown string, err error) {
	if named, _ := o.env(p.FileEnv); named != "" {
		return o.belowHome(named), named, nil
	}
	for _, f := range p.Folders {
		if dir, _ := o.env(f.Env); dir != "" {
			path := filepath.Join(o.belowHome(dir), filepath.FromSlash(f.File))
			return path, path, nil
		}
	}
	if o.Home == "" {
		return "", "", nil
	}
	home, err := filepath.EvalSymlinks(o.Home)
	if err != nil {
		return "", p.File, errors.Unwrap(err)
	}
	path, err = filepath.EvalSymlinks(filepath.Join(home, strings.TrimPrefix(p.File, "~/")))
	if err != nil {
		return "", p.File, errors.Unwrap(err)
	}
	if rel, err := filepath.Rel(home, path); err != nil || !filepath.IsLocal(rel) {
		return "", p.File, errors.New("it is a link to a file outside the home folder")
	}
	return path, p.File, nil
}

// belowHome replaces a ~ at the beginning, which no shell has replaced in a value with quotes.
func (o Options) belowHome(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && o.Home != "" {
		return filepath.Join(o.Home, rest)
	}
	return path
}

// readProfile reads a small regular file. Its errors do not repeat the path.
func readProfile(path string) ([]byte, error) {
	data, err := plainfile.ReadNamed(path, maxProfile)
	var bad *fs.PathError
	if errors.As(err, &bad) {
		err = bad.Err
	}
	return data, err
}

// choose takes the section by name, else the active one, else the manifest's. Without
// any of the three in the manifest the whole file is one profile.
func (o Options) choose(p *sdk.Profile, file map[string]any, shown string) (section, error) {
	if p.NameEnv == "" && p.Active == "" && p.Section == "" {
		return section{file, shown}, nil
	}
	table := func(name string) (map[string]any, bool) {
		t, ok := file[name].(map[string]any)
		return t, ok
	}
	if name, _ := o.env(p.NameEnv); name != "" {
		t, ok := table(name)
		if !ok {
			return section{}, sdk.Errorf(sdk.Unauthorized, "the profile %q, which %s names, is not in %s", name, p.NameEnv, shown)
		}
		return section{t, shown + " [" + name + "]"}, nil
	}
	names := []string{p.Section}
	if p.Active != "" {
		names = slices.Concat(activeIn(file, p.Active), names)
	}
	if t, ok := table(names[0]); ok {
		return section{t, shown + " [" + names[0] + "]"}, nil
	}
	return section{}, nil
}

// activeIn lists the sections in which a key is true, in order of their names.
func activeIn(file map[string]any, key string) []string {
	var out []string
	for name, v := range file {
		if t, ok := v.(map[string]any); ok && t[key] == true {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}
