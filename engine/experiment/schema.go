package experiment

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// SchemaID names the schema; nothing is served there.
const SchemaID = "https://seer-engine.github.io/schema/experiment-1.json"

// object is a JSON object; encoding/json writes its keys sorted, so that the
// schema is the same on every run.
type object = map[string]any

// Schema is the JSON Schema (2020-12) of the experiment file, in both its
// forms, for editors.
func Schema() []byte {
	properties := propertiesOf(Fields())
	for _, f := range stagedFields() {
		properties[f.Key] = schemaOf(f)
	}
	schema := object{
		"$schema":     "https://json-schema.org/draft/2020-12/schema",
		"$id":         SchemaID,
		"title":       "Seer experiment",
		"description": "A research environment for an AI agent, declared in one file.",
		"type":        "object", "properties": properties, "additionalProperties": false,
		"not": object{"required": []string{"sandbox"}, "anyOf": requiredEach(keysOf(stagedFields()))},
	}
	text, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		panic("experiment: the schema is made of JSON values: " + err.Error())
	}
	return append(text, '\n')
}

func requiredEach(keys []string) []any {
	var each []any
	for _, key := range keys {
		each = append(each, object{"required": []string{key}})
	}
	return each
}

func propertiesOf(fields []Field) object {
	out := object{}
	for _, f := range fields {
		out[f.Key] = schemaOf(f)
	}
	return out
}

func schemaOf(f Field) object {
	s := typeOf(f)
	switch f.Kind {
	case KindMap, KindMaps, KindPairs, KindStrings, KindInts, KindEnv, KindFree, KindFrees:
		s = orNull(s) // an empty value is an empty list or mapping
	default:
		if f.Nullable {
			s = orNull(s)
		}
	}
	s["description"] = f.Doc
	if d, ok := defaultOf(f); ok {
		s["default"] = d
	}
	return s
}

func orNull(s object) object {
	if kind, ok := s["type"].(string); ok {
		s["type"] = []string{kind, "null"}
		if enum, ok := s["enum"].([]string); ok {
			s["enum"] = append(slices.Collect(each(enum)), nil)
		}
		return s
	}
	return object{"anyOf": append(slices.Clone(s["anyOf"].([]any)), object{"type": "null"})}
}

func each(words []string) func(func(any) bool) {
	return func(yield func(any) bool) {
		for _, w := range words {
			if !yield(w) {
				return
			}
		}
	}
}

func typeOf(f Field) object {
	text := object{"type": "string", "minLength": 1}
	switch f.Kind {
	case KindString:
		if f.Enum != nil {
			return object{"type": "string", "enum": f.Enum}
		}
		if f.Pattern != "" {
			return object{"type": "string", "pattern": f.Pattern}
		}
		return text
	case KindInt:
		return integerOf(f)
	case KindNumber:
		return object{"type": "number", "exclusiveMinimum": 0, "maximum": f.Max}
	case KindSize:
		return object{"anyOf": []any{
			object{"type": "number", "exclusiveMinimum": 0, "maximum": f.Max},
			object{"type": "string", "pattern": sizePattern},
		}}
	case KindShare:
		return object{"anyOf": []any{
			object{"type": "integer", "minimum": 2, "maximum": maxParts},
			object{"type": "string", "pattern": sizePattern},
		}}
	case KindBool:
		return object{"type": "boolean"}
	case KindDuration:
		return object{"anyOf": []any{
			object{"type": "integer", "minimum": 1, "maximum": int(MaxDuration.Seconds())},
			object{"type": "string", "pattern": `^([0-9]+(\.[0-9]+)?(h|m|s))+$|^[0-9]+d$`},
		}}
	case KindStrings:
		return object{"type": "array", "items": text}
	case KindInts:
		return object{"type": "array", "items": integerOf(f)}
	case KindOneOrAll:
		return object{"anyOf": []any{text, object{"type": "array", "items": text, "minItems": 1}}}
	case KindEnv:
		return object{"type": "object", "additionalProperties": object{"type": []string{"string", "number", "boolean"}}}
	case KindFree:
		return object{"type": "object"}
	case KindFrees:
		return object{"type": "object", "additionalProperties": object{"type": "object"}}
	default:
		return compositeOf(f, text)
	}
}

func integerOf(f Field) object {
	s := object{"type": "integer"}
	if f.Min != 0 || f.Max != 0 {
		s["minimum"], s["maximum"] = f.Min, f.Max
	}
	return s
}

func compositeOf(f Field, text object) object {
	m := object{"type": "object", "properties": propertiesOf(f.Fields), "additionalProperties": false}
	var required []string
	for _, inner := range f.Fields {
		if inner.Required {
			required = append(required, inner.Key)
		}
	}
	if required != nil {
		m["required"] = required
	}
	switch {
	case f.Kind == KindMap:
		return m
	case f.Kind == KindPairs:
		pair := object{"type": "array", "items": text, "minItems": 2, "maxItems": 2}
		return object{"type": "array", "items": object{"anyOf": []any{pair, m}}}
	case f.Short != "":
		return object{"type": "array", "items": object{"anyOf": []any{text, m}}}
	default:
		return object{"type": "array", "items": m}
	}
}

func defaultOf(f Field) (any, bool) {
	switch {
	case f.Default == "":
		return nil, false
	case f.Default == "null":
		return nil, true
	case f.Kind == KindInt, f.Kind == KindDuration:
		n, err := strconv.Atoi(f.Default)
		return n, err == nil
	case f.Kind == KindBool:
		return f.Default == "true", true
	default:
		return strings.Clone(f.Default), true
	}
}
