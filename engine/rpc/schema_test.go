package rpc_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/rpc"
	"github.com/seer-engine/seer/internal/wiregen"
	"github.com/seer-engine/seer/sdk"
)

var update = flag.Bool("update", false, "write schema.json and the wire types of Python anew")

// known are types whose JSON is not that of their fields.
var known = map[reflect.Type]*jsonschema.Schema{
	reflect.TypeFor[json.RawMessage](): {},
	reflect.TypeFor[[]byte]():          {Types: []string{"string", "null"}, ContentEncoding: "base64"},
	reflect.TypeFor[event.Event]():     {Ref: "https://seer-engine.github.io/schema/event-1.json"},
	reflect.TypeFor[sdk.MCPServer]():   {Type: "object"},
}

// schemas are those of types by their names; one type refers to another one by its name.
type schemas struct {
	t     *testing.T
	types map[string]reflect.Type
	made  map[string]*jsonschema.Schema
}

// ref is a reference to the schema of a type, which it makes.
func (s *schemas) ref(typ reflect.Type) *jsonschema.Schema {
	s.t.Helper()
	name := typ.Name()
	if before := s.types[name]; before != nil && before != typ {
		s.t.Fatalf("%s and %s have the same name", before, typ)
	}
	ref := &jsonschema.Schema{Ref: "#/$defs/" + name}
	if s.types[name] != nil {
		return ref
	}
	s.types[name] = typ
	others := maps.Clone(known)
	s.parts(typ, others)
	made, err := jsonschema.ForType(typ, &jsonschema.ForOptions{TypeSchemas: others})
	if err != nil {
		s.t.Fatalf("%s: %v", typ, err)
	}
	s.made[name] = made
	return ref
}

// parts adds references to the structs that a type is made of.
func (s *schemas) parts(typ reflect.Type, to map[reflect.Type]*jsonschema.Schema) {
	for field := range typ.Fields() {
		part := field.Type
		for part.Kind() == reflect.Pointer || part.Kind() == reflect.Slice || part.Kind() == reflect.Map {
			part = part.Elem()
		}
		switch {
		case known[field.Type] != nil || known[part] != nil || part.Kind() != reflect.Struct || part.PkgPath() == "time":
		case field.Anonymous: // its fields are those of the type
			s.parts(part, to)
		default:
			to[part] = s.ref(part)
		}
	}
}

// TestSchema: the published schema is that of the types, and the types of Python are its.
func TestSchema(t *testing.T) {
	type method struct {
		Name   string             `json:"name"`
		Params *jsonschema.Schema `json:"params"`
		Result *jsonschema.Schema `json:"result"`
	}
	of := schemas{t, map[string]reflect.Type{}, map[string]*jsonschema.Schema{}}
	all := struct {
		Protocol int                           `json:"protocol"`
		Methods  []method                      `json:"methods"`
		Event    *jsonschema.Schema            `json:"event"`
		Error    *jsonschema.Schema            `json:"error_data"`
		Defs     map[string]*jsonschema.Schema `json:"$defs"`
	}{Protocol: rpc.Version, Event: of.ref(reflect.TypeFor[rpc.Progress]()), Error: of.ref(reflect.TypeFor[rpc.ErrorData]()), Defs: of.made}
	methods := rpc.Methods()
	for _, name := range slices.Sorted(maps.Keys(methods)) {
		all.Methods = append(all.Methods, method{name, of.ref(reflect.TypeOf(methods[name][0])), of.ref(reflect.TypeOf(methods[name][1]))})
	}
	schema, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	schema = append(schema, '\n')
	python, err := wiregen.Python(schema)
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string][]byte{"schema.json": schema, "../../python/seer/_engine/wire.py": python} {
		if *update {
			if err := os.WriteFile(file, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, _ := os.ReadFile(file); !bytes.Equal(got, want) {
			t.Errorf("%s is not that of the types; run the test with -update", file)
		}
	}
	docs, err := os.ReadFile("../../docs/engine-process.md")
	if err != nil {
		t.Fatal(err)
	}
	for name := range methods {
		if !strings.Contains(string(docs), "`"+name+"`") {
			t.Errorf("docs/engine-process.md does not have %s", name)
		}
	}
}
