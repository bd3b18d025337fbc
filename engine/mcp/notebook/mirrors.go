package notebook

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/seer-engine/seer/engine/notebook"
)

// mirrors keep notebooks on the user's computer.
type mirrors struct {
	ctx    context.Context // ends with the server
	client *notebook.Client
	dir    string
	log    hclog.Logger
	wg     sync.WaitGroup

	mu        sync.Mutex
	bySession map[string]*mirror
}

type mirror struct {
	*notebook.Mirror
	stop context.CancelFunc
}

// start begins to save a session's notebook.
func (m *mirrors) start(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.bySession[id] != nil || m.dir == NoOut {
		return
	}
	ctx, stop := context.WithCancel(m.ctx)
	one := &mirror{stop: stop, Mirror: notebook.NewMirror(m.client, id, m.dir, func(text string) {
		m.log.Warn(text, "session", id)
	})}
	if m.bySession == nil {
		m.bySession = map[string]*mirror{}
	}
	m.bySession[id] = one
	m.wg.Go(func() { one.Run(ctx) })
}

// stop saves the notebook of a session that has ended a last time.
func (m *mirrors) stop(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if one := m.bySession[id]; one != nil {
		one.stop()
		delete(m.bySession, id)
	}
}

// savePatience is how long a tool waits for its notebook to be saved.
const savePatience = 10 * time.Second

// save saves a notebook before its tool answers. It says where it is, or why it is not.
func (m *mirrors) save(ctx context.Context, id string) (saved, warning string) {
	m.mu.Lock()
	one := m.bySession[id]
	m.mu.Unlock()
	if one == nil {
		return "", ""
	}
	ctx, stop := context.WithTimeout(ctx, savePatience)
	defer stop()
	if err := one.Save(ctx); err != nil {
		return "", fmt.Sprintf("the notebook could not be saved on the user's computer: %v; it is in the sandbox and will be tried again", told{err})
	}
	saved = one.Path()
	if whole, err := filepath.Abs(saved); err == nil && saved != "" {
		saved = whole
	}
	return saved, ""
}
