package namesearch

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/seer-engine/seer/internal/lazyregexp"
)

const (
	countBlock = 64 << 10 // bytes that a Counter collects before it looks at them
	countKept  = 4 << 10  // bytes of a block that are looked at with the next one, too
	countEdge  = 64       // at the end of a block: what follows may change what stands there
)

// colours are those of terminals, which IPython puts between the parts of a name.
var colours = lazyregexp.New(`\x1b\[[0-9;]*m`)

// Counter counts names in a text that is written to it piece by piece: as they stand, in
// any case and with any separators, also across pieces. Colours of terminals count as
// nothing. Names right beside each other are one.
type Counter struct {
	names Names
	held  []byte
	done  int // how much of held has been counted
	total int
}

// NewCounter counts the names.
func (n Names) NewCounter() *Counter { return &Counter{names: n} }

func (c *Counter) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		n := min(len(rest), countBlock+countKept-len(c.held))
		c.held = append(c.held, rest[:n]...)
		if rest = rest[n:]; len(c.held) == countBlock+countKept {
			c.look(false)
		}
	}
	return len(p), nil
}

// Count is how many names there were. Nothing may be written afterwards.
func (c *Counter) Count() int {
	c.look(true)
	return c.total
}

// look counts what is held, up to its edge where more may follow.
func (c *Counter) look(last bool) {
	if c.names.foreign {
		c.rewrite(norm.NFC.Bytes)
	}
	if bytes.IndexByte(c.held, '\x1b') >= 0 {
		c.rewrite(func(text []byte) []byte { return colours().ReplaceAll(text, nil) })
	}
	edge := len(c.held)
	if !last {
		edge = max(0, edge-countEdge)
	}
	for _, s := range c.names.spans(c.held) {
		if s.from >= c.done && s.to <= edge {
			c.total, c.done = c.total+1, s.to
		}
	}
	if cut := len(c.held) - countKept; cut > 0 {
		c.held, c.done = append(c.held[:0:0], c.held[cut:]...), max(0, c.done-cut)
	}
}

// rewrite changes what is held, and what of it has been counted alike.
func (c *Counter) rewrite(change func([]byte) []byte) {
	c.done = len(change(c.held[:c.done]))
	c.held = change(c.held)
}

// span is a place in a text.
type span struct{ from, to int }

// spans are the places of names. Places that overlap, or that only separators part, are
// one: each word of a name may be a pattern.
func (n Names) spans(text []byte) (spans []span) {
	var all []span
	n.each(text, func(from, to int) bool {
		all = append(all, span{from, to})
		return true
	})
	slices.SortFunc(all, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	for _, s := range all {
		if last := len(spans) - 1; last >= 0 && joined(text, spans[last].to, s.from) {
			spans[last].to = max(spans[last].to, s.to)
			continue
		}
		spans = append(spans, s)
	}
	return spans
}

// joined reports whether nothing but separators of a name is between two places.
func joined(text []byte, from, to int) bool {
	return to <= from || to-from <= maxGap && !bytes.ContainsFunc(text[min(from, len(text)):min(to, len(text))], func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '\n' })
}

// Sighting is a place where names are.
type Sighting struct {
	Path  string // below the folder that was searched
	Form  string // how a name is written; "" = as it stands
	Times int    // 1 where they are not written as they stand
}

// Sightings counts names in everything below the folder below in the folder in, in names of
// files as well. unsearched lists what could not be searched whole, and why.
func (n Names) Sightings(ctx context.Context, in, below string) (found []Sighting, unsearched []string) {
	_ = filepath.WalkDir(filepath.Join(in, below), func(path string, d fs.DirEntry, err error) error {
		if err != nil || ctx.Err() != nil {
			return ctx.Err()
		}
		rel, err := filepath.Rel(in, path)
		if err != nil {
			return err
		}
		if form, is := n.Find(ctx, []byte(d.Name())); is {
			found = append(found, Sighting{"the name of " + rel, form, 1})
		}
		if !d.Type().IsRegular() {
			return nil
		}
		form, is, err := n.FindIn(ctx, path)
		var not *UnsearchedError
		switch {
		case errors.As(err, &not):
			unsearched = append(unsearched, rel+": "+not.Why)
		case is:
			found = append(found, Sighting{rel, form, max(1, n.countIn(path))})
		}
		return nil
	})
	return found, unsearched
}

// countIn counts names in a file as they stand there.
func (n Names) countIn(path string) int {
	f, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer f.Close()
	c := n.NewCounter()
	_, _ = io.Copy(c, f)
	return c.Count()
}
