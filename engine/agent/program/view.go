package program

import (
	"bufio"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/internal/lazyregexp"
	"github.com/seer-engine/seer/sdk"
)

// deepest limits the chain of interpreters.
const deepest = 4

// brews are the folders of Homebrew, whose programs need one another.
var brews = []string{"/opt/homebrew", "/home/linuxbrew/.linuxbrew"}

// system are the folders that each confined process sees.
var system = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc"}

// viewer collects the paths that a confined process must see.
type viewer struct {
	ctx   context.Context
	env   func(string) string
	paths []string
	// beside are folders of programs that a script starts by their names.
	beside []string
}

// file adds the paths that a program's file needs, and the links to it, and returns the file.
func (v *viewer) file(path string) (string, error) {
	real, links, err := follow(path)
	if err != nil {
		return "", sdk.Errorf(sdk.Invalid, "the program %s cannot be followed to its file: %v", path, err)
	}
	tree := treeOf(real)
	if home := v.env("HOME"); home != "" && within(home, tree) || tree == "/" {
		return "", sdk.Errorf(sdk.Unsupported, "the program %s is installed in %s itself, and showing that folder would show everything in it; "+
			"install it elsewhere", path, tree)
	}
	v.add(tree)
	for _, link := range links {
		if home := v.env("HOME"); home == "" || !within(home, link) {
			v.add(link)
		}
	}
	return real, nil
}

func (v *viewer) add(path string) {
	if !slices.ContainsFunc(system, func(s string) bool { return within(path, s) }) {
		v.paths = append(v.paths, path)
	}
}

// shown returns the paths without those that are inside others.
func (v *viewer) shown() []string {
	slices.Sort(v.paths)
	v.paths = slices.Compact(v.paths)
	var out []string
	for _, path := range v.paths {
		inside := func(other string) bool { return other != path && within(path, other) }
		if !slices.ContainsFunc(v.paths, inside) {
			out = append(out, path)
		}
	}
	return out
}

// within reports whether a path is a folder or below it.
func within(path, folder string) bool {
	return path == folder || folder == "/" || strings.HasPrefix(path, folder+"/")
}

// treeOf returns the path that must be visible for a program: its package manager's folder, or only
// the file.
func treeOf(real string) string {
	for _, brew := range brews {
		if within(real, brew) {
			return brew
		}
	}
	if within(real, "/nix/store") {
		return "/nix/store"
	}
	if at := strings.Index(real, "/.pnpm/"); at >= 0 {
		return real[:at+len("/.pnpm")] // its packages lead to one another
	}
	if at := strings.Index(real, "/node_modules/"); at >= 0 {
		return real[:at+len("/node_modules")] // its dependencies may be beside it
	}
	if prefix := filepath.Dir(filepath.Dir(real)); filepath.Base(filepath.Dir(real)) == "bin" {
		for _, mark := range []string{"pyvenv.cfg", "conda-meta"} {
			if _, err := os.Stat(filepath.Join(prefix, mark)); err == nil {
				return prefix
			}
		}
	}
	return real
}

// follow follows links, including links to folders. It returns the file and the links. The folder of
// each returned link is a real path.
func follow(path string) (real string, links []string, err error) {
	todo := strings.Split(strings.TrimPrefix(filepath.Clean(path), "/"), "/")
	real = "/"
	for n := 0; len(todo) > 0; {
		next := filepath.Join(real, todo[0])
		todo = todo[1:]
		info, err := os.Lstat(next)
		if err != nil {
			return "", nil, err
		}
		if info.Mode()&os.ModeSymlink == 0 {
			real = next
			continue
		}
		if n++; n > 40 {
			return "", nil, sdk.Errorf(sdk.Invalid, "too many symbolic links")
		}
		target, err := os.Readlink(next)
		if err != nil {
			return "", nil, err
		}
		links = append(links, next)
		if filepath.IsAbs(target) {
			real = "/"
		}
		// A .. applies to the target of the links before it, so filepath.Clean would be wrong here.
		todo = append(strings.Split(strings.TrimPrefix(target, "/"), "/"), todo...)
	}
	return real, links, nil
}

