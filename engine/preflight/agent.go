package preflight

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seer-engine/seer/engine/experiment"
)

// agent settles how the agent's own process is kept apart.
func (c *check) agent() {
	c.programs()
	if a := c.exp.Agent; a != nil {
		c.report.AgentIsolation = c.settle("agent.isolation", a.Isolation, c.facts.AgentIsolations, "the agent")
		if c.report.AgentIsolation == "none" && a.Network == "none" {
			c.fail("agent.network", "the agent cannot be kept off the network without isolation", "set network: open, or install bubblewrap")
		}
		c.nested("agent.nested_sandbox", a.Nested, c.report.AgentIsolation)
		if c.report.AgentIsolation == "none" && (a.MemoryGB > 0 || a.CPU > 0) {
			c.fail("agent.isolation", "the memory and cores of an agent without isolation are not limited", "remove agent.memory and agent.cpu, or install bubblewrap")
		}
	}
}

// programs looks for what the agent's command names.
func (c *check) programs() {
	if a := c.exp.Agent; a != nil {
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

// program looks for an agent that is named without a path. Elsewhere than in its
// PATH, only the start can find it.
func (c *check) program(a *experiment.Agent) {
	if c.facts.AgentPath == "" || len(a.Command) == 0 || strings.Contains(a.Command[0], "/") {
		return
	}
	if _, own := a.Env["PATH"]; own {
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
