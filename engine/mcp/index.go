package mcp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/seer-engine/seer/engine/mcp/internal/reply"
)

// parseIndex reads an index as NumPy writes it: "3", "0:10", "..., 0", "None", "::2, [1, 5]".
// Anything else, or what stands in quotes, is a column or a key. The keys of several axes
// are {"at": […]} of docs/protocol.md, 8.
func parseIndex(text string) (any, error) {
	text = strings.TrimSpace(text)
	if inner, ok := strings.CutPrefix(text, "["); ok && strings.HasSuffix(text, "]") && !strings.ContainsAny(inner[:len(inner)-1], "[]") &&
		(strings.Contains(inner, ":") || strings.Contains(inner, "...")) {
		text = inner[:len(inner)-1] // x[0:3] as the model thinks of it
	}
	pieces, err := splitIndex(text)
	if err != nil {
		return nil, err
	}
	keys := make([]any, len(pieces))
	for i, piece := range pieces {
		if keys[i], err = parseKey(piece); err != nil {
			return nil, err
		}
	}
	if len(keys) == 1 {
		return keys[0], nil
	}
	if slices.ContainsFunc(keys, func(k any) bool { s, ok := k.(string); return ok && s != "..." }) {
		return nil, fmt.Errorf("the index %q has a name among several axes; put a name that has commas in quotes", text)
	}
	return map[string]any{"at": keys}, nil
}

// splitIndex cuts at the commas that are not in brackets or quotes.
func splitIndex(text string) ([]string, error) {
	var pieces []string
	depth, start := 0, 0
	var quote byte
	for i := range len(text) {
		c := text[i]
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '[':
			depth++
		case c == ']':
			depth--
		case c == ',' && depth == 0:
			pieces = append(pieces, text[start:i])
			start = i + 1
		}
		if depth < 0 {
			break
		}
	}
	if depth != 0 || quote != 0 {
		return nil, fmt.Errorf("the index %q has brackets or quotes that do not match", text)
	}
	pieces = append(pieces, text[start:])
	if len(pieces) > 1 && strings.TrimSpace(pieces[len(pieces)-1]) == "" {
		pieces = pieces[:len(pieces)-1] // "3," is a tuple of one
	}
	if len(pieces) > 64 {
		return nil, fmt.Errorf("the index %q has more than 64 axes", reply.Cut(text, 80))
	}
	return pieces, nil
}

func parseKey(text string) (any, error) {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return nil, fmt.Errorf("an index has an axis with nothing in it")
	case text == "...":
		return "...", nil
	case text == "None" || text == "null" || text == "newaxis":
		return nil, nil
	case len(text) > 1 && (text[0] == '"' || text[0] == '\'') && text[len(text)-1] == text[0]:
		return text[1 : len(text)-1], nil
	case text[0] == '[':
		return parseList(text)
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, nil
	}
	if bounds, ok := parseSlice(text); ok {
		return map[string]any{"slice": bounds}, nil
	}
	return text, nil
}

func parseList(text string) (any, error) {
	var list []any
	d := json.NewDecoder(strings.NewReader(strings.NewReplacer("True", "true", "False", "false").Replace(text)))
	d.UseNumber()
	if err := d.Decode(&list); err != nil {
		return nil, fmt.Errorf("%q is not a list of integers or booleans", text)
	}
	for _, v := range list {
		if n, ok := v.(json.Number); ok {
			if _, err := n.Int64(); err == nil {
				continue
			}
		} else if _, ok := v.(bool); ok {
			continue
		}
		return nil, fmt.Errorf("%q is not a list of integers or booleans", text)
	}
	return list, nil
}

func parseSlice(text string) ([]any, bool) {
	parts := strings.Split(text, ":")
	if len(parts) < 2 || len(parts) > 3 {
		return nil, false
	}
	bounds := []any{nil, nil, nil}
	for i, part := range parts {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		n, err := strconv.ParseInt(part, 10, 64)
		if err != nil {
			return nil, false
		}
		bounds[i] = n
	}
	return bounds, true
}
