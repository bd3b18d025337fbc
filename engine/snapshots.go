package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"strings"

	"github.com/seer-engine/seer/engine/environment"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/snapshot"
	"github.com/seer-engine/seer/engine/workspace"
)

// StageSnapshot is the saving and restoring of sandboxes.
const StageSnapshot Stage = "snapshot"

// trees are the folders of a sandbox that a snapshot has: name in the store → path.
var trees = [...]struct{ name, path string }{{"workspace", "/workspace"}, {"home", "~/"}}

// SaveOptions say how a sandbox is saved.
type SaveOptions struct {
	Name        string // unique; see [snapshot.CheckName]
	Description string
	// Live saves without a pause. Files that are written meanwhile may be saved in the middle.
	Live bool
	// Memory saves the processes, too: only of this computer's sandboxes in gVisor with a
	// network of their own, without a GPU.
	Memory   bool
	Progress Progress
}

// errNoSnapshots is where nobody can have saved anything.
var errNoSnapshots = errors.New("there is no home folder to keep snapshots in; set XDG_DATA_HOME")

// Snapshots is the store of this computer's snapshots.
func (e *Engine) Snapshots() (*snapshot.Store, error) {
	data := e.userDir(e.opts.DataDir, "XDG_DATA_HOME", ".local/share")
	if data == "" {
		return nil, &Error{KindConfig, errNoSnapshots}
	}
	return &snapshot.Store{Dir: filepath.Join(data, "snapshots"), Now: e.now}, nil
}

// Save keeps a running sandbox's working folder and home on this computer, as
// [UpOptions].Snapshot starts from, on any provider. Its processes stand still while
// they are read, for at most [protocol.FreezeLimit]; what takes longer is not saved
// unless it is [SaveOptions].Live. Nothing is to be seen of a save that failed. A name
// that is taken is [KindConflict].
func (e *Engine) Save(ctx context.Context, ref string, o SaveOptions) (snapshot.Snapshot, error) {
	if err := snapshot.CheckName(o.Name); err != nil {
		return snapshot.Snapshot{}, &Error{KindConfig, err}
	}
	store, err := e.Snapshots()
	if err != nil {
		return snapshot.Snapshot{}, err
	}
	if _, err := store.Get(ctx, o.Name); err == nil { // before anything is read
		return snapshot.Snapshot{}, saveError(&snapshot.ExistsError{Name: o.Name})
	}
	s, err := e.Open(ctx, ref)
	if err != nil {
		return snapshot.Snapshot{}, err
	}
	defer s.Close()
	report := reporter{e.now, o.Progress}
	report.info(StageSnapshot, "saving %s", s.id)
	save := s.save
	if o.Memory {
		save = s.saveProcesses
	}
	saved, err := save(ctx, store, o, report)
	if err != nil {
		return saved, saveError(err)
	}
	for _, t := range saved.Trees {
		report.info(StageSnapshot, "%s: %s in %s, %s of it new", t.Name, bytesText(t.Bytes), countText(int(t.Entries), "file"), bytesText(t.New))
	}
	report.done(StageSnapshot, "saved as %s", o.Name)
	return saved, nil
}

// sweepSnapshots removes what killed programs have left in the store.
func (e *Engine) sweepSnapshots(ctx context.Context) error {
	store, err := e.Snapshots()
	if errors.Is(err, errNoSnapshots) {
		return nil
	}
	if err != nil {
		return err
	}
	return store.Sweep(ctx)
}

func saveError(err error) error {
	var exists *snapshot.ExistsError
	if errors.As(err, &exists) {
		return &Error{KindConflict, err}
	}
	return as(KindProvider, err)
}

