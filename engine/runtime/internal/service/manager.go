package service

import (
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/protocol/journal"
	"github.com/seer-engine/seer/engine/runtime/internal/environment"
	"github.com/seer-engine/seer/engine/runtime/internal/spawn"
	"github.com/seer-engine/seer/engine/runtime/internal/spool"
	"github.com/seer-engine/seer/internal/lazyregexp"
)

var serviceName = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$`)

// Check refuses a name or a specification that cannot be a service's.
func Check(name string, spec protocol.ServiceSpec) error {
	switch {
	case !serviceName().MatchString(name):
		return protocol.Errorf(protocol.Invalid, "the service name %q is not made of letters, digits, _ . and -", name)
	case spec.Filename == "" || spec.Filename[len(spec.Filename)-1] == '/':
		return protocol.Errorf(protocol.Invalid, "the service %s needs a filename", name)
	case len(spec.TokenSHA256) != 64:
		return protocol.Errorf(protocol.Invalid, "the service %s needs the SHA-256 of its token", name)
	}
	return nil
}

// Deps is what the services of a machine need.
type Deps struct {
	Env     *environment.Env
	Dir     string         // for logs, journals and what workers write
	Sockets string         // for the sockets of workers; empty = Dir
	Life    *os.File       // the end of a pipe that workers watch: they end with it
	Spawner *spawn.Spawner // of all processes
	Program *Program       // the worker
	Persist func()         // remembers what a later runtime needs
	Log     *slog.Logger
}

// Manager keeps the services of a machine by name.
type Manager struct {
	deps Deps

	mu    sync.Mutex
	table map[string]*Service
}

// NewManager makes a manager without services.
func NewManager(d Deps) *Manager {
	return &Manager{deps: d, table: map[string]*Service{}}
}

// Journal is the folder of a service's journal. It outlives its workers, and the service.
func (t *Manager) Journal(name string) string { return filepath.Join(t.deps.Dir, "journal", name) }

// WithJournal finds a service to ask about its calls. One that has been deleted is nil,
// and still has a journal.
func (t *Manager) WithJournal(name string) (*Service, error) {
	v, err := t.Get(name)
	if err == nil || !serviceName().MatchString(name) {
		return v, err
	}
	if found, _ := journal.Segments(t.Journal(name)); len(found) == 0 {
		return nil, err
	}
	return nil, nil
}

// Deleted stands for one that is not there any more: it has no worker, and gets none.
func (t *Manager) Deleted(name string) *Service {
	return &Service{Name: name, manager: t, changed: make(chan struct{}), deleted: true}
}

// Use reports whether a service is use of the machine now, and when one last was.
func (t *Manager) Use() (busy bool, last time.Time) {
	for _, v := range t.All() {
		busy = busy || v.isLoading()
		for _, w := range v.Workers() {
			busy = w.busy() || busy
			if at := w.lastUse(); at.After(last) {
				last = at
			}
		}
	}
	return busy, last
}

// TellTokens has all workers know of tokens and prices.
func (t *Manager) TellTokens() {
	for _, v := range t.All() {
		v.tellTokens()
	}
}

// Renew makes the services those of a copy of the machine: each has another main token, of
// the given hash, and no others.
func (t *Manager) Renew(hashes map[string]string) {
	for _, v := range t.All() {
		v.renew(hashes[v.Name])
	}
}

// Saved is what is to be remembered of all services.
func (t *Manager) Saved() []*Saved {
	var list []*Saved
	for _, v := range t.All() {
		if saved := v.saved(); saved != nil {
			list = append(list, saved)
		}
	}
	return list
}

// Get finds a service.
func (t *Manager) Get(name string) (*Service, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if v := t.table[name]; v != nil {
		return v, nil
	}
	return nil, protocol.Errorf(protocol.NotFound, "there is no service %q", name)
}

// Obtain returns the service of that name, made if need be.
func (t *Manager) Obtain(name string) (*Service, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if v := t.table[name]; v != nil {
		return v, nil
	}
	logs, err := spool.Open(filepath.Join(t.deps.Dir, "logs-"+name), keepLogs)
	if err != nil {
		return nil, fmt.Errorf("the log of the service %s: %w", name, err)
	}
	v := &Service{Name: name, manager: t, Logs: logs, changed: make(chan struct{})}
	t.table[name] = v
	return v, nil
}

// All lists the services by name.
func (t *Manager) All() []*Service {
	t.mu.Lock()
	defer t.mu.Unlock()
	names := slices.Sorted(maps.Keys(t.table))
	list := make([]*Service, 0, len(names))
	for _, name := range names {
		list = append(list, t.table[name])
	}
	return list
}

// OfToken finds the service whose token has a hash. A token of a service opens no other one.
func (t *Manager) OfToken(hash string) (service string, token protocol.Token, ok bool) {
	for _, v := range t.All() {
		if token, ok := v.tokenOf(hash); ok {
			return v.Name, token, true
		}
	}
	return "", protocol.Token{}, false
}

// Remove ends a service, and removes its output. Its journal stays.
func (t *Manager) Remove(name string) error {
	t.mu.Lock()
	v := t.table[name]
	delete(t.table, name)
	t.mu.Unlock()
	if v == nil {
		return protocol.Errorf(protocol.NotFound, "there is no service %q", name)
	}
	v.remove()
	v.Logs.Remove()
	return nil
}

// RemoveAll ends all services at the same time.
func (t *Manager) RemoveAll() {
	var wg sync.WaitGroup
	for _, v := range t.All() {
		wg.Go(func() { _ = t.Remove(v.Name) })
	}
	wg.Wait()
}
