package runtime

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"sync"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/runtime/internal/spool"
)

var serviceName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$`)

func checkService(name string, spec protocol.ServiceSpec) error {
	switch {
	case !serviceName.MatchString(name):
		return protocol.Errorf(protocol.Invalid, "the service name %q is not made of letters, digits, _ . and -", name)
	case spec.Filename == "" || spec.Filename[len(spec.Filename)-1] == '/':
		return protocol.Errorf(protocol.Invalid, "the service %s needs a filename", name)
	case len(spec.TokenSHA256) != 64:
		return protocol.Errorf(protocol.Invalid, "the service %s needs the SHA-256 of its token", name)
	}
	return nil
}

// services are those of a machine by name.
type services struct {
	mu    sync.Mutex
	table map[string]*service
}

func (t *services) get(name string) (*service, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if v := t.table[name]; v != nil {
		return v, nil
	}
	return nil, protocol.Errorf(protocol.NotFound, "there is no service %q", name)
}

// obtain returns the service of that name, made if need be.
func (t *services) obtain(s *Server, name string) (*service, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if v := t.table[name]; v != nil {
		return v, nil
	}
	logs, err := spool.Open(filepath.Join(s.scratch, "logs-"+name), keepLogs)
	if err != nil {
		return nil, fmt.Errorf("the log of the service %s: %w", name, err)
	}
	v := &service{name: name, server: s, logs: logs, changed: make(chan struct{})}
	t.table[name] = v
	return v, nil
}

func (t *services) all() []*service {
	t.mu.Lock()
	defer t.mu.Unlock()
	names := slices.Sorted(maps.Keys(t.table))
	list := make([]*service, 0, len(names))
	for _, name := range names {
		list = append(list, t.table[name])
	}
	return list
}

// ofToken finds the service whose token has a hash. A token of a service opens no other one.
func (t *services) ofToken(hash string) (service string, token protocol.Token, ok bool) {
	for _, v := range t.all() {
		if token, ok := v.tokenOf(hash); ok {
			return v.name, token, true
		}
	}
	return "", protocol.Token{}, false
}

func (t *services) remove(name string) error {
	t.mu.Lock()
	v := t.table[name]
	delete(t.table, name)
	t.mu.Unlock()
	if v == nil {
		return protocol.Errorf(protocol.NotFound, "there is no service %q", name)
	}
	v.remove()
	v.logs.Remove()
	return nil
}

func (t *services) removeAll() {
	var wg sync.WaitGroup
	for _, v := range t.all() {
		wg.Go(func() { _ = t.remove(v.name) })
	}
	wg.Wait()
}
