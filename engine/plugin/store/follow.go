package store

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

const followEvery = 200 * time.Millisecond

// Follow gives the requests of a plugin as they are written down, those of all plugins
// where id is empty, until ctx ends or each returns an error. What was written before is
// not among them.
func (s *Store) Follow(ctx context.Context, id string, each func(Event) error) error {
	at := map[string]*cursor{}
	for first := true; ; first = false {
		ids, err := s.audited(id)
		if err != nil {
			return err
		}
		for _, id := range ids {
			c := at[id]
			if c == nil {
				c = &cursor{dir: s.auditOf(id)}
				at[id] = c
			}
			look := each
			if first {
				look = func(Event) error { return nil }
			}
			if err := c.advance(look); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(followEvery):
		}
	}
}

// audited are the plugins that have an audit.
func (a auditLog) audited(id string) ([]string, error) {
	if id != "" && !idPattern().MatchString(id) {
		return nil, fmt.Errorf("%q is not the id of a plugin", id)
	}
	if id != "" {
		return []string{id}, nil
	}
	entries, err := os.ReadDir(a.audits)
	var out []string
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			out = append(out, e.Name())
		}
	}
	return out, err
}

// cursor is how far the audit of a plugin was read.
type cursor struct {
	dir    string
	number int
	offset int64
}

func (c *cursor) advance(each func(Event) error) error {
	numbers, err := segments(c.dir, 0)
	if err != nil {
		return err
	}
	for _, n := range numbers {
		if n < c.number {
			continue
		}
		if n > c.number {
			c.number, c.offset = n, 0
		}
		if err := c.rest(each); err != nil {
			return err
		}
	}
	return nil
}

// rest reads the whole lines behind the cursor.
func (c *cursor) rest(each func(Event) error) error {
	f, err := os.Open(segment(c.dir, c.number))
	if missing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	data, err := io.ReadAll(io.NewSectionReader(f, c.offset, 2*segmentBytes))
	if err != nil {
		return err
	}
	for {
		line, more, whole := bytes.Cut(data, []byte("\n"))
		if !whole {
			return nil
		}
		c.offset += int64(len(line)) + 1
		if e, ok := parseEvent(line); ok {
			if err := each(e); err != nil {
				return err
			}
		}
		data = more
	}
}
