package checkpoint

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/runtime/internal/httpx"
	"github.com/seer-engine/seer/engine/runtime/internal/proc"
	"github.com/seer-engine/seer/internal/osfile"
)

// stopPatience is how long a process that is in the kernel may take to stop.
const stopPatience = 5 * time.Second

// stillLooks is in how many looks nothing may move: one process may continue another between
// two of them.
const stillLooks = 3

// PostFreeze has the machine stand still as long as the request lasts, at most a minute.
func (c *Handler) PostFreeze(w http.ResponseWriter, r *http.Request) error {
	thawed, err := c.freezer.begin(r.Context())
	if err != nil {
		return err
	}
	c.back.Store(nil)
	c.deps.Persist() // a runtime that comes after this one has to know
	stopped, answer, err := c.stopAll()
	defer func() {
		c.freezer.end()
		proc.Continue(stopped)
		c.freezer.release()
		c.deps.Persist()
	}()
	if err != nil {
		return err
	}
	c.syncDisks()
	answer.ID = c.freezer.lastID() // nobody else begins before the release
	w.Header().Set("Content-Type", "application/jsonl")
	if json.NewEncoder(w).Encode(answer) != nil || http.NewResponseController(w).Flush() != nil {
		return nil // the client is gone
	}
	limit := time.NewTimer(protocol.FreezeLimit)
	defer limit.Stop()
	select {
	case <-thawed:
	case <-limit.C:
		c.deps.Log.Warn("the machine was frozen for too long and continues")
	case <-r.Context().Done():
	case <-c.deps.Over:
	}
	return nil
}

// PostThaw has a frozen machine go on. Where processes were taken off GPUs, it waits until
// they are back; a copy goes on by itself, and it only waits.
func (c *Handler) PostThaw(w http.ResponseWriter, r *http.Request) error {
	id := r.URL.Query().Get("id") // older clients name none
	ended, back := c.freezer.endOf(id), c.back.Load()
	if !ended && (id != "" || back == nil || !back.copy.Load()) {
		return protocol.Errorf(protocol.Conflict, "the machine is not frozen (any more)")
	}
	if back != nil {
		if err := back.wait(r.Context()); err != nil {
			return err
		}
	}
	return httpx.WriteDone(w)
}

// stopAll stops every process of the machine but those that keep it. A process stops
// before what it has started, so that none sees another one stop.
func (c *Handler) stopAll() (stopped []int, answer protocol.Frozen, err error) {
	tried := map[int]bool{}
	refused := map[int]error{}
	answer.NotFrozen = []protocol.Unfrozen{}
	still := 0 // looks after another in which nothing moved
	for deadline := time.Now().Add(stopPatience); ; time.Sleep(time.Millisecond) {
		t, err := proc.Read()
		if err != nil {
			return stopped, answer, err
		}
		moving := 0
		for _, pid := range t.TopDown(t.Tree(c.deps.Env.TopPID(), c.deps.Env.Cookie())) {
			if t[pid].Stopped {
				continue // by us or, before, by others
			}
			moving++
			if refused[pid] != nil {
				continue
			}
			if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil { // again, if another one has continued it
				refused[pid] = err
			} else if !tried[pid] {
				tried[pid] = true
				stopped = append(stopped, pid)
			}
		}
		if still++; moving > len(refused) {
			still = 0
		}
		if still < stillLooks && time.Now().Before(deadline) {
			continue
		}
		answer.NotFrozen = append(answer.NotFrozen, c.unfrozen(t, refused)...)
		for _, pid := range stopped {
			if t[pid].Stopped {
				answer.Frozen++
			}
		}
		return stopped, answer, nil
	}
}

func (c *Handler) unfrozen(t proc.Table, refused map[int]error) []protocol.Unfrozen {
	var list []protocol.Unfrozen
	for _, pid := range t.Tree(c.deps.Env.TopPID(), c.deps.Env.Cookie()) {
		if t[pid].Stopped {
			continue
		}
		why := fmt.Sprintf("it waits in the kernel for longer than %v", stopPatience)
		if err := refused[pid]; err != nil {
			why = err.Error()
		}
		list = append(list, protocol.Unfrozen{Pid: pid, Name: proc.CommandName(pid), Why: why})
	}
	slices.SortFunc(list, func(a, b protocol.Unfrozen) int { return cmp.Compare(a.Pid, b.Pid) })
	return list
}

// ContinueAll has everything go on that an earlier runtime has stopped.
func (c *Handler) ContinueAll() {
	t, err := proc.Read()
	if err != nil {
		c.deps.Log.Error("the machine was frozen and cannot be thawed", "error", err)
		return
	}
	proc.Continue(t.TopDown(t.Tree(c.deps.Env.TopPID(), c.deps.Env.Cookie())))
}

// syncDisks writes what is only in memory to the disks of the machine.
func (c *Handler) syncDisks() {
	for _, path := range []string{"/", "/workspace", "/tmp", c.deps.Env.Home()} {
		if f, err := os.Open(c.deps.Env.Real(path)); err == nil {
			_ = osfile.Sync(f) // where it fails, what is written still can be read
			f.Close()
		}
	}
}
