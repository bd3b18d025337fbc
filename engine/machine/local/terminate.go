package local

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/machine/local/watchdog"
	"github.com/seer-engine/seer/engine/remedy"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/sdk"
)

const poll = 5 * time.Millisecond

// Terminate asks the machine to end, kills what does not, and deletes its
// folders.
func (p *provider) Terminate(ctx context.Context, handle string) error {
	if !validHandle(handle) {
		return nil
	}
	f := p.folder(handle)
	if _, err := os.Lstat(f.note); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	lock, err := p.lock(ctx, handle)
	if err != nil {
		return err
	}
	defer lock.Remove()
	return endMachine(ctx, p, handle, f)
}

// endMachine ends the machine of a folder and deletes it. The caller holds the machine's lock.
func endMachine(ctx context.Context, p *provider, handle string, f folder) error {
	n, err := f.read()
	if err != nil {
		return err
	}
	if n != nil {
		if err := n.elsewhere(); err != nil {
			return err
		}
		before, _ := f.processesOf(n).Processes() // kill reports the error
		held := p.holdUntilFree(n)
		if err := p.kill(ctx, f, n); err != nil {
			for _, c := range held {
				c.Release()
			}
			return err
		}
		p.awaitFree(ctx, n, before, held)
		if err := n.lift(); err != nil {
			return err
		}
	}
	p.Logger.Debug("machine ended", "handle", handle)
	return errors.Join(f.remove(), state.Sweep(p.Dir))
}

// kill ends every process of the machine.
func (p *provider) kill(ctx context.Context, f folder, n *note) error {
	// Taken now: once its parent is gone, a process without the cookie is nobody's.
	m := f.processesOf(n)
	known, err := m.Processes()
	if err != nil {
		return sdk.Errorf(sdk.Internal, "end the machine's processes: %v", err)
	}
	// Who does not answer yet has nothing to save, and may not even hear the signal.
	if first, ok := f.first(n); ok && answers(f.socket()) {
		if err := signalTo(first, syscall.SIGTERM); err != nil {
			return sdk.Errorf(sdk.Unauthorized, "end the machine's process %d: %v", first.PID, err)
		}
		until(ctx, p.Grace, func() bool { return !alive(first) })
	}
	var failure error
	limited, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	gone, failure := m.Kill(limited, known)
	switch {
	case gone:
		return nil
	case failure != nil:
		return sdk.Errorf(sdk.Internal, "end the machine's processes: %v", failure)
	}
	return remedy.For(sdk.Errorf(sdk.Unavailable, "the machine's processes did not end when killed; collect garbage to try again"),
		remedy.Remedy{Action: remedy.CollectGarbage})
}

// first is the process that can end the machine in an orderly way.
func (f folder) first(n *note) (process, bool) {
	if n.Isolation == isolation.None {
		return n.Outer, alive(n.Outer)
	}
	inner, ok := f.inner(n.Key)
	return inner, ok && alive(inner)
}

// until waits for a condition and reports whether it came true.
func until(ctx context.Context, limit time.Duration, done func() bool) bool {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	for {
		if done() {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-deadline.C:
			return done()
		case <-time.After(poll):
		}
	}
}

// Sweep removes what killed writers left in the folder of this provider, where no machine
// was ended since, and the short names of machines whose folders somebody has deleted.
func Sweep(dir, runtimeDir string) error {
	return errors.Join(state.Sweep(dir), state.SweepLinks(runtimeDir),
		state.SweepLocks(filepath.Join(dir, "locks"), func(handle string) bool {
			if strings.HasPrefix(handle, watchdog.LockName) { // a watchdog that starts now would see another one
				return true
			}
			_, note := os.Lstat(filepath.Join(dir, handle+".json"))
			_, folder := os.Lstat(filepath.Join(dir, handle))
			return note == nil || folder == nil
		}))
}
