package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
)

// Watch yields the changes of a path, in a folder, or with recursive in everything below it,
// until ctx ends or the caller stops. The first event is [protocol.WatchReady]. After a cut
// it continues, with [protocol.WatchLost]. It may yield a file in a new folder twice. An
// error is the last item.
//
// Symlinks are not followed. A recursive watch of more than 10,000 folders is [protocol.Invalid].
func (c Files) Watch(ctx context.Context, path string, recursive bool) iter.Seq2[protocol.WatchEvent, error] {
	return func(yield func(protocol.WatchEvent, error) bool) {
		w := watcher{c: c.transport, path: path, recursive: recursive, yield: yield, heard: time.Now()}
		w.run(ctx)
	}
}

type watcher struct {
	c         *transport
	path      string
	recursive bool
	yield     func(protocol.WatchEvent, error) bool
	ready     bool // the first event has been told
	enough    bool
	heard     time.Time
}

func (w *watcher) run(ctx context.Context) {
	for b := newBackoff(); !w.enough; {
		heard := w.heard
		err := w.once(ctx)
		if w.heard != heard {
			b.Reset()
		}
		switch {
		case w.enough:
			return
		case ctx.Err() != nil:
			err = ctx.Err()
		case err == nil, passing(err) && !Ended(err) && w.ready && time.Since(w.heard) < maxSilence:
			if err = b.Wait(ctx); err == nil {
				continue
			}
		}
		w.yield(protocol.WatchEvent{}, err)
		return
	}
}

func (w *watcher) once(ctx context.Context) error {
	q := pathQuery(w.path)
	if w.recursive {
		q.Set("recursive", "1")
	}
	resp, err := w.c.do(ctx, http.MethodGet, "/v1/watch", q, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	for d := json.NewDecoder(resp.Body); ; {
		var e protocol.WatchEvent
		if err := d.Decode(&e); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return w.c.unreachable(err)
		}
		w.heard = time.Now()
		if e.Type == protocol.WatchReady {
			if w.ready {
				e.Type = protocol.WatchLost
			}
			w.ready = true
		}
		if !w.yield(e, nil) {
			w.enough = true
			return nil
		}
	}
}
