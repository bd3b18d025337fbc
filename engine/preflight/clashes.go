package preflight

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seer-engine/seer/engine/experiment"
)

// clashes finds two things that would be in one place.
func (c *check) clashes() {
	c.remotes()
	c.workspaceNames()
	c.workspaceDir()
}

func (c *check) remotes() {
	taken := map[string]string{}
	for _, list := range []struct {
		key   string
		pairs []experiment.Pair
	}{{"local_files", c.exp.Sandbox.LocalFiles}, {"local_dirs", c.exp.Sandbox.LocalDirs}} {
		for i, p := range list.pairs {
			at := fmt.Sprintf("sandbox.%s.%d", list.key, i)
			if other, clash := taken[p.Remote]; clash {
				c.fail(at+".remote", fmt.Sprintf("`%s` is the place of %s as well", p.Remote, other), "choose another place")
			} else if c.onThisComputer(p.Remote) {
				c.fail(at+".remote", fmt.Sprintf("without isolation `%s` would be written on this computer itself", p.Remote), "use a place under /workspace")
			} else if file := c.fileAbove(p.Remote); file != "" {
				c.fail(at+".remote", fmt.Sprintf("`%s` is under `%s`, which is a file", p.Remote, file), "choose another place")
			}
			taken[p.Remote] = at
		}
	}
}

// onThisComputer reports whether a path of the sandbox is the same path here:
// without isolation only the well-known folders are somewhere else.
func (c *check) onThisComputer(path string) bool {
	here := func(p *candidate) bool { return p.thisComputer() && p.isolation == "none" }
	return slices.ContainsFunc(c.candidates, here) && !within(path, "/workspace")
}

// fileAbove is a file that would have to be a folder for path to exist.
func (c *check) fileAbove(path string) string {
	for _, f := range c.exp.Sandbox.LocalFiles {
		if f.Remote != path && within(path, f.Remote) {
			return f.Remote
		}
	}
	return ""
}

// workspaceNames: a served library and what is copied in lie side by side, where
// import finds them by name.
func (c *check) workspaceNames() {
	taken := map[string]string{}
	for i, s := range c.exp.Serve {
		taken[s.Name] = fmt.Sprintf("serve.%d", i)
	}
	for _, list := range []struct {
		key   string
		paths []string
	}{{"libraries", c.exp.Workspace.Libraries}, {"files", c.exp.Workspace.Files}} {
		for i, p := range list.paths {
			at := fmt.Sprintf("workspace.%s.%d", list.key, i)
			if other, clash := taken[moduleOf(p)]; clash {
				c.fail(at, fmt.Sprintf("`%s` has the name of %s", filepath.Base(p), other), "rename one of them")
			}
			taken[moduleOf(p)] = at
		}
	}
}

// workspaceDir keeps the agent's folder from being one that holds more than it
// may see.
func (c *check) workspaceDir() {
	home, _, _ := c.facts.Env.Lookup("HOME")
	for _, outside := range []struct{ what, path string }{{"the experiment file", c.exp.File}, {"your home", home}, {"the collected outputs", c.exp.Outputs}, {"the records of runs", c.exp.Runs}} {
		if outside.path != "" && within(outside.path, c.exp.Workspace.Dir) {
			c.fail("workspace.dir", fmt.Sprintf("`%s` holds %s, which the agent would see", c.exp.Workspace.Dir, outside.what), "name a folder of its own, such as ./workspace")
			return
		}
	}
}

func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}
