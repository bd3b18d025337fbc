// Package wiregen makes the wire types of package seer of Python from the schema of engine/rpc.
// `go test ./engine/rpc -update` writes both.
package wiregen

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Document is engine/rpc/schema.json, as far as it is needed here.
type Document struct {
	Methods []struct {
		Name   string `json:"name"`
		Params shape  `json:"params"`
		Result shape  `json:"result"`
	} `json:"methods"`
	Defs map[string]shape `json:"$defs"`
}

// shape is a JSON Schema.
type shape struct {
	Ref        string           `json:"$ref"`
	Type       oneOrMore        `json:"type"`
	Items      *shape           `json:"items"`
	Properties map[string]shape `json:"properties"`
	Required   []string         `json:"required"`
	Additional json.RawMessage  `json:"additionalProperties"`
}

// UnmarshalJSON also takes true, the schema of any value.
func (s *shape) UnmarshalJSON(text []byte) error {
	if string(text) == "true" {
		return nil
	}
	type fields shape
	return json.Unmarshal(text, (*fields)(s))
}

type oneOrMore []string

func (o *oneOrMore) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*o = oneOrMore{one}
		return nil
	}
	return json.Unmarshal(text, (*[]string)(o))
}

const head = `"""The messages of the engine, generated from engine/rpc/schema.json. Only for type checkers.

` + "``go test ./engine/rpc -update``" + ` writes this file anew.
"""

from __future__ import annotations

from typing import Any, Callable, Coroutine, Literal, Optional, Protocol, TypedDict, overload

from typing_extensions import NotRequired

Event = Callable[[dict[str, Any], str], None]
`

// Python is the module seer/_engine/wire.py: a TypedDict for each type, and the methods.
func Python(schema []byte) ([]byte, error) {
	var d Document
	if err := json.Unmarshal(schema, &d); err != nil {
		return nil, err
	}
	var b strings.Builder
	b.WriteString(head)
	for _, name := range slices.Sorted(maps.Keys(d.Defs)) {
		if err := object(&b, name, d.Defs[name]); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	b.WriteString("\n\nclass Calls(Protocol):\n    \"\"\"Makes a request, and returns its result. ``event`` hears what happens meanwhile.\"\"\"\n")
	for _, m := range d.Methods {
		params, err := spelled(m.Params)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.Name, err)
		}
		result, err := spelled(m.Result)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.Name, err)
		}
		if params == nothing {
			params = "Optional[" + nothing + "] = None"
		}
		fmt.Fprintf(&b, "\n    @overload\n    def __call__(\n        self, method: Literal[%q], params: %s, event: Optional[Event] = None\n    ) -> Coroutine[Any, Any, %s]: ...\n", m.Name, params, result)
	}
	return []byte(b.String()), nil
}

func object(b *strings.Builder, name string, s shape) error {
	fmt.Fprintf(b, "\n\nclass %s(TypedDict):\n", named(name))
	if len(s.Properties) == 0 {
		b.WriteString("    pass\n")
	}
	for _, field := range slices.Sorted(maps.Keys(s.Properties)) {
		kind, err := spelled(s.Properties[field])
		if err != nil {
			return fmt.Errorf("%s: %w", field, err)
		}
		if !slices.Contains(s.Required, field) {
			kind = "NotRequired[" + kind + "]"
		}
		fmt.Fprintf(b, "    %s: %s\n", field, kind)
	}
	return nil
}

// nothing is the name of Go's None, which means something else in Python.
const nothing = "Nothing"

func named(name string) string {
	if name == "None" {
		return nothing
	}
	return name
}

var plain = map[string]string{"string": "str", "integer": "int", "number": "float", "boolean": "bool"}

// spelled is the type as Python has it.
func spelled(s shape) (string, error) {
	if name, ok := strings.CutPrefix(s.Ref, "#/$defs/"); ok {
		return named(name), nil
	}
	kinds := slices.DeleteFunc(slices.Clone(s.Type), func(k string) bool { return k == "null" })
	if len(kinds) == 0 && s.Ref == "" {
		return "Any", nil
	}
	if len(kinds) > 1 {
		return "", fmt.Errorf("a value of several types: %v", s.Type)
	}
	found, err := "dict[str, Any]", error(nil) // also of another schema
	switch {
	case s.Ref != "":
	case kinds[0] == "array" && s.Items != nil:
		found, err = spelled(*s.Items)
		found = "list[" + found + "]"
	case kinds[0] == "object":
		var values shape
		if json.Unmarshal(s.Additional, &values) == nil && (len(values.Type) > 0 || values.Ref != "") {
			found, err = spelled(values)
			found = "dict[str, " + found + "]"
		}
	default:
		found = plain[kinds[0]]
	}
	if found == "" {
		return "", fmt.Errorf("no type of Python for %v", s.Type)
	}
	if len(kinds) < len(s.Type) {
		found = "Optional[" + found + "]"
	}
	return found, err
}
