package runtime

import (
	"crypto/rand"
	"encoding/hex"
	"slices"
	"sync"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
)

const (
	keepFinished  = time.Hour   // of a process whose end nobody has read, or a background one
	keepDelivered = time.Minute // of a foreground process whose end was read
	maxFinished   = 200
)

// processes are the commands of a machine in the order of their start.
type processes struct {
	mu   sync.Mutex
	list []*process
}

// start starts a command under its id, or returns the one that has it.
func (t *processes) start(id string, start func(id string) (*process, error)) (*process, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if id == "" {
		id = newProcessID()
	}
	if p := t.find(id); p != nil {
		return p, nil
	}
	p, err := start(id)
	if err == nil {
		t.list = append(t.list, p)
	}
	return p, err
}

func newProcessID() string {
	var b [8]byte
	rand.Read(b[:])
	return "p-" + hex.EncodeToString(b[:])
}

func (t *processes) find(id string) *process {
	for _, p := range t.list {
		if p.info.ID == id {
			return p
		}
	}
	return nil
}

func (t *processes) get(id string) (*process, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.find(id); p != nil {
		return p, nil
	}
	return nil, protocol.Errorf(protocol.NotFound, "there is no process %q", id)
}

func (t *processes) all() []*process {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.list)
}

func (t *processes) remove(p *process) {
	t.mu.Lock()
	t.list = slices.DeleteFunc(t.list, func(q *process) bool { return p == q })
	t.mu.Unlock()
	p.spool.Close()
}

// tidy kills what was abandoned and forgets what ended long ago.
func (t *processes) tidy(linger time.Duration) {
	finished := 0
	for _, p := range slices.Backward(t.all()) {
		if p.abandoned(linger) {
			go func() { _ = p.kill() }()
			continue
		}
		info := p.state()
		if info.State == protocol.ProcessRunning {
			continue
		}
		finished++
		if finished > maxFinished || p.forgettable() {
			t.remove(p)
		}
	}
}

func (p *process) forgettable() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.followers > 0 {
		return false
	}
	if !p.info.Background && !p.delivered.IsZero() && time.Since(p.delivered) > keepDelivered {
		return true
	}
	return time.Since(time.Unix(p.info.EndedUnix, 0)) > keepFinished
}

// use reports whether a process is use of the machine now, and when one last was.
func (t *processes) use() (busy bool, last time.Time) {
	now := time.Now()
	for _, p := range t.all() {
		used, at := p.use(now)
		busy = busy || used
		if at.After(last) {
			last = at
		}
	}
	return busy, last
}

// killAll ends every tree at the same time.
func (t *processes) killAll() {
	var wg sync.WaitGroup
	for _, p := range t.all() {
		wg.Go(func() { _ = p.kill() })
	}
	wg.Wait()
}
