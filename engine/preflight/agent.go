package preflight

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seer-engine/seer/engine/experiment"
)

// agent settles how the agent's own process is kept apart.
func (c *check) agent() {
	if a := c.exp.Agent; a != nil {
		c.report.AgentIsolation = c.pickIsolation("agent.isolation", a.Isolation, c.facts.AgentIsolations, "the agent")
		c.programs()
		if c.report.AgentIsolation == "none" && a.Network == "none" {
			c.fail("agent.network", "the agent cannot be kept off the network without isolation", "set network: open, or remove isolation: none")
		}
		c.nested("agent.nested_sandbox", a.Nested, c.report.AgentIsolation)
		if c.report.AgentIsolation == "none" && (a.MemoryGB > 0 || a.CPU > 0) {
			c.fail("agent.isolation", "the memory and cores of an agent without isolation are not limited", "remove agent.memory and agent.cpu, or isolation: none")
		}
	}
}

// programs looks for what the agent's command names.
func (c *check) programs() {
	a := c.exp.Agent
	if a == nil {
		return
	}
	for _, p := range c.facts.AgentProblems {
		c.fail(p.Path, p.Message, p.Hint)
	}
	if !a.Profiled() { // else it was looked for where users have programs of agents
		c.program(a)
		c.command(a.Command)
	}
}

// nested refuses mounts in bubblewrap to root.
func (c *check) nested(path string, asked bool, isolation string) {
	if asked && c.facts.Root && isolation == "bubblewrap" {
		c.fail(path, "you are root, and in bubblewrap a program could make setuid files of root on this computer", "set isolation: gvisor beside it and remove this key, or run Seer as an ordinary user")
	}
}

// program looks for the agent's program where it will be looked for. Without a path, and
// elsewhere than in the PATH of the agent, only the start can find it.
func (c *check) program(a *experiment.Agent) {
	if len(a.Command) == 0 {
		return
	}
	if strings.Contains(a.Command[0], "/") {
		c.programAt(a.Command[0])
		return
	}
	if _, own := a.Env["PATH"]; own || c.facts.AgentPath == "" {
		return
	}
	for _, dir := range filepath.SplitList(c.facts.AgentPath) {
		if _, err := exec.LookPath(filepath.Join(dir, a.Command[0])); err == nil {
			return
		}
	}
	hint := "the agent's PATH is " + c.facts.AgentPath
	if words := strings.Fields(a.Command[0]); len(words) > 1 {
		hint = "each word is an item of its own: [" + strings.Join(words, ", ") + "]"
	}
	c.fail("agent.command.0", fmt.Sprintf("there is no program `%s`", a.Command[0]), hint)
}

// programAt looks for a program that is named by its path: on this computer, in the parts of
// it that a confined agent sees, or in the workspace.
func (c *check) programAt(path string) {
	confined := c.report.AgentIsolation != "none"
	inside, absolute := path, filepath.IsAbs(path)
	if confined && absolute {
		if rest, ok := strings.CutPrefix(filepath.Clean(path), insideWorkspace); ok {
			inside, absolute = rest, false
		}
	}
	if !absolute {
		if !c.comesIntoWorkspace(inside) {
			c.fail("agent.command.0", "there is no program `"+path+"` in the workspace", "list it under workspace.files")
		}
		return
	}
	info, err := os.Stat(path)
	seen := slices.ContainsFunc(c.facts.AgentSees, func(dir string) bool { return within(path, dir) })
	switch {
	case errors.Is(err, fs.ErrNotExist):
		c.fail("agent.command.0", "there is no program `"+path+"` on this computer", "the agent runs here, not on the sandbox's machine")
	case err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0:
		c.fail("agent.command.0", "`"+path+"` is not an executable file", "make it executable, or name the program that reads it")
	case confined && len(c.facts.AgentSees) > 0 && !seen:
		c.fail("agent.command.0", "the agent does not see `"+path+"`: of this computer it sees the system and its Python", "list the program under workspace.files, and name it there")
	}
}

// insideWorkspace is where a confined agent has its workspace.
const insideWorkspace = "/workspace/"

// comesIntoWorkspace reports whether the path may be in the workspace when the agent starts:
// it is there, is copied there, or is made there.
func (c *check) comesIntoWorkspace(path string) bool {
	w := c.exp.Workspace
	if _, err := os.Stat(filepath.Join(w.Dir, path)); err == nil || w.Init != "" {
		return true
	}
	first, _, _ := strings.Cut(filepath.Clean(path), "/")
	copied := slices.Concat(w.Files, w.Dirs, w.Libraries, w.Skills, w.SkillDirs)
	return slices.ContainsFunc(copied, func(p string) bool {
		return filepath.Base(p) == first || filepath.Base(p) == filepath.Base(path)
	}) || c.exp.File != "" && exists(filepath.Dir(c.exp.File), path) // which [check.command] tells
}

// command warns of a program that the agent will not find: it lies beside the
// experiment, and the agent sees only its workspace.
func (c *check) command(words []string) {
	if c.exp.File == "" {
		return
	}
	w := c.exp.Workspace
	for i, word := range words {
		beside := filepath.Join(filepath.Dir(c.exp.File), word)
		info, err := os.Stat(beside)
		if err != nil || !info.Mode().IsRegular() || !filepath.IsLocal(word) {
			continue
		}
		copied := slices.ContainsFunc(slices.Concat(w.Files, w.Libraries), func(p string) bool { return within(beside, p) })
		if _, err := os.Stat(filepath.Join(w.Dir, word)); err == nil || copied {
			continue
		}
		c.warn(fmt.Sprintf("agent.command.%d", i), fmt.Sprintf("`%s` is beside the experiment, where the agent does not see it", word), "list it under workspace.files")
	}
}
