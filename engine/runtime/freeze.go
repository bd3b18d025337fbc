package runtime

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
)

const (
	freezePatience = 10 * time.Second // for requests that change files
	stopPatience   = 5 * time.Second  // for processes that are in the kernel
)

// freezer keeps what changes files apart from a frozen machine.
type freezer struct {
	mu      sync.Mutex
	writers int           // requests under way that change files
	changed chan struct{} // closed when there are no writers any more
	thawed  chan struct{} // closed when the machine goes on; nil while it is not frozen
	owned   bool          // somebody freezes, or has not thawed everything yet
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

// begin lets no more requests change files, and waits for those under way.
func (f *freezer) begin(ctx context.Context) (thawed <-chan struct{}, err error) {
	f.mu.Lock()
	if f.owned {
		f.mu.Unlock()
		return nil, protocol.Errorf(protocol.Conflict, "the machine is frozen already")
	}
	f.thawed, f.owned = make(chan struct{}), true
	thawed = f.thawed
	if f.writers == 0 {
		f.mu.Unlock()
		return thawed, nil
	}
	f.changed = make(chan struct{})
	changed := f.changed
	f.mu.Unlock()
	patience := time.NewTimer(freezePatience)
	defer patience.Stop()
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
	f.owned = false
}

// end lets requests change files again; false if they may.
func (f *freezer) end() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.thawed == nil {
		return false
	}
	close(f.thawed)
	f.thawed, f.changed = nil, nil
	return true
}

func (f *freezer) is() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.thawed != nil
}

// changing has a request that changes files wait while the machine is frozen.
func (s *Server) changing(h handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		leave, err := s.freezer.write(r.Context())
		if err != nil {
			return err
		}
		defer leave()
		return h(w, r)
	}
}

// postFreeze has the machine stand still as long as the request lasts, at most a minute.
func (s *Server) postFreeze(w http.ResponseWriter, r *http.Request) error {
	thawed, err := s.freezer.begin(r.Context())
	if err != nil {
		return err
	}
	s.persist() // a runtime that comes after this one has to know
	stopped, answer, err := s.stopAll()
	defer func() {
		s.freezer.end()
		continueInOrder(stopped)
		s.freezer.release()
		s.persist()
	}()
	if err != nil {
		return err
	}
	s.syncDisks()
	w.Header().Set("Content-Type", "application/jsonl")
	if json.NewEncoder(w).Encode(answer) != nil || http.NewResponseController(w).Flush() != nil {
		return nil // the client is gone
	}
	limit := time.NewTimer(protocol.FreezeLimit)
	defer limit.Stop()
	select {
	case <-thawed:
	case <-limit.C:
		s.options.Logger.Warn("the machine was frozen for too long and goes on")
	case <-r.Context().Done():
	case <-s.over:
	}
	return nil
}

func (s *Server) postThaw(w http.ResponseWriter, _ *http.Request) error {
	if !s.freezer.end() {
		return protocol.Errorf(protocol.Conflict, "the machine is not frozen (any more)")
	}
	return writeJSON(w, http.StatusOK, struct{}{})
}

// stopAll stops every process of the machine but those that keep it. A process stops
// before what it has started, so that none sees another one stop.
func (s *Server) stopAll() (stopped []int, answer protocol.Frozen, err error) {
	tried := map[int]bool{}
	refused := map[int]error{}
	answer.NotFrozen = []protocol.Unfrozen{}
	for deadline := time.Now().Add(stopPatience); ; time.Sleep(time.Millisecond) {
		t, err := processTable()
		if err != nil {
			return stopped, answer, err
		}
		moving := 0
		fresh := false
		for _, pid := range t.fromTheTop(t.tree(s.topPid(), s.cookie())) {
			if t[pid].stopped {
				continue // by us or, before, by others
			}
			moving++
			if tried[pid] {
				continue
			}
			tried[pid], fresh = true, true
			if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
				refused[pid] = err
				continue
			}
			stopped = append(stopped, pid)
		}
		if fresh || moving > len(refused) && time.Now().Before(deadline) {
			continue
		}
		answer.NotFrozen = append(answer.NotFrozen, s.unfrozen(t, refused)...)
		for _, pid := range stopped {
			if t[pid].stopped {
				answer.Frozen++
			}
		}
		return stopped, answer, nil
	}
}

func (s *Server) unfrozen(t table, refused map[int]error) []protocol.Unfrozen {
	var list []protocol.Unfrozen
	for _, pid := range t.tree(s.topPid(), s.cookie()) {
		if t[pid].stopped {
			continue
		}
		why := fmt.Sprintf("it waits in the kernel for longer than %v", stopPatience)
		if err := refused[pid]; err != nil {
			why = err.Error()
		}
		list = append(list, protocol.Unfrozen{Pid: pid, Name: commandName(pid), Why: why})
	}
	slices.SortFunc(list, func(a, b protocol.Unfrozen) int { return cmp.Compare(a.Pid, b.Pid) })
	return list
}

// fromTheTop sorts processes so that none comes before its parent.
func (t table) fromTheTop(pids []int) []int {
	depth := func(pid int) (n int) {
		for ; n <= len(t); n++ {
			e, ok := t[pid]
			if !ok {
				break
			}
			pid = e.parent
		}
		return n
	}
	depths := map[int]int{}
	for _, pid := range pids {
		depths[pid] = depth(pid)
	}
	slices.SortFunc(pids, func(a, b int) int { return cmp.Or(cmp.Compare(depths[a], depths[b]), cmp.Compare(a, b)) })
	return pids
}

// continueInOrder has processes go on, what they have started first.
func continueInOrder(stopped []int) {
	for _, pid := range slices.Backward(stopped) {
		_ = syscall.Kill(pid, syscall.SIGCONT) // it may have been killed meanwhile
	}
}

// continueAll has everything go on that an earlier runtime has stopped.
func (s *Server) continueAll() {
	t, err := processTable()
	if err != nil {
		s.options.Logger.Error("the machine was frozen and cannot be thawed", "error", err)
		return
	}
	continueInOrder(t.fromTheTop(t.tree(s.topPid(), s.cookie())))
}

// syncDisks writes what is only in memory to the disks of the machine.
func (s *Server) syncDisks() {
	for _, path := range []string{"/", "/workspace", "/tmp", s.home()} {
		if f, err := os.Open(s.real(path)); err == nil {
			_ = syncDisk(f) // where it fails, what is written still can be read
			f.Close()
		}
	}
}
