// Package codeserver runs VS Code in a sandbox, for people: code-server, which is
// found on this computer or installed on the machine.
package codeserver

import (
	"os"
	"path/filepath"

	"github.com/seer-engine/seer/engine/remedy"
	"github.com/seer-engine/seer/sdk"
)

// Program is a code-server of this computer.
type Program struct {
	Dir  string // its folder: that of the npm package, or of the release
	Node string // the Node.js that runs it, an executable; empty = the release brings its own
}

// The places of a program in a sandbox that is shown it.
const (
	insideDir     = "/seer/code-server"
	insideModules = "/seer/node_modules" // Node.js looks for dependencies in a folder of this name
	insideNode    = "/seer/node"
)

// Mounts shows the program in a sandbox of this computer.
func (p Program) Mounts() []sdk.Mount {
	mounts := []sdk.Mount{{Source: p.Dir, Target: insideDir}}
	if dir, beside := p.dependencies(); beside {
		mounts[0] = sdk.Mount{Source: dir, Target: insideModules}
	}
	if p.Node != "" {
		mounts = append(mounts, sdk.Mount{Source: p.Node, Target: insideNode})
	}
	return mounts
}

// dependencies is the folder in which npm has put what the program needs beside it, and
// whether it has: it may be in the program's own folder, too.
func (p Program) dependencies() (dir string, beside bool) {
	dir = filepath.Dir(p.Dir)
	_, err := os.Stat(filepath.Join(p.Dir, "node_modules"))
	return dir, err != nil && filepath.Base(dir) == "node_modules"
}

// command starts it, where it is shown or where it is.
func (p Program) command(shown bool) []string {
	dir, node := p.Dir, p.Node
	if shown {
		dir = insideDir
		if _, beside := p.dependencies(); beside {
			dir = filepath.Join(insideModules, filepath.Base(p.Dir))
		}
		if node != "" {
			node = insideNode
		}
	}
	if node == "" {
		return []string{filepath.Join(dir, "bin", "code-server")}
	}
	return []string{node, filepath.Join(dir, "out", "node", "entry.js")}
}

// Find looks for code-server: in the variable SEER_CODE_SERVER (a folder or executable),
// then in the folder of tools, then in the PATH.
func Find(lookup func(string) string, tools string) (Program, error) {
	for _, place := range []string{lookup("SEER_CODE_SERVER"), filepath.Join(tools, "code-server")} {
		if place == "" {
			continue
		}
		if p, ok := at(place, lookup); ok {
			return p, nil
		}
	}
	if found := inPath("code-server", lookup("PATH")); found != "" {
		if p, ok := at(found, lookup); ok {
			return p, nil
		}
	}
	if asked := lookup("SEER_CODE_SERVER"); asked != "" {
		return Program{}, sdk.Errorf(sdk.NotFound, "SEER_CODE_SERVER is %s, where there is no code-server (or it is the npm package and there is no node)", asked)
	}
	return Program{}, remedy.For(sdk.Errorf(sdk.NotFound, "debug needs code-server, which is not on this computer; install it from https://coder.com/docs/code-server, and name its folder in SEER_CODE_SERVER"),
		remedy.Remedy{Action: remedy.FixHost})
}

// Finder finds the code-server of this computer; see [Find].
type Finder struct {
	Getenv func(string) string
	Tools  func() (string, error) // the folder of tools
}

// Find finds it.
func (f Finder) Find() (Program, error) {
	tools, err := f.Tools()
	if err != nil {
		return Program{}, err
	}
	return Find(f.Getenv, tools)
}

// at recognises a program by its folder or by an executable in it.
func at(place string, lookup func(string) string) (Program, bool) {
	real, err := filepath.EvalSymlinks(place)
	if err != nil {
		return Program{}, false
	}
	for dir := real; dir != "/" && dir != "."; dir = filepath.Dir(dir) {
		switch {
		case isFile(filepath.Join(dir, "lib", "node")) && isFile(filepath.Join(dir, "bin", "code-server")):
			return Program{Dir: dir}, true
		case isFile(filepath.Join(dir, "out", "node", "entry.js")):
			node := nodeOf(dir, lookup)
			return Program{Dir: dir, Node: node}, node != ""
		case isFile(filepath.Join(dir, "node_modules", "code-server", "out", "node", "entry.js")):
			dir = filepath.Join(dir, "node_modules", "code-server")
			node := nodeOf(dir, lookup)
			return Program{Dir: dir, Node: node}, node != ""
		}
	}
	return Program{}, false
}

// nodeOf is the Node.js for the npm package: one that was installed beside it, else that
// of the PATH. A file of the system is shown like any other.
func nodeOf(dir string, lookup func(string) string) string {
	beside := filepath.Join(filepath.Dir(dir), "node", "bin", "node")
	for _, place := range []string{beside, inPath("node", lookup("PATH"))} {
		if real, err := filepath.EvalSymlinks(place); place != "" && err == nil && isFile(real) {
			return real
		}
	}
	return ""
}

func inPath(name, path string) string {
	for _, dir := range filepath.SplitList(path) {
		if full := filepath.Join(dir, name); filepath.IsAbs(full) && isFile(full) {
			return full
		}
	}
	return ""
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