func (s *Sandbox) save(ctx context.Context, store *snapshot.Store, o SaveOptions, report reporter) (snapshot.Snapshot, error) {
	r, note, err := s.sessionOf(ctx)
	if err != nil {
		return snapshot.Snapshot{}, err
	}
	var sources []snapshot.Source
	count, end := report.counter(StageSnapshot, 0)
	defer end()
	for _, t := range trees {
		sources = append(sources, snapshot.Source{Name: t.name, Skip: renewedBelow(t.path), Open: func(ctx context.Context) (io.ReadCloser, error) {
			return s.runtime.ReadTree(protocol.Counted(ctx, count), t.path)
		}})
	}
	meta := snapshotMeta(r, note, o)
	meta.Seer = s.engine.opts.Version
	if o.Live {
		return store.Save(ctx, meta, sources)
	}
	frozen, err := s.runtime.Freeze(ctx)
	if err != nil {
		return snapshot.Snapshot{}, fmt.Errorf("stop the sandbox while it is saved: %w", err)
	}
	for _, p := range frozen.NotFrozen {
		report.warn(StageSnapshot, "the process %d (%s) goes on: %s", p.Pid, p.Name, p.Why)
	}
	saved, err := store.Save(ctx, meta, sources)
	thawed := frozen.Thaw(context.WithoutCancel(ctx))
	if err == nil && protocol.CodeOf(thawed) == protocol.Conflict {
		err = errors.Join(fmt.Errorf("saving took longer than the %s that a sandbox may stand still; save it when less has changed, or with --live", protocol.FreezeLimit), store.Remove(ctx, saved.Name))
	}
	return saved, err
}

// snapshotMeta says what was saved and what is needed to start it again.
func snapshotMeta(r machine.Record, note sessionNote, o SaveOptions) snapshot.Meta {
	m := snapshot.Meta{
		Name: o.Name, Kind: snapshot.FileSystem, Sandbox: r.ID, Provider: r.Provider, Isolation: r.Isolation, Description: o.Description,
		Labels: map[string]string{},
	}
	if len(note.Config) > 0 {
		sum := sha256.Sum256(note.Config)
		m.Experiment = "sha256:" + hex.EncodeToString(sum[:])
	}
	if note.Mode != "" {
		m.Labels["execution_mode"] = note.Mode
	}
	if note.Layer != "" {
		m.Layers = []string{note.Layer}
	}
	return m
}

// renewed are files of a home that belong to one sandbox only: keys, and what programs
// note of themselves. They are not saved; what other versions of Seer have saved of them is
// not restored.
var renewed = [...]string{"~/.seer/notebook", "~/.seer/interpreter", "~/.local/share/jupyter/runtime", "~/.config/code-server/config.yaml", "~/.seer/code-server", "~/.local/share/code-server/heartbeat"}

// renewedBelow are those of them in a folder, as paths relative to it.
func renewedBelow(folder string) (paths []string) {
	for _, file := range renewed {
		if below, ok := strings.CutPrefix(file, folder); ok {
			paths = append(paths, below)
		}
	}
	return paths
}

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
		u.report.warn(StageSnapshot, "%s was saved with other python_packages or repos than this experiment has; what was installed by hand in it may not fit", saved.Name)
	}
	kept, err := environment.Keep(ctx, s.runtime)
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
		u.report.warn(StageSnapshot, "%s has packages that were installed for Python %s, which this sandbox does not use; install them again, or set sandbox.python_version", saved.Name, version)
	}
	for _, file := range renewed {
		if err := s.runtime.Remove(ctx, file, true); err != nil && protocol.CodeOf(err) != protocol.NotFound {
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
	p, err := s.runtime.Run(ctx, protocol.ProcessSpec{Shell: "find . -mindepth 1 -maxdepth 1 -exec rm -rf -- {} +", Cwd: workspace.Folder}, nil, nil, nil)
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
		u.report.info(StageSnapshot, "restoring the %s: %s", name, bytesText(t.Bytes))
		r, err := store.Restore(ctx, saved.ID, name)
		if err != nil {
			return err
		}
		counted, end := u.report.counted(ctx, StageSnapshot, t.Bytes)
		err = s.runtime.RestoreTree(counted, dir, r)
		end()
		return errors.Join(err, r.Close())
	}
	return nil
}

// layerKey names what the sandbox is shown of packages and repositories.
func (u *up) layerKey() string {
	if u.layer == nil {
		return ""
	}
	return u.layer.key
}

// checkSnapshot finds the snapshot before anything is rented.
func (u *up) checkSnapshot(ctx context.Context) error {
	if u.opts.Snapshot == "" {
		return nil
	}
	store, err := u.engine.Snapshots()
	if err != nil {
		return err
	}
	saved, err := store.Get(ctx, u.opts.Snapshot)
	if err != nil {
		return as(KindNotFound, err)
	}
	if saved.Damaged != "" {
		return &Error{KindConfig, fmt.Errorf("the snapshot %s cannot be used: %s", u.opts.Snapshot, saved.Damaged)}
	}
	return nil
}
