package process

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/runtime/internal/environment"
	"github.com/seer-engine/seer/engine/runtime/internal/spawn"
	"github.com/seer-engine/seer/internal/lazyregexp"
)

const (
	keepFinished  = time.Hour   // of a process whose end nobody has read, or a background one
	keepDelivered = time.Minute // of a foreground process whose end was read
	maxFinished   = 200
)

// Deps is what a table of processes needs.
type Deps struct {
	Env     *environment.Env
	Dir     string         // for output
	Spawner *spawn.Spawner // of all processes

	// Write waits until files may change, as a process that is started again does, and
	// returns what to call afterwards.
	Write func(ctx context.Context) (leave func(), err error)
}

// Table are the commands of a machine in the order of their start.
type Table struct {
	env     *environment.Env
	dir     string
	spawner *spawn.Spawner
	write   func(ctx context.Context) (leave func(), err error)

	mu   sync.Mutex
	list []*Process
	ends bool // the machine ends
}

// NewTable makes an empty table.
func NewTable(d Deps) *Table {
	return &Table{env: d.Env, dir: d.Dir, spawner: d.Spawner, write: d.Write}
}

// processID is what clients may call a process: it stands in addresses and in its environment.
var processID = lazyregexp.New(`^[A-Za-z0-9_-][A-Za-z0-9_.:-]{0,99}$`)

// Start starts a command under its id, or returns the one that has it.
func (t *Table) Start(spec protocol.ProcessSpec) (*Process, error) {
	id := spec.ID
	if id != "" && !processID().MatchString(id) {
		return nil, protocol.Errorf(protocol.Invalid, "%.110q is not an id for a process: up to 100 letters, digits, _ . : and -, not beginning with . or :", id)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if id == "" {
		id = environment.NewID()
	}
	if p := t.find(id); p != nil {
		return p, nil
	}
	p, err := t.launch(spec, id)
	if err == nil {
		t.list = append(t.list, p)
	}
	return p, err
}

func (t *Table) find(id string) *Process {
	for _, p := range t.list {
		if p.info.ID == id {
			return p
		}
	}
	return nil
}

// Get finds a process.
func (t *Table) Get(id string) (*Process, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.find(id); p != nil {
		return p, nil
	}
	return nil, protocol.Errorf(protocol.NotFound, "there is no process %q", id)
}

// All lists the processes in the order of their start.
func (t *Table) All() []*Process {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.list)
}

func (t *Table) remove(p *Process) {
	t.mu.Lock()
	t.list = slices.DeleteFunc(t.list, func(q *Process) bool { return p == q })
	t.mu.Unlock()
	p.spool.Close()
}

// Delete ends a process, and forgets it.
func (t *Table) Delete(id string) error {
	p, err := t.Get(id)
	if err != nil {
		return err
	}
	if err := p.Kill(); err != nil {
		return err
	}
	<-p.done
	t.remove(p)
	return nil
}

// Tidy kills what was abandoned and forgets what ended long ago.
func (t *Table) Tidy(linger time.Duration) {
	finished := 0
	for _, p := range slices.Backward(t.All()) {
		if p.abandoned(linger) {
			go func() { _ = p.Kill() }()
			continue
		}
		info := p.State()
		if info.State == protocol.ProcessRunning {
			continue
		}
		finished++
		if finished > maxFinished || p.forgettable() {
			t.remove(p)
		}
	}
}

func (p *Process) forgettable() bool {
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

// Use reports whether a process is use of the machine now, and when one last was.
func (t *Table) Use() (busy bool, last time.Time) {
	now := time.Now()
	for _, p := range t.All() {
		used, at := p.use(now)
		busy = busy || used
		if at.After(last) {
			last = at
		}
	}
	return busy, last
}

func (t *Table) ending() bool { t.mu.Lock(); defer t.mu.Unlock(); return t.ends }

// KillAll ends every tree at the same time, because the machine ends.
func (t *Table) KillAll() {
	t.mu.Lock()
	t.ends = true
	t.mu.Unlock()
	var wg sync.WaitGroup
	for _, p := range t.All() {
		wg.Go(func() { _ = p.Kill() })
	}
	wg.Wait()
}
