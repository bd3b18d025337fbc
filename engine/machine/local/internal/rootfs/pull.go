package rootfs

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"sync"
	"time"

	"github.com/seer-engine/seer/sdk"
)

const (
	pullStep   = 2 * time.Second // longest that a call waits for an image, by default
	pullForget = time.Minute     // after which a pull that nobody asks for ends
)

// pulls are the images that are being fetched, by their names. A caller that finds its own
// not ready comes back.
type pulls struct {
	mu  sync.Mutex
	all map[string]*pull
}

type pull struct {
	done   chan struct{}
	tree   *Tree
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
func (s *pulls) get(name string, work func(ctx context.Context, log func(string)) (*Tree, error)) *pull {
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
		u.tree, u.err = work(ctx, u.log)
		u.forget.Stop()
		s.mu.Lock()
		delete(s.all, name)
		s.mu.Unlock()
		close(u.done)
	}()
	return u
}

// Prepare finds the tree of an image; nil = this computer's own. While that takes, ready is
// false: the caller comes back for it. log is what there is to tell meanwhile.
func (s *Store) Prepare(ctx context.Context, i *sdk.Image, kind string) (t *Tree, log []string, ready bool, err error) {
	if i == nil || i.Base == "" && i.Snapshot == "" {
		t, err := s.unpack(ctx, i, kind, nil)
		return t, nil, true, err
	}
	name, err := json.Marshal([]any{kind, i})
	if err != nil {
		return nil, nil, false, err
	}
	u := s.pulls.get(string(name), func(ctx context.Context, log func(string)) (*Tree, error) {
		return s.unpack(ctx, i, kind, log)
	})
	select {
	case <-u.done:
		return u.tree, u.take(), true, u.err
	case <-ctx.Done():
		return nil, nil, false, ctx.Err()
	case <-time.After(cmp.Or(s.Wait, pullStep)):
		return nil, u.take(), false, nil
	}
}

func runnable(file string) bool {
	info, err := os.Stat(file)
	return err == nil && !info.IsDir() && info.Mode()&0o111 != 0
}
