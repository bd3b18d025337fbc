package report

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/seer-engine/seer/engine/protocol/value"
	"github.com/seer-engine/seer/engine/record"
	"github.com/seer-engine/seer/engine/runs"
	"github.com/seer-engine/seer/internal/lazyregexp"
)

const (
	maxBody   = 256 << 10 // bytes of a value that is shown; larger ones are named
	maxValue  = 4 << 20   // bytes of the same, decompressed
	maxBodies = 20_000    // calls whose values are read
)

// call is a call of the record with its values as texts.
type call struct {
	record.Entry
	Anchor                    string // name of its place in the page
	Arguments, Result, Output body
}

// body is a value of the record.
type body struct {
	Text  string // as JSON
	Where string // the file that has the whole
}

// plainID is an ID that is a name of a place as it is.
var plainID = lazyregexp.New(`^[A-Za-z0-9_.-]{1,80}$`)

func (s *source) readCalls() {
	entries, err := s.run.Calls()
	s.fault("the record of calls", err)
	seen := map[string]int{}
	for _, e := range entries {
		seen[e.ID]++
	}
	s.calls, s.byID = make([]call, len(entries)), map[string]*call{}
	for i, e := range entries {
		c := call{Entry: e, Anchor: "call-" + e.ID}
		if seen[e.ID] > 1 || !plainID().MatchString(e.ID) {
			c.Anchor = fmt.Sprintf("call..%d", i+1) // no ID: two points
		} else {
			s.byID[e.ID] = &s.calls[i]
		}
		if i < maxBodies {
			c.Arguments, c.Result = s.body(e.Arguments), s.body(e.Result)
			c.Output = s.body(e.Output)
			c.Output.Text = printed(c.Output.Text)
		}
		s.calls[i] = c
	}
	s.scalars = scalarsOf(s.calls)
}

// body reads a value by its hash. A value that is no longer what its hash says is not shown.
func (s *source) body(hash string) body {
	if len(hash) != 64 || strings.Trim(hash, "0123456789abcdef") != "" {
		return body{}
	}
	b := body{Where: path.Join(runs.RecordName, "bodies", hash[:2], hash)}
	data, err := s.run.ReadFile(b.Where, maxBody)
	if err != nil {
		b.Text = fmt.Sprintf("not shown: it cannot be read, or has more than %d bytes", maxBody)
		return b
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != hash {
		b.Text = "not shown: the file was changed since it was recorded"
		s.fault(b.Where, fmt.Errorf("the file is not what its name says"))
		return b
	}
	v, err := value.Parse(data, true, value.Limits{Bytes: maxValue})
	if err == nil {
		var text json.RawMessage
		if text, err = v.Plain(value.PlainOptions{Limit: maxValue, Shorten: 64}); err == nil {
			b.Text = string(text)
		}
	}
	if err != nil {
		b.Text = "not shown: " + err.Error()
	}
	return b
}

// printed joins what a function has printed.
func printed(text string) string {
	var parts [][2]json.RawMessage
	if text == "" || json.Unmarshal([]byte(text), &parts) != nil {
		return text
	}
	var out strings.Builder
	for _, p := range parts {
		var part string
		if json.Unmarshal(p[1], &part) == nil {
			out.WriteString(part)
		}
	}
	return out.String()
}

// indented is JSON with a line for each field, where that fits a page.
func indented(text string) string {
	var out bytes.Buffer
	if len(text) < 60 || json.Indent(&out, []byte(text), "", "  ") != nil {
		return text
	}
	return out.String()
}
