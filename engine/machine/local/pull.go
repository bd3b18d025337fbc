package local

import (
	"context"
	"encoding/json"
	"os"
	"sync"
	"time"

	"github.com/seer-engine/seer/sdk"
)

const (
	pullStep   = 2 * time.Second // longest that a call of Create waits for an image
	pullForget = time.Minute     // after which a pull that nobody asks for ends
)

// pulls are the images that are being fetched, by their names. A call of Create that
// finds its own not ready comes back.
type pulls struct {
	mu  sync.Mutex
	all map[string]*pull
}

type pull struct {
	done   chan struct{}
	system *system
	err    error
	forget *time.Timer

	mu    sync.Mutex
	lines []string
}

func (u *pull) log(line string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.lines = append(u.lines, line)
}

func (u *pull) take() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	out := u.lines
	u.lines = nil
	return out
}

// get starts the work for a name, or joins it.
func (s *pulls) get(name string, work func(ctx context.Context, log func(string)) (*system, error)) *pull {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u := s.all[name]; u != nil {
		u.forget.Reset(pullForget)
		return u
	}
	if s.all == nil {
		s.all = map[string]*pull{}
	}
	ctx, cancel := context.WithCancel(context.Background())
	u := &pull{done: make(chan struct{}), forget: time.AfterFunc(pullForget, cancel)}
	s.all[name] = u
	go func() {
		defer cancel()
		u.system, u.err = work(ctx, u.log)
		u.forget.Stop()
		s.mu.Lock()
		delete(s.all, name)
		s.mu.Unlock()
		close(u.done)
	}()
	return u
}

// system prepares the machine's tree. While that takes, there is a step to come back
// with instead.
func (p *provider) system(ctx context.Context, spec *sdk.MachineSpec, kind string) (*system, []string, *sdk.CreateStep, error) {
	if spec.Image == nil || spec.Image.Base == "" && spec.Image.Snapshot == "" {
		s, err := p.prepare(ctx, spec.Image, kind, nil)
		return s, nil, nil, err
	}
	name, err := json.Marshal([]any{kind, spec.Image})
	if err != nil {
		return nil, nil, nil, err
	}
	u := p.pulls.get(string(name), func(ctx context.Context, log func(string)) (*system, error) {
		return p.prepare(ctx, spec.Image, kind, log)
	})
	select {
	case <-u.done:
		return u.system, u.take(), nil, u.err
	case <-ctx.Done():
		return nil, nil, nil, ctx.Err()
	case <-time.After(p.patience):
		return nil, nil, &sdk.CreateStep{Cursor: json.RawMessage(`{"image":true}`), Log: u.take(), AfterSeconds: 0.1}, nil
	}
}

func runnable(file string) bool {
	info, err := os.Stat(file)
	return err == nil && !info.IsDir() && info.Mode()&0o111 != 0
}
