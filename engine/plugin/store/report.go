package store

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/plugin/host/access"
	"github.com/seer-engine/seer/engine/state"
)

// Use is how often something was done.
type Use struct {
	Count  int       `json:"count"`
	Failed int       `json:"failed,omitempty"` // of these got no answer
	First  time.Time `json:"first"`
	Last   time.Time `json:"last"`
}

func (u *Use) add(e Event) {
	u.Count++
	if e.Error != "" && !e.Refused {
		u.Failed++
	}
	if u.First.IsZero() || e.Time.Before(u.First) {
		u.First = e.Time
	}
	if e.Time.After(u.Last) {
		u.Last = e.Time
	}
}

// LineUse is the use of one permission.
type LineUse struct {
	Permission string `json:"permission"`
	Use
}

// Refusal is a request that was refused, however often.
type Refusal struct {
	Request string `json:"request"` // GET https://elsewhere.example/path; "other requests" where there were too many kinds
	Why     string `json:"why"`     // of the last one
	Use
}

// Report tells what a plugin did.
type Report struct {
	ID      string     `json:"id"`
	Used    []LineUse  `json:"used"`
	Never   access.Set `json:"never"`   // asked for, and never used
	Unseen  access.Set `json:"unseen"`  // asked for; requests do not show whether these are used
	Refused []Refusal  `json:"refused"` // most often first
}

const (
	maxRefusals = 200 // kinds: a plugin that tries a million paths must not fill the disk
	otherwise   = "other requests"
)

// counts are what a file of events amounts to.
type counts struct {
	Folded  int                 `json:"folded"` // the last file that is counted in
	Used    map[string]*Use     `json:"used"`
	Refused map[string]*Refusal `json:"refused"`
}

func readCounts(dir string) (*counts, error) {
	c := newCounts()
	path := filepath.Join(dir, countsName)
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, c)
	}
	if err != nil && !missing(err) {
		return nil, fmt.Errorf("%s cannot be read: %w; remove it to go on without the counts of old requests", path, err)
	}
	maps.DeleteFunc(c.Used, func(_ string, u *Use) bool { return u == nil })
	maps.DeleteFunc(c.Refused, func(_ string, r *Refusal) bool { return r == nil })
	if c.Used == nil || c.Refused == nil {
		return newCounts(), nil
	}
	return c, nil
}

func newCounts() *counts { return &counts{Used: map[string]*Use{}, Refused: map[string]*Refusal{}} }

func (c *counts) add(e Event) {
	if !e.Refused && e.Permission != "" {
		if c.Used[e.Permission] == nil {
			c.Used[e.Permission] = &Use{}
		}
		c.Used[e.Permission].add(e)
		return
	}
	request := strings.TrimSpace(e.Method + " " + e.Destination + e.Path)
	if c.Refused[request] == nil && len(c.Refused) >= maxRefusals {
		request = otherwise
	}
	r := c.Refused[request]
	if r == nil {
		r = &Refusal{Request: request}
		c.Refused[request] = r
	}
	r.add(e)
	r.Why = e.Error
}

// Report counts the requests of a plugin, as long as there is an audit of it. asked is
// what it asks for.
func (s *Store) Report(ctx context.Context, id string, asked access.Set) (Report, error) {
	c, err := s.count(ctx, id)
	if err != nil {
		return Report{}, fmt.Errorf("the audit of %s: %w", id, err)
	}
	out := Report{ID: id, Used: []LineUse{}, Never: access.Set{}, Unseen: access.Set{}, Refused: []Refusal{}}
	for _, line := range slices.Sorted(maps.Keys(c.Used)) {
		out.Used = append(out.Used, LineUse{line, *c.Used[line]})
	}
	for _, line := range asked {
		switch {
		case c.Used[line] != nil:
		case isRequest(line):
			out.Never = append(out.Never, line)
		default:
			out.Unseen = append(out.Unseen, line)
		}
	}
	for _, r := range c.Refused {
		out.Refused = append(out.Refused, *r)
	}
	slices.SortFunc(out.Refused, func(a, b Refusal) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Request, b.Request))
	})
	return out, nil
}

// isRequest reports whether a permission is one to make requests.
func isRequest(line string) bool {
	words := strings.Split(line, " ")
	return words[0] == "http" || words[0] == "grpc" || words[0] == "capture" && slices.Contains(words, "calls")
}

// count reads all that there is of a plugin, while nobody adds or folds.
func (a auditLog) count(ctx context.Context, id string) (*counts, error) {
	dir := a.auditOf(id)
	if _, err := os.Stat(dir); !idPattern().MatchString(id) || missing(err) {
		return newCounts(), nil // it has done nothing
	}
	lock, err := state.Acquire(ctx, filepath.Join(dir, "lock"))
	if err != nil {
		return nil, err
	}
	defer lock.Release()
	c, err := readCounts(dir)
	if err != nil {
		return nil, err
	}
	numbers, err := segments(dir, c.Folded)
	for _, n := range numbers {
		if err = readSegment(segment(dir, n), c.add); err != nil {
			break
		}
	}
	return c, err
}
