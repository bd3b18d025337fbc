package engine

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/workspace"
	"github.com/seer-engine/seer/internal/text"
)

// WorkspaceOf reads what an experiment puts into workspaces.
func WorkspaceOf(exp *experiment.Experiment) (workspace.Workspace, error) {
	w := exp.Workspace
	read, err := workspace.Load(workspace.Sources{
		Libraries: w.Libraries, Skills: w.Skills, SkillDirs: w.SkillDirs, Files: w.Files, Dirs: w.Dirs, Init: w.Init,
		PreloadModels: !w.NoPreload, HiddenModelLoading: !w.ShowsLoading,
	})
	return read, as(KindConfig, err)
}

// readWorkspace reads it before anything is rented.
func (u *up) readWorkspace() (err error) {
	u.contents, err = WorkspaceOf(u.exp)
	return err
}

// workspace puts libraries and files into the working folder, and tells processes where
// that is.
func (u *up) workspace(ctx context.Context, s *Sandbox) error {
	files := u.contents.Plan(workspace.Kind(u.exp.Sandbox.ExecutionMode)).Sandbox
	if len(files) > 0 && u.opts.Snapshot == "" { // whose files are what they had become
		u.report.Info(StageSession, "the workspace: %s", text.Plural(len(files), "file"))
		total := int64(0)
		for _, f := range files {
			total += f.Size
		}
		counted, end := u.report.Counted(ctx, StageSession, total)
		defer end()
		if err := writeFiles(counted, s.runtime, files); err != nil {
			return fmt.Errorf("fill the workspace: %w", err)
		}
	}
	if !u.exp.Sandbox.Whole() {
		return nil
	}
	var out bytes.Buffer
	if _, err := s.runtime.Processes().Run(ctx, protocol.ProcessSpec{Shell: importable, Cwd: workspace.Folder}, nil, &out, nil); err != nil {
		return err
	}
	u.space = strings.TrimSpace(out.String())
	return s.runtime.PutConfig(ctx, u.config())
}

// importable has the sandbox's own Python look into the working folder after everything
// else: what an agent writes there can be imported from everywhere, and takes no module's
// place.
const importable = `pwd; for d in "$HOME"/.seer/python/lib/python*/site-packages; do [ -d "$d" ] && pwd > "$d/seer-workspace.pth"; done; true`

// writeFiles brings files with absolute paths into the sandbox, as one stream.
func writeFiles(ctx context.Context, rt *client.Client, files []workspace.File) error {
	r, w := io.Pipe()
	go func() { w.CloseWithError(packFiles(w, files)) }()
	defer r.Close()
	return rt.Files().WriteTree(ctx, workspace.Folder, r)
}

func packFiles(w io.Writer, files []workspace.File) error {
	t := tar.NewWriter(w)
	for _, f := range files {
		if err := packFile(t, f); err != nil {
			return err
		}
	}
	return t.Close()
}

// packFile adds a file as it was when it was listed: one that has changed its size since
// is an error.
func packFile(t *tar.Writer, f workspace.File) error {
	name := strings.TrimPrefix(f.Path, workspace.Folder+"/")
	if err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: int64(f.Mode.Perm()), Size: f.Size, ModTime: time.Now(), Format: tar.FormatPAX}); err != nil {
		return err
	}
	r, err := f.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	n, err := io.Copy(t, r)
	if err == nil && n < f.Size {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return fmt.Errorf("%s was changed while it was copied: %w", name, err)
	}
	return nil
}

// prompt is what an agent is told of the sandbox.
func (u *up) prompt() string {
	if !u.exp.Sandbox.Whole() { // its agent has the libraries in its own folder
		return strings.TrimSpace(u.contents.Docs())
	}
	parts := []string{promptNotebook}
	if u.exp.Sandbox.ExecutionMode == experiment.ModeCLI {
		parts = []string{promptShell}
	}
	var models []workspace.Model
	for _, m := range u.exp.Sandbox.Models {
		models = append(models, workspace.Model{Name: m.Name, VarName: m.VarName, Hidden: m.Hidden, BaseModel: m.BaseModel, Preloaded: !u.exp.Workspace.NoPreload, PathName: m.EnvName()})
	}
	for _, text := range []string{workspace.ModelText(models), u.repoText(), u.contents.Docs()} {
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

func (u *up) repoText() string {
	var b strings.Builder
	for _, r := range u.exp.Sandbox.Repos {
		fmt.Fprintf(&b, "- %s is in %s/%s%s\n", told(r), workspace.Folder, r.Name(), uninstalled(r))
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

// told is what an agent is told of where a repository is from. Paths of this computer, and
// who may read a repository, are not its business.
func told(r experiment.Repo) string {
	at, err := url.Parse(r.URL)
	public := err == nil && at.User == nil && (at.Scheme == "https" || at.Scheme == "http")
	short := err == nil && at.Scheme == "" && strings.Count(r.URL, "/") == 1 && !strings.ContainsAny(r.URL[:1], "./~")
	if public || short {
		return r.URL
	}
	return r.Name()
}
