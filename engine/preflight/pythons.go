package preflight

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seer-engine/seer/engine/preflight/pyreq"
	"github.com/seer-engine/seer/internal/lazyregexp"
	"github.com/seer-engine/seer/sdk"
)

var pythonName = lazyregexp.New(`^python3\.\d+$`)

// FindPythons looks for interpreters of a version on this computer: python3.X in the
// PATH, pyenv's and uv's. It starts only those whose place promises the version. lookup
// is the environment.
func FindPythons(ctx context.Context, version string, lookup func(string) string) []Python {
	var found []Python
	for _, file := range pythonFiles(lookup) {
		if !promises(file, version) {
			found = append(found, Python{Path: file})
			continue
		}
		if p, err := ProbePython(ctx, file); err == nil {
			found = append(found, *p)
		}
	}
	return found
}

// pythonFiles are the interpreters that can be found without starting one.
func pythonFiles(lookup func(string) string) []string {
	var files []string
	for _, dir := range filepath.SplitList(lookup("PATH")) {
		entries, err := os.ReadDir(dir)
		if err != nil || strings.Contains(dir, "/shims") { // pyenv's are scripts, and lead to what follows
			continue
		}
		for _, e := range entries {
			if pythonName().MatchString(e.Name()) {
				files = append(files, filepath.Join(dir, e.Name()))
			}
		}
	}
	home := lookup("HOME")
	data := lookup("XDG_DATA_HOME")
	if data == "" && home != "" {
		data = filepath.Join(home, ".local", "share")
	}
	for _, place := range []struct{ named, standard, pattern string }{
		{lookup("PYENV_ROOT"), under(home, ".pyenv"), "versions/3.*/bin/python3.[0-9]*"},
		{lookup("UV_PYTHON_INSTALL_DIR"), under(data, "uv/python"), "cpython-3.*/bin/python3.[0-9]*"},
	} {
		root := place.named
		if root == "" {
			root = place.standard
		}
		if root == "" {
			continue
		}
		more, _ := filepath.Glob(filepath.Join(root, place.pattern)) // only a bad pattern is an error
		files = append(files, slices.DeleteFunc(more, func(f string) bool { return !pythonName().MatchString(filepath.Base(f)) })...)
	}
	return distinct(files)
}

func under(dir, name string) string {
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, name)
}

// distinct leaves out further names of one file.
func distinct(files []string) []string {
	seen := map[string]bool{}
	return slices.DeleteFunc(files, func(f string) bool {
		real, err := filepath.EvalSymlinks(f)
		again := err != nil || seen[real]
		seen[real] = true
		return again
	})
}

// promises reports whether an interpreter called python3.X may be of the version.
func promises(file, version string) bool {
	minor := strings.TrimPrefix(filepath.Base(file), "python")
	return sameVersion(version, minor) || strings.HasPrefix(version, minor+".")
}

// sameVersion reports whether a version is the one that was asked for: 3.12 takes each
// 3.12.X.
func sameVersion(asked, have string) bool { return have == asked || strings.HasPrefix(have, asked+".") }

// python chooses the interpreter of this computer that python_version asks for.
func (c *check) python() {
	asked := c.exp.Sandbox.PythonVersion
	here := func(p *candidate) bool { return p.thisComputer() && !p.Has(sdk.FeatureBuild) }
	if asked == "" || c.ownImage() || !slices.ContainsFunc(c.candidates, here) {
		return
	}
	all := c.facts.Pythons
	if c.facts.Python != nil {
		all = append([]Python{*c.facts.Python}, all...)
	}
	var names []string
	for i, p := range all {
		have := p.Markers["python_full_version"]
		if have != "" && sameVersion(asked, have) && tooOld(have) == "" {
			c.facts.Python = &all[i]
			if i > 0 || len(c.facts.Pythons) == len(all) {
				c.report.Python = p.Path
			}
			return
		}
		if have == "" {
			have = strings.TrimPrefix(filepath.Base(p.Path), "python")
		}
		names = append(names, fmt.Sprintf("%s (%s)", have, p.Path))
	}
	if why := tooOld(asked); why != "" {
		c.fail("sandbox.python_version", fmt.Sprintf("Python %s is too old: %s", asked, why), "ask for a newer one")
		return
	}
	c.fail("sandbox.python_version", fmt.Sprintf("this computer has no Python %s; it has %s", asked, strings.Join(slices.Compact(names), ", ")),
		fmt.Sprintf("install one (uv python install %s), or set image.base: python:%s", asked, asked))
}

// tooOld says why a version cannot be used; empty when it can.
func tooOld(version string) string {
	s, err := pyreq.ParseSpecifiers(">=3.8")
	if err != nil {
		return ""
	}
	if ok, err := s.Contains(version); err == nil && !ok {
		return "Seer needs 3.8 or newer"
	}
	return ""
}
