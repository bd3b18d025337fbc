// Package files saves the working folder and the home of a running sandbox as a snapshot,
// and restores them into another one.
package files

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strings"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/remedy"
	"github.com/seer-engine/seer/engine/session"
	"github.com/seer-engine/seer/engine/snapshot"
)

// trees are the folders of a sandbox that a snapshot has: name in the store → path.
var trees = [...]struct{ name, path string }{{"workspace", "/workspace"}, {"home", "~/"}}

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

// Meta says what was saved and what is needed to start it again.
func Meta(r machine.Record, state session.State, name, description string) snapshot.Meta {
	m := snapshot.Meta{
		Name: name, Kind: snapshot.FileSystem, Sandbox: r.ID, Provider: r.Provider, Isolation: r.Isolation, Description: description,
		Labels: map[string]string{},
	}
	if len(state.Config) > 0 {
		sum := sha256.Sum256(state.Config)
		m.Experiment = "sha256:" + hex.EncodeToString(sum[:])
	}
	if state.Mode != "" {
		m.Labels["execution_mode"] = state.Mode
	}
	if state.Network != "" {
		m.Labels[labelNetwork] = state.Network
	}
	if state.Layer != "" {
		m.Layers = []string{state.Layer}
	}
	return m
}

// Save keeps the files of a sandbox in a store. Its processes stand still meanwhile, for at
// most [protocol.FreezeLimit]; what takes longer is not saved. With live they go on, and
// files that are written meanwhile may be saved in the middle.
func Save(ctx context.Context, store *snapshot.Store, sandbox *client.Client, meta snapshot.Meta, live bool, report event.Reporter) (snapshot.Snapshot, error) {
	var sources []snapshot.Source
	count, end := report.Counter(event.StageSnapshot, 0)
	defer end()
	for _, t := range trees {
		sources = append(sources, snapshot.Source{Name: t.name, Skip: renewedBelow(t.path), Open: func(ctx context.Context) (io.ReadCloser, error) {
			return sandbox.Files().ReadTree(client.Counted(ctx, count), t.path)
		}})
	}
	if live {
		return store.Save(ctx, meta, sources)
	}
	frozen, err := sandbox.Freeze(ctx)
	if err != nil {
		return snapshot.Snapshot{}, NotStopped(err)
	}
	for _, p := range frozen.NotFrozen {
		report.Send(event.ProcessNotStopped{PID: p.Pid, Name: p.Name, Reason: p.Why})
	}
	thawed := false
	defer func() {
		if !thawed { // the save has failed before
			_ = frozen.Thaw(context.WithoutCancel(ctx))
		}
	}()
	return store.SaveIf(ctx, meta, sources, func() error {
		thawed = true
		return notStill(frozen.Thaw(context.WithoutCancel(ctx)))
	})
}

// notStill says why the files of a sandbox are not kept: its thaw told that it had gone on
// meanwhile, or did not tell that it had stood still.
func notStill(thaw error) error {
	if protocol.CodeOf(thaw) == protocol.Conflict {
		return remedy.For(fmt.Errorf("saving took longer than the %s that a sandbox may stand still; save it when less has changed, or while it runs", protocol.FreezeLimit),
			remedy.Remedy{Action: remedy.SaveLive})
	}
	if thaw != nil {
		return fmt.Errorf("nothing is saved: the sandbox does not say whether it stood still meanwhile: %w; save it again", thaw)
	}
	return nil
}

// NotStopped says of a sandbox that stands still already why it cannot be stopped. Other
// errors are left as they are.
func NotStopped(err error) error {
	if protocol.CodeOf(err) == protocol.Conflict {
		err = fmt.Errorf("the sandbox cannot be stopped to be saved: %w", err)
	}
	return err
}
