package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/plan"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/internal/text"
	"github.com/seer-engine/seer/sdk"
)

// systemsDir is where the cache notes which saved system has what.
const systemsDir = "systems"

// savedSystem is what is noted of one.
type savedSystem struct {
	Snapshot string `json:"snapshot"` // the provider's name of it
}

// furnishHere makes what the machines of this computer start from, in the order in which
// each needs the other: the system with its packages, the layer, the commands.
func (u *up) furnishHere(ctx context.Context) error {
	for _, c := range u.plan.Choices {
		if !c.HostMounts || c.BuildsImage {
			continue
		}
		return u.furnishChoice(ctx, c)
	}
	return nil
}

func (u *up) furnishChoice(ctx context.Context, c plan.Choice) error {
	image, rest := u.plan.ImageOf(c)
	from := sdk.Image{}
	if image != nil {
		from = *image
		if err := u.engine.systemUsed(from.Snapshot); err != nil {
			return err
		}
	}
	if len(rest.SystemPackages) > 0 {
		want := from
		want.SystemPackages = rest.SystemPackages
		saved, err := u.ensureSystem(ctx, c, want, "")
		if err != nil {
			return err
		}
		u.system, from = saved, sdk.Image{Snapshot: saved}
	}
	if err := u.ensureLayers(ctx); err != nil {
		return err
	}
	if len(rest.Commands) == 0 {
		return nil
	}
	want, layer := from, ""
	want.Commands = rest.Commands
	if u.layer != nil {
		layer = u.layer.key
	}
	var err error
	u.system, err = u.ensureSystem(ctx, c, want, layer)
	return err
}

// ensureSystem gives the saved system that an image describes, and makes it where it has
// not been made yet.
func (u *up) ensureSystem(ctx context.Context, c plan.Choice, want sdk.Image, layer string) (string, error) {
	data, err := json.Marshal([]any{"2", u.engine.store.StateDir(), c.Provider, want, layer, u.settings.Identity})
	if err != nil {
		return "", err
	}
	dir, err := u.engine.store.Cache(systemsDir)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	u.systemNote = filepath.Join(dir, hex.EncodeToString(sum[:])+".json")
	if saved, err := readSystem(u.systemNote); saved != "" || err != nil {
		now := u.engine.now()
		err = errors.Join(err, os.Chtimes(u.systemNote, now, now)) // so that nobody prunes it
		if !errors.Is(err, fs.ErrNotExist) {                       // else somebody just has
			return saved, err
		}
	}
	lock, held, err := state.TryAcquire(u.systemNote + ".lock")
	if held {
		u.report.Info(StageBoot, "another start is building the same system; waiting for it")
		lock, err = state.Acquire(ctx, u.systemNote+".lock")
	}
	if err != nil {
		return "", err
	}
	defer lock.Remove()
	if saved, err := readSystem(u.systemNote); saved != "" || err != nil {
		return saved, err
	}
	u.report.Info(StageBoot, "building the system with %s; it is kept, and the next start has it", systemText(want))
	var saved string
	err = u.inBuildMachine(ctx, c, func(b *up) { b.purpose, b.building, b.making = "the system with "+systemText(want), systemsDir, &want }, func(ctx context.Context, r machine.Record) (err error) {
		saved, err = u.engine.driver.Snapshot(ctx, r, func(ev machine.Event) { u.report.Log(StageBoot, ev.Text) })
		return err
	})
	if err != nil {
		return "", err
	}
	if data, err = json.Marshal(savedSystem{saved}); err != nil {
		return "", err
	}
	return saved, state.WriteFile(u.systemNote, data, 0o600)
}

// systemUsed notes of a saved system that an experiment names that it is used, where starts
// have made it.
func (e *Engine) systemUsed(saved string) error {
	if !strings.HasPrefix(saved, localSaved) {
		return nil
	}
	dir, err := e.store.Cache(systemsDir)
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	now := e.now()
	for _, entry := range entries {
		note := filepath.Join(dir, entry.Name())
		if !strings.HasSuffix(note, ".json") {
			continue
		}
		if ref, _ := readSystem(note); ref != saved { // one that cannot be read is not pruned
			continue
		}
		if e := os.Chtimes(note, now, now); !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	return err
}

func systemText(i sdk.Image) string {
	if len(i.Commands) > 0 {
		return text.Plural(len(i.Commands), "command")
	}
	return text.Plural(len(i.SystemPackages), "package")
}

func readSystem(note string) (string, error) {
	data, err := os.ReadFile(note)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	var s savedSystem
	if err == nil && json.Unmarshal(data, &s) != nil {
		return "", nil // damaged: it is made again
	}
	return s.Snapshot, err
}

// startsFrom is the image of a machine of this computer: what has been made for it.
func (u *up) startsFrom(planned *sdk.Image) *sdk.Image {
	switch {
	case u.making != nil:
		return u.making
	case u.system != "":
		return &sdk.Image{Snapshot: u.system}
	}
	return planned
}

// forgetSystem drops the note of a saved system that somebody has deleted, so that the
// next start makes it anew.
func (u *up) forgetSystem(err error) error {
	if u.system == "" || sdk.CodeOf(err) != sdk.NotFound {
		return err
	}
	_ = os.Remove(u.systemNote)
	return fmt.Errorf("%w; start again to build it anew", err)
}
