package checkpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/seer-engine/seer/engine/codeserver"
	"github.com/seer-engine/seer/engine/errdefs"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/machine/local"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/session"
	"github.com/seer-engine/seer/engine/snapshot"
	"github.com/seer-engine/seer/engine/snapshot/files"
	"github.com/seer-engine/seer/engine/state"
)

// note is the file of saved processes that has what the ledger knew.
const note = "sandbox.json"

// Save stores the processes of a sandbox with its files. The sandbox stands still while
// they are read, and then goes on.
func (c Checkpointer) Save(ctx context.Context, s session.Session, store *snapshot.Store, meta snapshot.Meta, report event.Reporter) (snapshot.Snapshot, error) {
	if err := c.CheckSavable(ctx, s); err != nil {
		return snapshot.Snapshot{}, err
	}
	dir, done, err := c.workFolder(ctx)
	if err != nil {
		return snapshot.Snapshot{}, err
	}
	defer done()
	if err := c.save(ctx, s, dir, 0, report); err != nil {
		return snapshot.Snapshot{}, err
	}
	sources, err := memorySources(dir)
	if err != nil {
		return snapshot.Snapshot{}, err
	}
	meta.Kind = snapshot.Memory
	report.Send(event.ProcessesStoring{})
	return store.Save(ctx, meta, sources)
}

// save fills dir with the sandbox's processes and files, and what the ledger knows. So many
// copies are to share its GPUs.
func (c Checkpointer) save(ctx context.Context, s session.Session, dir string, copies int, report event.Reporter) (err error) {
	r, session, err := s.State()
	if err != nil {
		return err
	}
	m, err := c.memory(r.Provider)
	if err != nil {
		return err
	}
	if session.CodeServer != nil { // it has sockets that lead out
		report.Send(event.CodeServerRestarting{})
		if err := s.Client.Processes().Delete(ctx, codeserver.ProcessID); err != nil && protocol.CodeOf(err) != protocol.NotFound {
			return err
		}
		defer func() {
			err = errors.Join(err, s.RestartCodeServer(context.WithoutCancel(ctx), *session.CodeServer, c.FindCodeServer))
		}()
	}
	if err := m.SaveMemory(ctx, r.Handle, dir, copies, parker{s}.park, parker{s}.thaw); err != nil {
		return err
	}
	data, err := json.Marshal(saved{Version: 1, Record: withoutKeys(r), Session: session})
	if err != nil {
		return err
	}
	return state.WriteFile(filepath.Join(dir, note), data, 0o600)
}

// withoutKeys is what of a record may be kept with the processes.
func withoutKeys(r machine.Record) machine.Record {
	r.AdminToken, r.Extra, r.Endpoints, r.Attempts = "", nil, nil, nil
	r.Services = slices.Clone(r.Services)
	for i := range r.Services {
		r.Services[i].Token = ""
	}
	return r
}

// parker has a sandbox stand still.
type parker struct{ s session.Session }

// park has the sandbox stand still until thaw, or until this program is gone.
func (p parker) park(ctx context.Context, id, key string) error {
	_, err := p.s.Client.Park(ctx, protocol.ParkRequest{ID: id, Key: key, AskerSeconds: protocol.AskerLimit.Seconds()})
	if code := protocol.CodeOf(err); code != "" && code != protocol.Unavailable {
		return &local.Refused{Why: files.NotStopped(err)}
	}
	return err
}

func (p parker) thaw(ctx context.Context) error {
	err := p.s.Client.Thaw(ctx)
	if protocol.CodeOf(err) == protocol.Conflict {
		err = fmt.Errorf("saving took longer than the %s that a sandbox may stand still, or this computer had no time for it: %w", protocol.AskedParkLimit, err)
	}
	return err
}

// checkLive refuses to save processes that do not stand still.
func checkLive(live bool) error {
	if !live {
		return nil
	}
	return &errdefs.Error{Kind: errdefs.KindConfig, Err: errors.New("processes are saved while they stand still; save it without them, or not while it runs")}
}
