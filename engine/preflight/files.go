package preflight

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/workspace"
	"github.com/seer-engine/seer/internal/lazyregexp"
)

const maxInterface = 8 << 20 // bytes of an interface file

// kind is what a path must be.
type kind int

const (
	anything kind = iota
	aFile
	aFolder
)

// need checks that a path is there and of the right kind.
func (c *check) need(at, path string, want kind) bool {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		c.fail(at, "there is no `"+path+"`", "relative paths are taken from the folder of the experiment file")
	case err != nil:
		c.fail(at, "`"+path+"` cannot be read: "+reason(err), "")
	case want == aFile && !info.Mode().IsRegular():
		c.fail(at, "`"+path+"` is not a file", "")
	case want == aFolder && !info.IsDir():
		c.fail(at, "`"+path+"` is not a folder", "")
	case info.Mode().IsRegular():
		return c.readable(at, path)
	default:
		return true
	}
	return false
}

func (c *check) readable(at, path string) bool {
	f, err := os.Open(path)
	if err != nil {
		c.fail(at, "`"+path+"` cannot be read: "+reason(err), "check its permissions")
		return false
	}
	return f.Close() == nil
}

// reason is the operating system's word without the path, which is said already.
func reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

// files checks what is copied into the sandbox and the workspace.
func (c *check) files() {
	for i, p := range c.exp.Sandbox.LocalFiles {
		c.need(fmt.Sprintf("sandbox.local_files.%d.local", i), p.Local, aFile)
	}
	for i, p := range c.exp.Sandbox.LocalDirs {
		c.need(fmt.Sprintf("sandbox.local_dirs.%d.local", i), p.Local, aFolder)
	}
	for i, p := range c.exp.Workspace.Libraries {
		c.library(fmt.Sprintf("workspace.libraries.%d", i), p)
	}
	for i, p := range c.exp.Workspace.Files {
		c.need(fmt.Sprintf("workspace.files.%d", i), p, anything)
	}
	for i, p := range c.exp.Workspace.Dirs {
		c.need(fmt.Sprintf("workspace.dirs.%d", i), p, aFolder)
	}
	c.skills()
	for at, dir := range map[string]string{"workspace.dir": c.exp.Workspace.Dir, "outputs": c.exp.Outputs, "runs": c.exp.Runs} {
		if info, err := os.Stat(dir); err == nil && !info.IsDir() {
			c.fail(at, "`"+dir+"` is not a folder", "name a folder, or one that is not there yet")
		}
	}
}

// skills checks skill folders and folders of them.
func (c *check) skills() {
	c.skillFolders("workspace.skills", c.exp.Workspace.Skills)
	if c.exp.Agent != nil {
		c.skillFolders("agent.skills", c.exp.Agent.Skills)
	}
	for i, p := range c.exp.Workspace.SkillDirs {
		if at := fmt.Sprintf("workspace.skill_dirs.%d", i); c.need(at, p, aFolder) {
			_, err := workspace.LoadSkills(p)
			c.mistake(at, err)
		}
	}
}

func (c *check) skillFolders(path string, folders []string) {
	for i, p := range folders {
		if at := fmt.Sprintf("%s.%d", path, i); c.need(at, p, anything) {
			_, err := workspace.LoadSkill(p)
			c.mistake(at, err)
		}
	}
}

// mistake is one that says itself what to do.
func (c *check) mistake(at string, err error) {
	if err != nil {
		c.fail(at, err.Error(), "")
	}
}

// library is a Python file, a package folder or a skill folder.
func (c *check) library(at, path string) {
	if !c.need(at, path, anything) {
		return
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		c.fail(at, "`"+path+"` cannot be read: "+reason(err), "")
	case !info.IsDir() && filepath.Ext(path) != ".py":
		c.fail(at, "`"+path+"` is not a Python file", "list it under workspace.files")
	case info.IsDir() && exists(path, "SKILL.md"):
		_, err := workspace.LoadLibrary(path)
		c.mistake(at, err)
	case info.IsDir() && !exists(path, "__init__.py"):
		c.fail(at, "`"+path+"` is not a package", "add an __init__.py, or list it under workspace.files")
	case !moduleName().MatchString(moduleOf(path)):
		c.fail(at, "`"+moduleOf(path)+"` cannot be imported: it is not a Python identifier", "rename it with letters, digits and `_`")
	default:
		_, err := workspace.LoadLibrary(path)
		c.mistake(at, err)
	}
}

