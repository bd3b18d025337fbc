package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"time"
)

// WatchType is what happened to a path.
type WatchType string

// The types of [WatchEvent].
const (
	WatchReady      WatchType = "ready"      // what happens from now on is told; always the first
	WatchCreated    WatchType = "created"    // also a path that something was renamed to
	WatchWritten    WatchType = "written"    // its content
	WatchRemoved    WatchType = "removed"    //
	WatchRenamed    WatchType = "renamed"    // it has another name now, or has left
	WatchAttributes WatchType = "attributes" // mode, owner or times
	WatchLost       WatchType = "lost"       // events were lost: look at everything again
)

// WatchEvent is something that happened to a file or folder of the machine.
type WatchEvent struct {
	Path  string    `json:"path,omitempty"` // as the watched path was given, and what follows it
	Type  WatchType `json:"type"`
	IsDir bool      `json:"is_dir,omitempty"`
}

// Watch tells what happens to a path, in a folder, or with recursive in everything below
// it, until ctx ends or the caller has enough. The first event is [WatchReady]. After a
// cut it goes on, with [WatchLost]. What is made in a folder that is new itself may be
// told twice. An error is the last that is yielded.
//
// Symlinks are not followed. A recursive watch of more than 10,000 folders is [Invalid].
func (c *Client) Watch(ctx context.Context, path string, recursive bool) iter.Seq2[WatchEvent, error] {
	return func(yield func(WatchEvent, error) bool) {
		w := watcher{c: c, path: path, recursive: recursive, yield: yield, heard: time.Now()}
		w.run(ctx)
	}
}

type watcher struct {
	c         *Client
	path      string
	recursive bool
	yield     func(WatchEvent, error) bool
	ready     bool // the first event has been told
	enough    bool
	heard     time.Time
}

func (w *watcher) run(ctx context.Context) {
	for b := (backoff{}); !w.enough; {
		heard := w.heard
		err := w.once(ctx)
		if w.heard != heard {
			b.reset()
		}
		switch {
		case w.enough:
			return
		case ctx.Err() != nil:
			err = ctx.Err()
		case err == nil, passing(err) && !Ended(err) && w.ready && time.Since(w.heard) < maxSilence:
			if err = b.wait(ctx); err == nil {
				continue
			}
		}
		w.yield(WatchEvent{}, err)
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
		var e WatchEvent
		if err := d.Decode(&e); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return w.c.unreachable(err)
		}
		w.heard = time.Now()
		if e.Type == WatchReady {
			if w.ready {
				e.Type = WatchLost
			}
			w.ready = true
		}
		if !w.yield(e, nil) {
			w.enough = true
			return nil
		}
	}
}
