package mcp

import (
	"bytes"
	"encoding/json"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/internal/lazyregexp"
	"github.com/seer-engine/seer/sdk"
)

const (
	tag       = "$seer" // of what JSON cannot say; docs/protocol.md, section 4
	handleKey = "handle"
	nextKey   = "next" // what can be done now
)

// handleID is what the id of a handle looks like.
var handleID = lazyregexp.New(`^h-[A-Za-z0-9_.-]{1,100}$`)

// callBody is the body of a call: the arguments of a tool, with {"handle": "h-…"}
// for what stayed in the sandbox.
func callBody(fn sdk.Function, raw json.RawMessage) (*client.Body, error) {
	args, kwargs, err := bind(fn, raw)
	if err != nil {
		return nil, err
	}
	if args == nil {
		args = []any{}
	}
	data, err := json.Marshal(map[string]any{"args": args, "kwargs": kwargs})
	if err != nil {
		return nil, err
	}
	if !bytes.Contains(data, []byte(`"`+handleKey+`"`)) {
		return &client.Body{Data: data}, nil
	}
	value, err := decode(data)
	if err != nil {
		return nil, err
	}
	found := false
	tagged, err := json.Marshal(tagHandles(value, &found))
	if err != nil || !found {
		return &client.Body{Data: data}, err
	}
	return &client.Body{Data: tagged, Tagged: true}, nil
}

// decode keeps numbers as they are.
func decode(data []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	return v, err
}

// tagHandles writes references to handles as the sandbox reads them. What looks like
// a tag and is the agent's own is marked as such.
func tagHandles(v any, found *bool) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = tagHandles(v[i], found)
		}
	case map[string]any:
		if id := referenced(v); id != "" {
			*found = true
			return map[string]any{tag: map[string]any{handleKey: map[string]any{"id": id}}}
		}
		_, own := v[tag]
		for k := range v {
			v[k] = tagHandles(v[k], found)
		}
		if own {
			return map[string]any{tag: map[string]any{"dict": v}}
		}
	}
	return v
}

// referenced is the id in {"handle": "h-…"}, and in the {"handle": {"id": "h-…", …}} that
// a tool has answered, with what stood beside it.
func referenced(v map[string]any) string {
	_, whole := v[nextKey]
	if len(v) != 1 && (len(v) != 2 || !whole) {
		return ""
	}
	id, ok := v[handleKey].(string)
	if inner, isObject := v[handleKey].(map[string]any); isObject {
		id, ok = inner["id"].(string)
	}
	if !ok || !handleID().MatchString(id) {
		return ""
	}
	return id
}