var moduleName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// moduleOf is the name under which a file or folder is imported.
func moduleOf(path string) string { return strings.TrimSuffix(filepath.Base(path), ".py") }

func exists(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, name))
	return err == nil
}

// fetched checks that the source of each model and dataset is known, and each folder holds
// something.
func (c *check) fetched() {
	for i, m := range c.exp.Sandbox.Fetched() {
		at := c.exp.FetchedField(i)
		if !slices.Contains(c.facts.Sources, m.Source) {
			c.unknownSource(at, m)
			continue
		}
		if m.Source == experiment.SourceFolder && c.need(at, m.Path, aFolder) {
			c.modelFolder(at, m.Path)
		}
	}
}

func (c *check) unknownSource(at string, m experiment.Model) {
	hint := c.plugins(m.Source, c.facts.Sources)
	if m.Source == experiment.SourceHub {
		hint = "use a folder, as in ./" + filepath.Base(m.Name)
		if info, err := os.Stat(filepath.Join(filepath.Dir(c.exp.File), m.Name)); c.exp.File != "" && err == nil && info.IsDir() {
			hint = "did you mean the folder `./" + m.Name + "`?"
		}
	}
	what := "model"
	if m.Dataset {
		what = "dataset"
	}
	c.fail(at, fmt.Sprintf("%s source `%s` is not available", what, m.Source), hint)
}

func (c *check) modelFolder(at, path string) {
	entries, err := os.ReadDir(path)
	switch {
	case err != nil:
		c.fail(at, "`"+path+"` cannot be read: "+reason(err), "check its permissions")
	case len(entries) == 0:
		c.fail(at, "`"+path+"` is empty", "put its files there")
	}
}

// interfaces checks what is served, and how.
func (c *check) interfaces() {
	for i, s := range c.exp.Serve {
		at := fmt.Sprintf("serve.%d", i)
		if !slices.Contains(c.facts.ExposeModes, s.ExposeAs) {
			c.fail(at+".expose_as", fmt.Sprintf("there is no expose mode `%s`", s.ExposeAs), c.plugins(s.ExposeAs, c.facts.ExposeModes))
		}
		if c.need(at+".file", s.File, aFile) {
			c.interfaceText(at+".file", s.File)
		}
	}
}

// exposed matches the decorator, however it is written. It is only a look at
// the text, so that a miss is a warning: the file may import what it exposes.
var exposed = lazyregexp.New(`(?m)^[ \t]*@expose\b|\bexpose\(`)

// imports matches whatever brings in other code.
var imports = lazyregexp.New(`\b(?:import|exec|eval|__import__)\b`)

// mayImport reports whether an interface may get what it exposes from other code: the
// experiment brings some, and the text can import it.
func (c *check) mayImport(text []byte) bool {
	s := c.exp.Sandbox
	brings := len(c.exp.Workspace.Libraries) + len(c.exp.Workspace.Files) + len(c.exp.Workspace.Dirs) + len(s.Repos) + len(s.PythonPackages) + len(s.LocalFiles) + len(s.LocalDirs) + len(s.Volumes)
	return (brings > 0 || s.Image != nil || len(c.exp.Serve) > 1) && imports().Match(text)
}

func (c *check) interfaceText(at, path string) {
	if info, err := os.Stat(path); err == nil && info.Size() > maxInterface {
		c.fail(at, "`"+path+"` is larger than 8 MiB", "keep data in files of its own and list them in local_files")
		return
	}
	text, err := os.ReadFile(path)
	switch {
	case err != nil:
		c.fail(at, "`"+path+"` cannot be read: "+reason(err), "")
	case !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0:
		c.fail(at, "`"+path+"` is not UTF-8 text", "save it as UTF-8")
	case !bytes.Contains(text, []byte("expose")) && !c.mayImport(text):
		c.fail(at, "`"+path+"` exposes nothing", "put @expose before each function that the agent may call")
	case !exposed().Match(text):
		c.warn(at, "`"+path+"` has no @expose", "put @expose before each function that the agent may call")
	}
}
