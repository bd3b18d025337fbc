package engine

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/seer-engine/seer/engine/pkginstall"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/snapshot"
	"github.com/seer-engine/seer/engine/workspace"
	"github.com/seer-engine/seer/internal/text"
)

// restore puts the files of a snapshot into a sandbox.
func (u *up) restore(ctx context.Context, s *Sandbox) error {
	if u.opts.Snapshot == "" {
		return nil
	}
	store, err := u.engine.Snapshots()
	if err != nil {
		return err
	}
	saved, err := store.Get(ctx, u.opts.Snapshot)
	if err != nil {
		return err
	}
	if layer := u.layerKey(); len(saved.Layers) > 0 && saved.Layers[0] != layer {
		u.report.Warn(StageSnapshot, "%s was saved with other python_packages or repos than this experiment has; what was installed by hand in it may not fit", saved.Name)
	}
	kept, err := pkginstall.Keep(ctx, s.runtime)
	if err != nil {
		return err
	}
	if err := u.clear(ctx, s); err != nil {
		return err
	}
	for _, t := range trees {
		if err := u.restoreTree(ctx, s, store, saved, t.name, t.path); err != nil {
			return fmt.Errorf("restore the %s of %s: %w", t.name, u.opts.Snapshot, err)
		}
	}
	others, err := kept.Return(ctx)
	if err != nil {
		return err
	}
	for _, version := range others {
		u.report.Warn(StageSnapshot, "%s has packages that were installed for Python %s, which this sandbox does not use; install them again, or set sandbox.python_version", saved.Name, version)
	}
	for _, file := range renewed {
		if err := s.runtime.Files().Remove(ctx, file, true); err != nil && protocol.CodeOf(err) != protocol.NotFound {
			return err
		}
	}
	return nil
}

// clears says whether the working folder is emptied for the snapshot's files: not where a
// volume is in it.
func (u *up) clears() bool {
	for _, v := range u.exp.Sandbox.Volumes {
		if inWorkspace(v.Path) {
			return false
		}
	}
	return u.opts.Snapshot != ""
}

// cleared are paths that a snapshot's files take the place of.
func (u *up) cleared(path string) bool { return u.clears() && inWorkspace(path) }

func inWorkspace(p string) bool {
	p = path.Clean(p)
	return p == workspace.Folder || strings.HasPrefix(p, workspace.Folder+"/")
}

// clear empties the working folder: what was deleted before the snapshot must not come
// back with a clone.
func (u *up) clear(ctx context.Context, s *Sandbox) error {
	if !u.clears() {
		return nil
	}
	p, err := s.runtime.Processes().Run(ctx, protocol.ProcessSpec{Shell: "find . -mindepth 1 -maxdepth 1 -exec rm -rf -- {} +", Cwd: workspace.Folder}, nil, nil, nil)
	if err == nil && p.ExitCode != 0 {
		err = fmt.Errorf("empty the working folder: exit code %d", p.ExitCode)
	}
	return err
}

func (u *up) restoreTree(ctx context.Context, s *Sandbox, store *snapshot.Store, saved snapshot.Snapshot, name, dir string) error {
	for _, t := range saved.Trees {
		if t.Name != name {
			continue
		}
		u.report.Info(StageSnapshot, "restoring the %s: %s", name, text.Bytes(t.Bytes))
		r, err := store.Restore(ctx, saved.ID, name)
		if err != nil {
			return err
		}
		counted, end := u.report.Counted(ctx, StageSnapshot, t.Bytes)
		err = s.runtime.Files().RestoreTree(counted, dir, r)
		end()
		return errors.Join(err, r.Close())
	}
	return nil
}

// layerKey names what the sandbox is shown of packages and repositories.
func (u *up) layerKey() string {
	if u.building != nil {
		return u.building.Layer
	}
	return u.installation.LayerKey()
}

// checkSnapshot finds the snapshot before anything is rented.
func (u *up) checkSnapshot(ctx context.Context) error {
	saved, err := u.snapshot(ctx)
	if saved != nil && saved.Damaged != "" {
		return &Error{Kind: KindConfig, Err: fmt.Errorf("the snapshot %s cannot be used: %s", u.opts.Snapshot, saved.Damaged)}
	}
	return err
}

// snapshot is what the sandbox starts from; nil = nothing.
func (u *up) snapshot(ctx context.Context) (*snapshot.Snapshot, error) {
	if u.opts.Snapshot == "" {
		return nil, nil
	}
	store, err := u.engine.Snapshots()
	if err != nil {
		return nil, err
	}
	saved, err := store.Get(ctx, u.opts.Snapshot)
	if err != nil {
		return nil, as(KindNotFound, err)
	}
	return &saved, nil
}
