package session

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/workspace"
)

// Prompt is what an agent is told of the sandbox: how to use it, its models, repositories
// and libraries; of one that it may not use as a whole only the libraries.
func Prompt(exp *experiment.Experiment, contents workspace.Workspace) string {
	if !exp.Sandbox.Whole() { // its agent has the libraries in its own folder
		return strings.TrimSpace(contents.Docs())
	}
	parts := []string{promptNotebook}
	if exp.Sandbox.ExecutionMode == experiment.ModeCLI {
		parts = []string{promptShell}
	}
	var models []workspace.Model
	for _, m := range exp.Sandbox.Models {
		models = append(models, workspace.Model{Name: m.Alias(), VarName: m.VarName, Hidden: m.Hidden, BaseModel: m.BaseModel, Preloaded: !exp.Workspace.NoPreload, PathName: m.EnvName()})
	}
	var datasets []workspace.Dataset
	for _, m := range exp.Sandbox.Fetched() {
		if m.Dataset {
			datasets = append(datasets, workspace.Dataset{Name: m.Alias(), PathName: m.EnvName()})
		}
	}
	for _, text := range []string{workspace.ModelText(models), workspace.DatasetText(datasets), repoText(exp.Sandbox.Repos), contents.Docs()} {
		if text != "" {
			parts = append(parts, strings.TrimSpace(text))
		}
	}
	return strings.Join(parts, "\n\n")
}

const promptNotebook = `## The sandbox

You work in a Jupyter notebook of a sandbox, with the tools of the MCP server "notebook". Begin with start_new_session: it gives
you a kernel in which everything below is ready. Variables stay between cells. A cell that takes long goes on when the tool answers; wait_execution waits for it.
` + promptFolders

const promptShell = `## The sandbox

You work in a sandbox, with the tools of the MCP server "sandbox": commands, files, background processes, and run_python, whose variables stay
and in which everything below is ready. A command that takes long goes on when the tool answers; wait_process waits for it.
` + promptFolders + ` The tools upload and download, where they are there, copy files between the two.`

// promptFolders tells apart what may have one name: the folder of an agent that Seer
// confines is called /workspace as well.
const promptFolders = `The sandbox's working folder is /workspace. The folder that you yourself were started in is another one, on another machine, even where
it is called /workspace, too: your own file tools do not see the sandbox.`

func repoText(repos []experiment.Repo) string {
	var b strings.Builder
	for _, r := range repos {
		fmt.Fprintf(&b, "- %s is in %s/%s%s\n", origin(r), workspace.Folder, r.Name(), uninstalled(r))
	}
	if b.Len() == 0 {
		return ""
	}
	return "## Repositories\n\n" + b.String()
}

// uninstalled says why importing a repository by its name brings nothing.
func uninstalled(r experiment.Repo) string {
	if r.Install != "" {
		return ""
	}
	return ", not installed: its packages are importable once its folder is in sys.path, or pip install -e has been run there"
}

// origin is what an agent is told of where a repository is from. Paths of this computer, and
// who may read a repository, are not its business.
func origin(r experiment.Repo) string {
	at, err := url.Parse(r.URL)
	public := err == nil && at.User == nil && (at.Scheme == "https" || at.Scheme == "http")
	short := err == nil && at.Scheme == "" && strings.Count(r.URL, "/") == 1 && !strings.ContainsAny(r.URL[:1], "./~")
	if public || short {
		return r.URL
	}
	return r.Name()
}