// command returns the command line of a file: the file, after its interpreter if it is a script.
func (v *viewer) command(path, real string, depth int) ([]string, error) {
	interpreter, args, err := shebang(real)
	if err != nil {
		return nil, sdk.Errorf(sdk.Invalid, "the program %s cannot be read: %v", real, err)
	}
	if interpreter == "" && pythonPattern().MatchString(filepath.Base(path)) {
		return v.python(path, nil)
	}
	if interpreter == "" {
		return []string{path}, nil
	}
	if depth == deepest {
		return nil, sdk.Errorf(sdk.Invalid, "the program %s is a script of a script of a script; name another one", path)
	}
	found := interpreter
	if !filepath.IsAbs(interpreter) {
		if found, err = v.interpreter(interpreter, path, real); err != nil {
			return nil, err
		}
	}
	if !executable(found) {
		return nil, sdk.Errorf(sdk.NotFound, "the program %s needs %s, which is not there; install it again", path, found)
	}
	if pythonPattern().MatchString(filepath.Base(found)) {
		return v.python(found, append(args, path))
	}
	file, err := v.file(found)
	if err != nil {
		return nil, err
	}
	if err := v.pnpm(path); err != nil {
		return nil, err
	}
	before, err := v.command(found, file, depth+1)
	if err != nil {
		return nil, err
	}
	return append(append(before, args...), path), nil
}

// pnpm: its scripts start node with what is below its own folder.
func (v *viewer) pnpm(path string) error {
	global := filepath.Join(filepath.Dir(path), "global")
	if info, err := os.Stat(global); err != nil || !info.IsDir() || filepath.Base(filepath.Dir(path)) != "pnpm" {
		return nil
	}
	v.add(global)
	node, err := v.interpreter("node", path, path)
	if err != nil {
		return err
	}
	v.beside = append(v.beside, filepath.Dir(node))
	_, err = v.file(node)
	return err
}

// interpreter finds the interpreter of a script: beside the script, then in the usual folders.
func (v *viewer) interpreter(name, path, real string) (string, error) {
	for _, dir := range []string{filepath.Dir(path), filepath.Dir(real)} {
		if found := filepath.Join(dir, name); executable(found) && !isShim(found, name) {
			return found, nil
		}
	}
	found, err := locate(name, v.env)
	if err != nil {
		return "", sdk.Errorf(sdk.NotFound, "the program %s needs %s: %v", path, name, err)
	}
	return found, nil
}

var pythonPattern = lazyregexp.New(`^python(\d+(\.\d+)?)?$`)

// python adds a Python with its packages, including those of a virtual environment and its base.
func (v *viewer) python(found string, rest []string) ([]string, error) {
	lookup := func(name string) string {
		if name == "SEER_PYTHON" {
			return found
		}
		return v.env(name)
	}
	about, err := isolation.Python(v.ctx, lookup)
	if err != nil {
		return nil, err
	}
	for _, path := range about.Paths {
		v.add(path)
	}
	return append([]string{about.Executable}, rest...), nil
}

// shebang reads the first line of a script. It returns the interpreter, or its name if env finds
// it, and the arguments. They are empty for a file that is no script.
func shebang(real string) (interpreter string, args []string, err error) {
	f, err := os.Open(real)
	if err != nil {
		return "", nil, err
	}
	defer f.Close()
	line, err := bufio.NewReaderSize(f, 4096).ReadSlice('\n')
	if len(line) < 2 || string(line[:2]) != "#!" {
		return "", nil, nil
	}
	if errors.Is(err, bufio.ErrBufferFull) {
		return "", nil, sdk.Errorf(sdk.Invalid, "its first line has no end")
	}
	words := strings.Fields(string(line[2:]))
	if len(words) == 0 {
		return "", nil, sdk.Errorf(sdk.Invalid, "its first line names no interpreter")
	}
	if filepath.Base(words[0]) != "env" {
		return words[0], words[1:], nil
	}
	words = words[1:]
	for len(words) > 0 && (strings.HasPrefix(words[0], "-") || strings.Contains(words[0], "=")) {
		words = words[1:]
	}
	if len(words) == 0 {
		return "", nil, sdk.Errorf(sdk.Invalid, "its first line names no interpreter")
	}
	return words[0], words[1:], nil
}
