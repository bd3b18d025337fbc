package files

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/errdefs"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/pkginstall"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/snapshot"
	"github.com/seer-engine/seer/engine/workspace"
)

// Target is a new sandbox that gets the files of a snapshot.
type Target struct {
	Sandbox *client.Client
	Layer   string // key of what it is shown of packages and repositories; empty = nothing
	Clear   bool   // its working folder is emptied first; see [Clears]
	Report  event.Reporter
}

// Clears says whether the working folder is emptied for a snapshot's files: not where a
// volume is in it.
func Clears(volumes []experiment.Volume) bool {
	for _, v := range volumes {
		if InWorkspace(v.Path) {
			return false
		}
	}
	return true
}

// InWorkspace reports whether a path of a sandbox is the working folder or below it.
func InWorkspace(p string) bool {
	p = path.Clean(p)
	return p == workspace.Folder || strings.HasPrefix(p, workspace.Folder+"/")
}

// Restore puts the files of a snapshot into a sandbox, in the place of those of its working
// folder and over those of its home. The sandbox keeps its own Python; the packages of both
// stay. Keys of the sandbox that was saved do not come back. After an error the sandbox has
// some of the files and is of no use.
func (t Target) Restore(ctx context.Context, store *snapshot.Store, ref string) error {
	saved, err := store.Get(ctx, ref)
	if err != nil {
		return err
	}
	if saved.Damaged != "" { // it may have no trees then, which is not that nothing was saved
		return Unusable(ref, saved)
	}
	if len(saved.Layers) > 0 && saved.Layers[0] != t.Layer {
		t.Report.Send(event.SnapshotOtherPackages{Snapshot: saved.Name})
	}
	kept, err := pkginstall.Keep(ctx, t.Sandbox)
	if err != nil {
		return err
	}
	if err := t.clear(ctx); err != nil {
		return err
	}
	for _, tree := range trees {
		if err := t.restoreTree(ctx, store, saved, tree.name, tree.path); err != nil {
			return fmt.Errorf("restore the %s of %s: %w", tree.name, ref, err)
		}
	}
	others, err := kept.Return(ctx)
	if err != nil {
		return err
	}
	for _, version := range others {
		t.Report.Send(event.SnapshotOtherPython{Snapshot: saved.Name, Python: version})
	}
	for _, file := range renewed {
		if err := t.Sandbox.Files().Remove(ctx, file, true); err != nil && protocol.CodeOf(err) != protocol.NotFound {
			return err
		}
	}
	return nil
}

// Unusable is the error of a snapshot that is known to be damaged.
func Unusable(ref string, saved snapshot.Snapshot) error {
	return &errdefs.Error{Kind: errdefs.KindConfig, Err: fmt.Errorf("the snapshot %s cannot be used: %s", ref, saved.Damaged)}
}

// clear empties the working folder: what was deleted before the snapshot must not come
// back with a clone.
func (t Target) clear(ctx context.Context) error {
	if !t.Clear {
		return nil
	}
	p, err := t.Sandbox.Processes().Run(ctx, protocol.ProcessSpec{Shell: "find . -mindepth 1 -maxdepth 1 -exec rm -rf -- {} +", Cwd: workspace.Folder}, nil, nil, nil)
	if err == nil && p.ExitCode != 0 {
		err = fmt.Errorf("empty the working folder: exit code %d", p.ExitCode)
	}
	return err
}

func (t Target) restoreTree(ctx context.Context, store *snapshot.Store, saved snapshot.Snapshot, name, dir string) error {
	for _, tree := range saved.Trees {
		if tree.Name != name {
			continue
		}
		t.Report.Send(event.TreeRestoring{Tree: name, Bytes: tree.Bytes})
		r, err := store.Restore(ctx, saved.ID, name)
		if err != nil {
			return err
		}
		counted, end := t.Report.Counted(ctx, event.StageSnapshot, tree.Bytes)
		err = t.Sandbox.Files().RestoreTree(counted, dir, r)
		end()
		return errors.Join(err, r.Close())
	}
	return nil
}
