package fakerunpod

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const maxLogLines = 5000

// logs are the last lines of a pod. What its programs write goes through Write.
type logs struct {
	now func() time.Time

	mu      sync.Mutex
	lines   []logLine
	seq     int
	partial []byte
	more    chan struct{} // closed when there is more, and then another one
	closed  bool
}

type logLine struct {
	TS     string `json:"ts"`
	Source string `json:"source"` // container or system
	Line   string `json:"line"`

	at  time.Time
	seq int
}

func newLogs(now func() time.Time) *logs { return &logs{now: now, more: make(chan struct{})} }

// Write implements io.Writer.
func (l *logs) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.partial = append(l.partial, b...)
	for {
		line, rest, found := bytes.Cut(l.partial, []byte("\n"))
		if !found {
			return len(b), nil
		}
		l.append("container", string(line))
		l.partial = bytes.Clone(rest)
	}
}

func (l *logs) add(source, line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.append(source, line)
}

func (l *logs) append(source, line string) {
	at := l.now()
	l.seq++
	l.lines = append(l.lines, logLine{at.Format(time.RFC3339Nano), source, line, at, l.seq})
	if len(l.lines) > maxLogLines {
		l.lines = l.lines[len(l.lines)-maxLogLines:]
	}
	l.wake()
}

func (l *logs) wake() {
	close(l.more)
	l.more = make(chan struct{})
}

func (l *logs) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.wake()
}

// after gives the lines that follow a sequence number, a channel that is closed when
// there are more, and whether there will be none.
func (l *logs) after(seq int) ([]logLine, <-chan struct{}, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i, _ := slices.BinarySearchFunc(l.lines, seq+1, func(e logLine, s int) int { return e.seq - s })
	return slices.Clone(l.lines[i:]), l.more, l.closed
}

// id names a line, so that a reader can go on behind it.
func (e logLine) id() string { return fmt.Sprintf("%s/%012d", e.TS, e.seq) }

// logQuery is what a reader wants.
type logQuery struct {
	source string // empty = both
	tail   int
	since  time.Time
	seq    int // behind this line; -1 = not given
}

func parseLogQuery(r *http.Request) (logQuery, error) {
	q := logQuery{source: r.URL.Query().Get("source"), tail: 100, seq: -1}
	if q.source != "" && q.source != "container" && q.source != "system" {
		return q, problemf(http.StatusUnprocessableEntity, "source must be container or system")
	}
	if text := r.URL.Query().Get("tail"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n > maxLogLines {
			return q, problemf(http.StatusUnprocessableEntity, "tail must be a number from 0 to %d", maxLogLines)
		}
		q.tail = n
	}
	since := r.URL.Query().Get("since")
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		stamp, seq, numbered := strings.Cut(last, "/")
		since = stamp
		if n, err := strconv.Atoi(seq); numbered && err == nil {
			q.seq = n
		}
	}
	if since != "" {
		at, err := time.Parse(time.RFC3339, since)
		if err != nil {
			return q, problemf(http.StatusUnprocessableEntity, "since must be a time of RFC 3339")
		}
		q.since = at
	}
	return q, nil
}

// first keeps of the lines that are there what the reader wants of them.
func (q logQuery) first(lines []logLine) []logLine {
	switch {
	case q.seq >= 0:
		return slices.DeleteFunc(lines, func(e logLine) bool { return e.seq <= q.seq })
	case !q.since.IsZero():
		return slices.DeleteFunc(lines, func(e logLine) bool { return e.at.Before(q.since) })
	}
	lines = q.only(lines)
	return lines[max(0, len(lines)-q.tail):]
}

func (q logQuery) only(lines []logLine) []logLine {
	return slices.DeleteFunc(lines, func(e logLine) bool { return q.source != "" && e.Source != q.source })
}

func podLogs(c *Cloud, r *request) (reply, error) {
	p, err := c.find(r)
	if err != nil {
		return reply{}, err
	}
	q, err := parseLogQuery(r.Request)
	if err != nil {
		return reply{}, err
	}
	h := r.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no")
	r.w.WriteHeader(http.StatusOK)
	return reply{}, c.follow(r, p.log, q)
}

// follow writes lines until the reader or the pod has gone.
func (c *Cloud) follow(r *request, l *logs, q logQuery) error {
	flush := http.NewResponseController(r.w)
	seen := 0
	for first := true; ; first = false {
		lines, more, closed := l.after(seen)
		if len(lines) > 0 {
			seen = lines[len(lines)-1].seq
		}
		if first {
			lines = q.first(lines)
		}
		for _, e := range q.only(lines) {
			data, err := json.Marshal(e)
			if err != nil {
				return err
			}
			_, _ = fmt.Fprintf(r.w, "id: %s\ndata: %s\n\n", e.id(), data) // Flush tells
		}
		if err := flush.Flush(); err != nil || closed {
			return nil
		}
		select {
		case <-more:
		case <-r.Context().Done():
			return nil
		case <-c.ctx.Done():
			return nil
		}
	}
}
