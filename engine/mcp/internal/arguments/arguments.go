// Package arguments reads the arguments of MCP tools strictly, with errors that a model can
// act on.
package arguments

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/seer-engine/seer/internal/spelling"
)

// argument is what the input schema of a tool says of one.
type argument struct {
	Type string `json:"type"`
}

type arguments struct {
	Properties map[string]argument `json:"properties"`
	Required   []string            `json:"required"`
}

// Strict reads the arguments of a tool into a struct. One that the tool's input schema
// does not have, that is missing or of another type is an error, in words that a model
// can act on. A list or an object may come as JSON text; see [Parsed].
func Strict(schema any, raw json.RawMessage, into any) error {
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || string(raw) == "null" {
		raw = json.RawMessage(`{}`)
	}
	raw = Parsed(schema, raw)
	var given map[string]json.RawMessage
	d := json.NewDecoder(bytes.NewReader(raw))
	if err := d.Decode(&given); err != nil {
		return fmt.Errorf("the arguments are not a JSON object: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more than one object")
	}
	known, err := argumentsOf(schema)
	if err != nil {
		return err
	}
	if err := known.check(given); err != nil {
		return err
	}
	d = json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	return known.typeError(d.Decode(into))
}

// Renamed gives the one argument among names that the tool's input schema has its name
// where it was given under another one of them. What is wrong otherwise is left to [Strict].
func Renamed(schema any, raw json.RawMessage, names ...string) json.RawMessage {
	known, err := argumentsOf(schema)
	if err != nil {
		return raw
	}
	own := slices.DeleteFunc(slices.Clone(names), func(name string) bool { _, ok := known.Properties[name]; return !ok })
	var given map[string]json.RawMessage
	if len(own) != 1 || json.Unmarshal(raw, &given) != nil {
		return raw
	}
	under := slices.DeleteFunc(slices.Clone(names), func(name string) bool { _, ok := given[name]; return !ok })
	if len(under) != 1 || under[0] == own[0] {
		return raw
	}
	given[own[0]] = given[under[0]]
	delete(given, under[0])
	renamed, err := json.Marshal(given)
	if err != nil {
		return raw
	}
	return renamed
}

func argumentsOf(schema any) (a arguments, err error) {
	data, err := json.Marshal(schema)
	if err == nil {
		err = json.Unmarshal(data, &a)
	}
	return a, err
}

func (a arguments) check(given map[string]json.RawMessage) error {
	var unknown, missing []string
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if _, ok := a.Properties[name]; !ok {
			unknown = append(unknown, name)
		}
	}
	for _, name := range a.Required {
		if _, ok := given[name]; !ok {
			missing = append(missing, name)
		}
	}
	switch {
	case len(unknown) > 0:
		return fmt.Errorf("there is no argument %s; %s", quoted(unknown), a.hint(unknown, missing))
	case len(missing) > 0:
		return fmt.Errorf("the argument %s is missing; it takes %s", strings.Join(missing, ", "), a.takes())
	}
	return nil
}

// hint says what was probably meant, and else everything that the tool takes.
func (a arguments) hint(unknown, missing []string) string {
	near := ""
	if len(unknown) == 1 {
		near = a.near(unknown[0])
	}
	switch {
	case len(unknown) == 1 && len(missing) == 1 && near == "":
		return "did you mean `" + missing[0] + "`? It takes " + a.takes()
	case near != "" && len(missing) == 1 && near != missing[0]:
		return "did you mean `" + missing[0] + "`, which is missing, or `" + near + "`?"
	case near != "":
		return "did you mean `" + near + "`?"
	}
	return "it takes " + a.takes()
}

// near is the argument whose name is almost this one, or a part of it.
func (a arguments) near(name string) string {
	name = plain(name)
	best, distance := "", 1+max(1, min(len(name)/3, 3))
	for _, known := range slices.Sorted(maps.Keys(a.Properties)) {
		d, p := spelling.Distance(name, plain(known)), plain(known)
		if min(len(name), len(p)) > 2 && (strings.HasSuffix(name, p) || strings.HasSuffix(p, name) || strings.HasPrefix(name, p) || strings.HasPrefix(p, name)) {
			d = 1
		}
		if d < distance {
			best, distance = known, d
		}
	}
	return best
}

func plain(name string) string {
	return strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(name))
}

// takes lists the arguments, those first that are needed.
func (a arguments) takes() string {
	names := slices.Clone(a.Required)
	for _, name := range slices.Sorted(maps.Keys(a.Properties)) {
		if !slices.Contains(a.Required, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "none"
	}
	return quoted(names)
}

func quoted(names []string) string { return "`" + strings.Join(names, "`, `") + "`" }

// typeError says in the words of JSON what Go says of its types.
func (a arguments) typeError(err error) error {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return err
	}
	want := "an object"
	switch kind := wrong.Type.Kind().String(); {
	case kind == "string":
		want = "a string"
	case kind == "bool":
		want = "true or false"
	case strings.HasPrefix(kind, "int"):
		want = "a whole number"
	case strings.HasPrefix(kind, "float"):
		want = "a number"
	case kind == "slice":
		want = "a list"
	}
	what := "`" + wrong.Field + "`"
	switch kind := a.Properties[wrong.Field].Type; {
	case kind == "object" && want != "an object":
		what = "each value of " + what
	case kind == "array" && want != "a list":
		what = "each item of " + what
	default:
		return fmt.Errorf("%s must be %s, and is the JSON value %s", what, want, wrong.Value)
	}
	return fmt.Errorf("%s must be %s, and one is the JSON value %s", what, want, wrong.Value)
}
