package protocol

import (
	"bytes"
	"encoding/json"
)

// How numbers that JSON does not have are written by [Plain].
const (
	NaN           = "NaN"
	Infinity      = "Infinity"
	MinusInfinity = "-Infinity"
)

const tag = "$seer"

// Plain is a value as JSON that anybody can read: a tagged float is one of the
// texts [NaN], [Infinity] and [MinusInfinity]. A value without tags is returned as
// it is; whole numbers stay exact.
func Plain(value json.RawMessage) (json.RawMessage, error) {
	if !bytes.Contains(value, []byte(tag)) {
		return value, nil
	}
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	err := e.Encode(untag(v))
	return bytes.TrimSpace(out.Bytes()), err
}

func untag(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = untag(v[i])
		}
	case map[string]any:
		if inner, ok := v[tag].(map[string]any); ok && len(v) == 1 {
			return untagged(inner)
		}
		for k := range v {
			v[k] = untag(v[k])
		}
	}
	return v
}

// untagged is what a tag stands for; an unknown one is shown as it is.
func untagged(inner map[string]any) any {
	if dict, ok := inner["dict"].(map[string]any); ok {
		for k := range dict {
			dict[k] = untag(dict[k])
		}
		return dict
	}
	switch inner["float"] {
	case "nan":
		return NaN
	case "inf":
		return Infinity
	case "-inf":
		return MinusInfinity
	}
	return map[string]any{tag: inner}
}
