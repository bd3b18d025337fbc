package inspectlog

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/protocol/value"
	"github.com/seer-engine/seer/engine/record"
	"github.com/seer-engine/seer/engine/runs"
)

const (
	maxBody  = 1 << 20 // bytes of a value in the log
	maxValue = 4 << 20 // bytes of the same, decompressed
)

// timed is an event of Inspect.
type timed struct {
	at    time.Time
	event object
}

func (b *builder) add(at time.Time, e object) {
	if at.Year() < 1970 || at.Year() > 9999 { // a stranger's
		at = b.run.Started
	}
	e["timestamp"], e["working_start"] = stamp(at), max(0, at.Sub(b.run.Started).Seconds())
	b.events = append(b.events, timed{at, e})
}

// sorted are the events in the order of their times, which the clocks of two computers make.
func (b *builder) sorted() []object {
	slices.SortStableFunc(b.events, func(x, y timed) int { return x.at.Compare(y.at) })
	all := make([]object, len(b.events))
	for i, e := range b.events {
		e.event["uuid"] = fmt.Sprintf("%s-%d", b.run.ID, i+1)
		all[i] = e.event
	}
	return all
}

func (b *builder) info(at time.Time, source event.Type, data any) {
	b.add(at, object{"event": "info", "source": "seer " + string(source), "data": data})
}

func (b *builder) warn(message string) {
	b.info(b.run.Last, "warning", object{"message": valid(message)})
}

// addCalls adds the calls of exposed functions.
func (b *builder) addCalls() {
	calls, err := b.run.Calls()
	if err != nil {
		b.warn("the record of calls cannot be read: " + err.Error())
	}
	for _, c := range calls {
		began := cmp.Or(c.Started, c.Queued, c.Ended)
		e := object{
			"event": "tool", "type": "function", "id": c.ID, "function": valid(c.Service + "." + c.Function),
			"arguments": b.arguments(c.Arguments), "result": b.body(c.Result), "events": []any{},
			"metadata": object{"seer": c, "call": c.ID},
		}
		if c.Ended > 0 {
			e["completed"] = stamp(instant(c.Ended))
		}
		if c.Seconds >= 0 && c.Seconds < 1e9 {
			e["working_time"] = c.Seconds
		}
		if kind, message := failure(c); message != "" {
			e["error"], e["failed"] = object{"type": kind, "message": cut(message, maxBody)}, true
		}
		b.add(instant(began), e)
	}
}

// instant is a time in unix seconds; one that no calendar has is the zero time.
func instant(seconds float64) time.Time {
	if !(seconds > 0 && seconds < 1e11) {
		return time.Time{}
	}
	whole, part := math.Modf(seconds)
	return time.Unix(int64(whole), int64(part*1e9)).UTC()
}

// failure is the kind of Inspect's errors of tools, and what went wrong.
func failure(c record.Entry) (kind, message string) {
	message = string(c.State)
	if c.Error != nil {
		message = c.Error.Error()
	}
	switch c.State {
	case protocol.CallDone, protocol.CallQueued, protocol.CallRunning:
		if c.Error == nil {
			return "", ""
		}
	case protocol.CallWasCancelled, protocol.CallWasCut:
		return "cancelled", message
	case record.Refused:
		return "limit", message
	}
	return "unknown", message
}

// arguments are named ones as they are, and unnamed ones in args.
func (b *builder) arguments(hash string) object {
	text := b.body(hash)
	var call struct {
		Args   []json.RawMessage          `json:"args"`
		Kwargs map[string]json.RawMessage `json:"kwargs"`
	}
	if json.Unmarshal([]byte(text), &call) != nil {
		return object{"arguments": text}
	}
	all := object{}
	for name, v := range call.Kwargs {
		all[name] = v
	}
	if len(call.Args) > 0 {
		all["args"] = call.Args
	}
	return all
}

// body is a value of the record as JSON, or a note in its place.
func (b *builder) body(hash string) string {
	if len(hash) != 64 || strings.Trim(hash, "0123456789abcdef") != "" {
		return ""
	}
	name := path.Join(runs.RecordName, "bodies", hash[:2], hash)
	data, err := b.run.ReadFile(name, maxBody)
	if err != nil {
		return "[not here; see " + name + "]"
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != hash {
		return "[" + name + " was changed since it was recorded]"
	}
	var text json.RawMessage
	v, err := value.Parse(data, true, value.Limits{Bytes: maxValue})
	if err == nil {
		text, err = v.Plain(value.PlainOptions{Limit: maxValue, Shorten: 1 << 10})
	}
	if err != nil {
		return "[not here: " + err.Error() + "; see " + name + "]"
	}
	return valid(string(text))
}
