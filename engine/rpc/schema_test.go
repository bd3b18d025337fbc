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
	"github.com/seer-engine/seer/sdk"
)

var update = flag.Bool("update", false, "write schema.json anew")

// known are types whose JSON is not that of their fields.
var known = map[reflect.Type]*jsonschema.Schema{
	reflect.TypeFor[json.RawMessage](): {},
	reflect.TypeFor[[]byte]():          {Types: []string{"string", "null"}, ContentEncoding: "base64"},
	reflect.TypeFor[event.Event]():     {Ref: "https://seer-engine.github.io/schema/event-1.json"},
	reflect.TypeFor[sdk.MCPServer]():   {Type: "object"},
}

func schemaOf(t *testing.T, v any) *jsonschema.Schema {
	t.Helper()
	s, err := jsonschema.ForType(reflect.TypeOf(v), &jsonschema.ForOptions{TypeSchemas: known})
	if err != nil {
		t.Fatalf("%T: %v", v, err)
	}
	return s
}

// TestSchema: the published schema is that of the types.
func TestSchema(t *testing.T) {
	type method struct {
		Name   string             `json:"name"`
		Params *jsonschema.Schema `json:"params"`
		Result *jsonschema.Schema `json:"result"`
	}
	all := struct {
		Protocol int                `json:"protocol"`
		Methods  []method           `json:"methods"`
		Event    *jsonschema.Schema `json:"event"`
		Error    *jsonschema.Schema `json:"error_data"`
	}{Protocol: rpc.Version, Event: schemaOf(t, rpc.Progress{}), Error: schemaOf(t, rpc.ErrorData{})}
	methods := rpc.Methods()
	for _, name := range slices.Sorted(maps.Keys(methods)) {
		all.Methods = append(all.Methods, method{name, schemaOf(t, methods[name][0]), schemaOf(t, methods[name][1])})
	}
	want, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	if *update {
		if err := os.WriteFile("schema.json", want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, _ := os.ReadFile("schema.json"); !bytes.Equal(got, want) {
		t.Error("schema.json is not that of the types; run the test with -update")
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
