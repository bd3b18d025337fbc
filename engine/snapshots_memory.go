package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/machine/local"
	"github.com/seer-engine/seer/engine/progress"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/session"
	"github.com/seer-engine/seer/engine/snapshot"
	"github.com/seer-engine/seer/engine/snapshot/files"
	"github.com/seer-engine/seer/engine/state"
)

const (
	memoryDir    = "memory" // below that of the local provider: saved processes on their way
	sandboxNote  = "sandbox.json"
	memoryPrefix = "memory/"
)

// savedSandbox is what the ledger knew of a sandbox whose processes were saved, without
// its keys.
type savedSandbox struct {
	Version int            `json:"version"`
	Record  machine.Record `json:"record"`
	Session session.State  `json:"session"` // its secrets open nothing but what was saved, and are replaced
}

// memoryWork makes a folder for saved processes. What a killed program leaves of it is
// removed by the next.
func (e *Engine) memoryWork(ctx context.Context) (dir string, done func(), err error) {
	if err := e.sweepMemory(); err != nil {
		return "", nil, err
	}
	base, err := e.store.Dir(localName, memoryDir)
	if err != nil {
		return "", nil, err
	}
	dir, err = os.MkdirTemp(base, "m")
	if err != nil {
		return "", nil, err
	}
	lock, err := state.Acquire(ctx, dir+".lock")
	if err != nil {
		return "", nil, errors.Join(err, os.Remove(dir))
	}
	return dir, func() {
		_ = os.RemoveAll(dir)
		lock.Remove()
	}, nil
}

// sweepMemory removes what killed programs have left of saved processes.
func (e *Engine) sweepMemory() error {
	parent, err := e.store.Dir(localName)
	if err != nil {
		return err
	}
	base := filepath.Join(parent, memoryDir)
	entries, err := os.ReadDir(base)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		dir := filepath.Join(base, entry.Name())
		lock, held, err := state.TryAcquire(dir + ".lock")
		if err != nil || held {
			continue // somebody works in it
		}
		err = os.RemoveAll(dir)
		lock.Remove()
		if err != nil {
			return err
		}
	}
	_ = os.Remove(base) // where nobody has anything in it
	return nil
}

// localMemory is the provider of this computer as far as it saves processes.
func (e *Engine) localMemory(provider string) (local.Memory, error) {
	if provider == localName && !e.plugins.LocalReplaced() {
		p, err := e.local()
		if err != nil {
			return nil, err
		}
		if m, ok := p.(local.Memory); ok {
			return m, nil
		}
	}
	return nil, &Error{Kind: KindUnsupported, Err: fmt.Errorf("the provider %s cannot save processes; only this computer's can, in isolation gvisor", provider)}
}

// saveMemory fills dir with the sandbox's processes and files, and what the ledger knows.
// The sandbox stands still meanwhile and then goes on.
func (s *Sandbox) saveMemory(ctx context.Context, dir string, report progress.Reporter) (err error) {
	r, note, err := s.session().State()
	if err != nil {
		return err
	}
	m, err := s.engine.localMemory(r.Provider)
	if err != nil {
		return err
	}
	if note.CodeServer != nil { // it has sockets that lead out
		report.Info(StageSnapshot, "VS Code is started again meanwhile")
		if err := s.runtime.Processes().Delete(ctx, codeServerProcess); err != nil && protocol.CodeOf(err) != protocol.NotFound {
			return err
		}
		defer func() {
			err = errors.Join(err, s.session().RestartCodeServer(context.WithoutCancel(ctx), *note.CodeServer, s.engine.findCodeServer))
		}()
	}
	if err := m.SaveMemory(ctx, r.Handle, dir, s.park, s.thaw); err != nil {
		return err
	}
	saved := savedSandbox{Version: 1, Record: r, Session: note}
	saved.Record.AdminToken, saved.Record.Extra, saved.Record.Endpoints, saved.Record.Attempts = "", nil, nil, nil
	saved.Record.Services = slices.Clone(r.Services)
	for i := range saved.Record.Services {
		saved.Record.Services[i].Token = ""
	}
	data, err := json.Marshal(saved)
	if err != nil {
		return err
	}
	return state.WriteFile(filepath.Join(dir, sandboxNote), data, 0o600)
}

// park has the sandbox stand still until [Sandbox.thaw], or until this program is gone.
func (s *Sandbox) park(ctx context.Context, id, key string) error {
	_, err := s.runtime.Park(ctx, protocol.ParkRequest{ID: id, Key: key, AskerSeconds: protocol.AskerLimit.Seconds()})
	if code := protocol.CodeOf(err); code != "" && code != protocol.Unavailable {
		return &local.Refused{Why: files.NotStopped(err)}
	}
	return err
}

func (s *Sandbox) thaw(ctx context.Context) error {
	err := s.runtime.Thaw(ctx)
	if protocol.CodeOf(err) == protocol.Conflict {
		err = fmt.Errorf("saving took longer than the %s that a sandbox may stand still, or this computer had no time for it: %w", protocol.ParkLimit, err)
	}
	return err
}

const codeServerProcess = "code-server"

// saveProcesses is [Sandbox.save] with the processes.
func (s *Sandbox) saveProcesses(ctx context.Context, store *snapshot.Store, o SaveOptions, report progress.Reporter) (snapshot.Snapshot, error) {
	if o.Live {
		return snapshot.Snapshot{}, &Error{Kind: KindConfig, Err: errors.New("processes are saved while they stand still; leave out --live, or --memory")}
	}
	if err := s.forkable(ctx); err != nil {
		return snapshot.Snapshot{}, err
	}
	dir, done, err := s.engine.memoryWork(ctx)
	if err != nil {
		return snapshot.Snapshot{}, err
	}
	defer done()
	if err := s.saveMemory(ctx, dir, report); err != nil {
		return snapshot.Snapshot{}, err
	}
	r, note, err := s.session().State()
	if err != nil {
		return snapshot.Snapshot{}, err
	}
	meta := files.Meta(r, note, o.Name, o.Description)
	meta.Kind, meta.Seer = snapshot.Memory, s.engine.opts.Version
	sources, err := memorySources(dir)
	if err != nil {
		return snapshot.Snapshot{}, err
	}
	report.Info(StageSnapshot, "the sandbox goes on; storing what was saved")
	return store.Save(ctx, meta, sources)
}
