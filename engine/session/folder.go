package session

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/seer-engine/seer/engine/errdefs"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/workspace"
)

// Contents reads what an experiment puts into workspaces.
func Contents(exp *experiment.Experiment) (workspace.Workspace, error) {
	w := exp.Workspace
	read, err := workspace.Load(workspace.Sources{
		Libraries: w.Libraries, Skills: exp.Skills(), SkillDirs: w.SkillDirs, Files: w.Files, Dirs: w.Dirs, Init: w.Init,
		PreloadModels: !w.NoPreload, HiddenModelLoading: !w.ShowsLoading,
	})
	return read, errdefs.Wrap(errdefs.KindConfig, err)
}

// fillFolder puts libraries and files into the working folder, and tells processes where
// that is.
func (s Starter) fillFolder(ctx context.Context) error {
	files := s.Contents.Plan(workspace.Kind(s.Experiment.Sandbox.ExecutionMode)).Sandbox
	if len(files) > 0 && !s.Restored {
		s.Report.Send(event.WorkspaceFilling{Files: len(files)})
		if err := s.writeFiles(ctx, files); err != nil {
			return fmt.Errorf("fill the workspace: %w", err)
		}
	}
	if !s.Experiment.Sandbox.Whole() {
		return nil
	}
	var out bytes.Buffer
	if _, err := s.Client.Processes().Run(ctx, protocol.ProcessSpec{Shell: importable, Cwd: workspace.Folder}, nil, &out, nil); err != nil {
		return err
	}
	return s.Configure(ctx, strings.TrimSpace(out.String()))
}

// importable has the sandbox's own Python look into the working folder after everything
// else: what an agent writes there can be imported from everywhere, and takes no module's
// place.
const importable = `pwd; for d in "$HOME"/.seer/python/lib/python*/site-packages; do [ -d "$d" ] && pwd > "$d/seer-workspace.pth"; done; true`

// writeFiles brings files with absolute paths into the sandbox, as one stream.
func (s Starter) writeFiles(ctx context.Context, files []workspace.File) error {
	total := int64(0)
	for _, f := range files {
		total += f.Size
	}
	counted, end := s.Report.Counted(ctx, event.StageSession, total)
	defer end()
	r, w := io.Pipe()
	go func() { w.CloseWithError(workspace.Pack(w, files)) }()
	defer r.Close()
	return s.Client.Files().WriteTree(counted, workspace.Folder, r)
}
