package workspace

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/seer-engine/seer/internal/lazyregexp"
)

// maxSource is the largest Python file of which the documentation is read.
const maxSource = 16 << 20

// Library is something that can be imported by its name.
type Library struct {
	Name  string
	Files []File // NAME.py, or what is in NAME/
	Docs  string // "" = none

	outline string // of a module without Docs: what it defines
}

// LoadLibrary is the library of a Python file, a package folder or a skill folder with
// code.
func LoadLibrary(source string) (Library, error) {
	info, err := os.Stat(source)
	switch {
	case err == nil && info.IsDir() && exists(source, "__init__.py"):
		return LibraryFromFolder(source, "")
	case err == nil && info.IsDir() && exists(source, "SKILL.md"):
		return LibraryFromSkill(source)
	case err == nil && info.IsDir():
		return Library{}, fmt.Errorf("%s is not a package: add an __init__.py, or list it under dirs", source)
	}
	return LibraryFromFile(source, "")
}

func exists(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, name))
	return err == nil
}

// LibraryFromFile is the module of one Python file, under its own name or another.
func LibraryFromFile(source, name string) (Library, error) {
	if name == "" {
		name = strings.TrimSuffix(filepath.Base(source), ".py")
	}
	files, err := loadTree(source, name+".py", onlyFile)
	if err != nil {
		return Library{}, err
	}
	if filepath.Ext(source) != ".py" {
		return Library{}, fmt.Errorf("%s is not a Python file: list it under files", source)
	}
	l := Library{Name: name, Files: files}
	return l.documented(source, files[0])
}

// LibraryFromFolder is a package: the folder with everything in it.
func LibraryFromFolder(source, name string) (Library, error) {
	if name == "" {
		name = filepath.Base(source)
	}
	files, err := loadTree(source, name, onlyFolder)
	if err != nil {
		return Library{}, err
	}
	l := Library{Name: name, Files: files}
	for _, f := range files {
		if f.Path == name+"/__init__.py" {
			return l.documented(source, f)
		}
	}
	return Library{}, fmt.Errorf("%s is not a package: add an __init__.py, or list it under dirs", source)
}

// LibraryFromSkill is the code of a skill folder: its code.py as a module, or the Python
// files of its scripts/ as a package. Its name has _ for -, and its documentation is
// the text of SKILL.md.
func LibraryFromSkill(source string) (Library, error) {
	skill, err := LoadSkill(source)
	if err != nil {
		return Library{}, err
	}
	l := Library{Name: strings.ReplaceAll(skill.Name, "-", "_"), Docs: skill.Body}
	start := false
	for _, f := range skill.Files {
		below, inScripts := strings.CutPrefix(f.Path, "scripts/")
		switch {
		case f.Path == "code.py":
			f.Path = l.Name + ".py"
			l.Files = []File{f}
			return l, l.check(source)
		case inScripts:
			start = start || below == "__init__.py"
			f.Path = path.Join(l.Name, below)
			l.Files = append(l.Files, f)
		}
	}
	if len(l.Files) == 0 {
		return Library{}, fmt.Errorf("%s has no code to import: neither a code.py nor a folder scripts; list it under skills", source)
	}
	if !start {
		l.Files = append(l.Files, Made(l.Name+"/__init__.py", nil))
	}
	return l, l.check(source)
}

// LibraryFromCode is a module of this code.
func LibraryFromCode(name, code string) (Library, error) {
	l := Library{Name: name, Files: []File{Made(name+".py", []byte(code))}}
	return l.documented("the library "+strconv.Quote(name), l.Files[0])
}

// LibraryFromFiles is a library that was made, such as that of a served interface: files
// by their paths, NAME.py or NAME/….
func LibraryFromFiles(name string, files []File, docs string) (Library, error) {
	l := Library{Name: name, Files: files, Docs: strings.TrimSpace(docs)}
	for _, f := range files {
		if f.Path != name+".py" && !strings.HasPrefix(f.Path, name+"/") {
			return l, fmt.Errorf("the library %s has the file %s, which is neither %s.py nor in %s/", name, f.Path, name, name)
		}
	}
	return l, l.check("the library " + name)
}

func (l Library) documented(source string, f File) (Library, error) {
	if err := l.check(source); err != nil {
		return l, err
	}
	text, err := f.read(maxSource)
	if err != nil {
		return l, err
	}
	if l.Docs = docstring(string(text)); l.Docs == "" {
		l.outline = outline(string(text))
	}
	return l, nil
}

var identifier = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (l Library) check(source string) error {
	switch {
	case !identifier().MatchString(l.Name) || isKeyword(l.Name):
		return fmt.Errorf("%s: `%s` cannot be imported, for it is not a name in Python: rename it with letters, digits and _", source, l.Name)
	case isStandard(l.Name):
		return fmt.Errorf("%s: `%s` is a module of Python's standard library, whose place it would take: rename it", source, l.Name)
	case len(l.Files) == 0:
		return errors.New(source + " has no files")
	}
	return nil
}

// Prompt is what the prompt says of the library: its documentation, or how to import it
// and what it defines.
func (l Library) Prompt() string {
	switch {
	case l.Docs != "":
		return l.Docs
	case l.outline != "":
		return fmt.Sprintf("`import %s`\n\n%s", l.Name, l.outline)
	}
	return fmt.Sprintf("`import %s`", l.Name)
}

// Docs is the part of the prompt about the libraries; "" where there are none.
func (w Workspace) Docs() string {
	if len(w.Libraries) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("## Libraries\n\nThese can be imported:\n")
	for _, l := range w.Libraries {
		fmt.Fprintf(&b, "\n### %s\n\n%s\n", l.Name, l.Prompt())
	}
	return b.String()
}
