package host

import (
	"context"
	"sync"
)

// loading is a module that is being compiled, once for all who want it.
type loading struct {
	done   chan struct{}
	module *module
	err    error

	once   sync.Once // of close
	file   string
	number int64 // of its last use
	users  int
	stale  bool // not to be found any more; closed after its last use
}

// maxLoaded is how many modules of one file are kept: after a rebuild or another grant
// somebody may still work with the one before.
const maxLoaded = 3

// load compiles p, or waits until somebody else has. The caller releases it.
func (h *Host) load(ctx context.Context, p Plugin, g Grant) (*loading, error) {
	key := loadingKey(p, g)
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return nil, fault(FaultClosed, p, "the plugin host has been closed")
	}
	l, ok := h.loaded[key]
	if !ok {
		l = &loading{done: make(chan struct{}), file: p.File}
		h.loaded[key] = l
		go func() {
			l.module, l.err = h.compile(context.WithoutCancel(ctx), p, g) // shared: no caller may cancel it
			if l.err != nil {                                             // the next call tries again
				h.mu.Lock()
				if h.loaded[key] == l {
					delete(h.loaded, key)
				}
				h.mu.Unlock()
			}
			close(l.done)
		}()
	}
	h.uses++
	l.users++
	l.number = h.uses
	old := h.retire(p.File)
	h.mu.Unlock()
	if old != nil {
		_ = old.close(context.WithoutCancel(ctx)) // nobody uses it
	}
	select {
	case <-l.done:
		if l.err == nil {
			return l, nil
		}
		h.release(ctx, l)
		return nil, l.err
	case <-ctx.Done():
		h.release(ctx, l)
		return nil, ctx.Err()
	}
}

func loadingKey(p Plugin, g Grant) string { return p.File + " " + p.Digest + " " + g.key() }

// inUse is p, if it is loaded. The caller releases it.
func (h *Host) inUse(p Plugin, g Grant) *loading {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.loaded[loadingKey(p, g)]
	if l == nil {
		return nil
	}
	select {
	case <-l.done:
	default:
		return nil
	}
	if l.module == nil {
		return nil
	}
	l.users++
	return l
}

// lastOf is the module of a file that was used last; nil = none is loaded.
func (h *Host) lastOf(file string) *module {
	h.mu.Lock()
	defer h.mu.Unlock()
	var last *loading
	for _, l := range h.loaded {
		if l.file != file || last != nil && l.number < last.number {
			continue
		}
		select {
		case <-l.done:
			last = l
		default: // it is being compiled
		}
	}
	if last == nil {
		return nil
	}
	return last.module
}

// retire lets go of the module of a file that was not used for longest, when there are
// more than are kept. One that nobody uses is for the caller to close.
func (h *Host) retire(file string) *loading {
	var oldest string
	n := 0
	for key, l := range h.loaded {
		if l.file != file {
			continue
		}
		if n++; oldest == "" || l.number < h.loaded[oldest].number {
			oldest = key
		}
	}
	if n <= maxLoaded {
		return nil
	}
	l := h.loaded[oldest]
	l.stale = true
	delete(h.loaded, oldest)
	if l.users > 0 { // release closes it
		h.retired[l] = struct{}{}
		return nil
	}
	return l
}

// release ends one use of a module.
func (h *Host) release(ctx context.Context, l *loading) {
	h.mu.Lock()
	l.users--
	last := l.stale && l.users == 0
	if last {
		delete(h.retired, l)
	}
	h.mu.Unlock()
	if last {
		_ = l.close(context.WithoutCancel(ctx)) // nobody uses it
	}
}

func (l *loading) close(ctx context.Context) error {
	<-l.done
	var err error
	l.once.Do(func() {
		if l.module != nil {
			err = l.module.close(ctx)
		}
	})
	return err
}
