package store

import (
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/seer-engine/seer/engine/plugin/host/egress"
)

// Event is one request of a plugin, made or refused. It holds no query, body or credential.
type Event struct {
	Time        time.Time `json:"time"`
	Plugin      string    `json:"plugin"`
	Permission  string    `json:"permission,omitempty"` // the line that allowed it; "" = refused
	Refused     bool      `json:"refused,omitempty"`
	Destination string    `json:"destination"`
	Method      string    `json:"method,omitempty"` // of HTTP
	Path        string    `json:"path,omitempty"`
	Status      int       `json:"status,omitempty"`
	Sent        int64     `json:"sent,omitempty"`
	Received    int64     `json:"received,omitempty"`
	Seconds     float64   `json:"seconds"`
	Error       string    `json:"error,omitempty"`
}

const (
	maxWaiting = 4096 // events that are kept until they are written
	maxRefused = 2048 // of these; a refusal costs a plugin nothing, and must not hide a request that was made
	maxField   = 1 << 10
	flushEvery = 500 * time.Millisecond
)

// eventOf takes what the file may hold.
func eventOf(a egress.Audit) Event {
	path, _, _ := strings.Cut(a.Path, "?")
	return Event{Time: a.Time.UTC(), Plugin: a.Plugin, Permission: a.Permission, Refused: a.Refused, Destination: short(a.Destination),
		Method: short(a.Method), Path: short(path), Status: a.Status, Sent: a.Sent, Received: a.Received,
		Seconds: a.Duration.Seconds(), Error: short(withoutQueries(a.Error))}
}

// withoutQueries cuts the queries of URLs: error texts quote them.
func withoutQueries(text string) string {
	words := strings.Split(text, " ")
	for i, w := range words {
		if at := strings.Index(w, "?"); at >= 0 && strings.Contains(w[:at], "/") {
			words[i] = w[:at] + "?…"
		}
	}
	return strings.Join(words, " ")
}

func short(text string) string {
	if len(text) <= maxField {
		return text
	}
	return strings.ToValidUTF8(text[:maxField], "") + "…"
}

// Recorder writes the audit. [Recorder.Record] never waits for the disk: what cannot be
// written is lost with one warning, and no request fails for it.
type Recorder struct {
	to   auditLog
	wake chan struct{}
	stop chan struct{}
	done chan struct{}

	mu      sync.Mutex
	waiting []Event
	refused int // of those that wait
	lost    int
	warned  bool
	closed  bool
}

// NewRecorder starts a writer of the audit. Close it to have the last events written.
func (s *Store) NewRecorder() *Recorder {
	r := &Recorder{to: s.auditLog, wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{})}
	go r.write()
	return r
}

// Record takes note of a request. It is for [host.Options].Audit.
func (r *Recorder) Record(a egress.Audit) {
	if !idPattern().MatchString(a.Plugin) {
		return // no file could be named after it
	}
	e := eventOf(a)
	r.mu.Lock()
	switch {
	case r.closed, len(r.waiting) >= maxWaiting, e.Refused && r.refused >= maxRefused:
		r.lost++
	default:
		r.waiting = append(r.waiting, e)
		if e.Refused {
			r.refused++
		}
	}
	r.mu.Unlock()
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Lost is how many events could not be written.
func (r *Recorder) Lost() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lost
}

// Close writes what is waiting and ends the writer.
func (r *Recorder) Close() {
	r.mu.Lock()
	first := !r.closed
	r.closed = true
	r.mu.Unlock()
	if first {
		close(r.stop)
	}
	<-r.done
}

func (r *Recorder) write() {
	defer close(r.done)
	for {
		select {
		case <-r.stop:
			r.flush()
			return
		case <-r.wake:
		}
		r.flush()
		select { // what comes soon is written together
		case <-r.stop:
			r.flush()
			return
		case <-time.After(flushEvery):
		}
	}
}

// flush writes what is waiting, each plugin's to its own file.
func (r *Recorder) flush() {
	r.mu.Lock()
	events := r.waiting
	r.waiting, r.refused = nil, 0
	r.mu.Unlock()
	byPlugin := map[string][]Event{}
	for _, e := range events {
		byPlugin[e.Plugin] = append(byPlugin[e.Plugin], e)
	}
	lost, failure := 0, errors.New("more requests than could be written down")
	for id, list := range byPlugin {
		if err := r.to.append(id, list); err != nil {
			lost, failure = lost+len(list), err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lost += lost; r.lost > 0 && !r.warned {
		r.warned = true
		r.to.log.Warn("the audit of plugins is not complete: requests go on, and some are not written down", "folder", r.to.audits, "lost", r.lost, "error", failure)
	}
}
