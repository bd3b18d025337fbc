package checkpoint

import (
	"context"
	"sync"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
)

// freezePatience is how long requests that change files may take to end.
const freezePatience = 10 * time.Second

// freezer keeps what changes files apart from a frozen machine.
type freezer struct {
	mu       sync.Mutex
	id       string        // of the last freeze
	writers  int           // requests under way that change files
	changed  chan struct{} // closed when there are no writers any more
	thawed   chan struct{} // closed when the machine goes on; nil while it is not frozen
	released chan struct{} // closed when all of it goes on; nil while nobody freezes
}

// write enters a request that changes files. It waits while the machine is frozen.
func (f *freezer) write(ctx context.Context) (leave func(), err error) {
	for {
		f.mu.Lock()
		thawed := f.thawed
		if thawed == nil {
			f.writers++
			f.mu.Unlock()
			return f.leave, nil
		}
		f.mu.Unlock()
		select {
		case <-thawed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (f *freezer) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.writers--
	if f.writers == 0 && f.changed != nil {
		close(f.changed)
		f.changed = nil
	}
}

// begin lets no more requests change files, and waits for those under way. A machine that
// is going on just now does so first.
func (f *freezer) begin(ctx context.Context) (thawed <-chan struct{}, err error) {
	patience := time.NewTimer(freezePatience)
	defer patience.Stop()
	another := protocol.Errorf(protocol.Conflict, "another snapshot of it is being made; try again when that has ended")
	f.mu.Lock()
	for f.released != nil {
		frozen, released := f.thawed != nil, f.released
		f.mu.Unlock()
		if frozen {
			return nil, another
		}
		select {
		case <-released:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-patience.C:
			return nil, another
		}
		f.mu.Lock()
	}
	f.id, f.thawed, f.released = protocol.NewID("f"), make(chan struct{}), make(chan struct{})
	thawed = f.thawed
	if f.writers == 0 {
		f.mu.Unlock()
		return thawed, nil
	}
	f.changed = make(chan struct{})
	changed := f.changed
	f.mu.Unlock()
	select {
	case <-changed:
		return thawed, nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-patience.C:
		err = protocol.Errorf(protocol.Conflict, "the machine cannot be frozen: files have been written through the runtime for more than %v; try again when that has ended", freezePatience)
	}
	f.end()
	f.release()
	return nil, err
}

// release is for who has begun: everything goes on.
func (f *freezer) release() {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.released)
	f.released = nil
}

// end lets requests change files again; false if they may.
func (f *freezer) end() bool { return f.endOf("") }

// endOf ends the freeze with this ID; "" ends any. A later freeze by another client continues.
func (f *freezer) endOf(id string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.thawed == nil || id != "" && id != f.id {
		return false
	}
	close(f.thawed)
	f.thawed, f.changed = nil, nil
	return true
}

func (f *freezer) lastID() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.id
}

func (f *freezer) frozen() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.thawed != nil
}
