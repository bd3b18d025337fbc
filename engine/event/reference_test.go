package event_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	validator "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/event/eventtext"
	"github.com/seer-engine/seer/internal/testkit"
)

var update = flag.Bool("update", false, "write docs/events.md and schema.json anew")

const (
	schemaFile = "schema.json"
	docs       = "../../docs/events.md"
	schemaID   = "https://seer-engine.github.io/schema/event-1.json"
)

// filled is the data of a type with a value in every field: that of a text is the name of the
// field in capitals.
func filled(t *testing.T, d event.Data) event.Data {
	t.Helper()
	v := reflect.New(reflect.TypeOf(d)).Elem()
	v.Set(reflect.ValueOf(d))
	for i := range v.NumField() {
		field := v.Type().Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch to := v.Field(i); {
		case name == "-" || field.Anonymous:
		case field.Type.Kind() == reflect.String:
			to.SetString(strings.ToUpper(name))
		case field.Type == reflect.TypeFor[[]event.Package]():
			to.Set(reflect.ValueOf([]event.Package{{Name: "NAME", Version: "VERSION", System: true, SHA256: "SHA256"}}))
		case field.Type.Kind() == reflect.Slice:
			to.Set(reflect.ValueOf([]string{strings.ToUpper(name)}))
		case field.Type.Kind() == reflect.Map:
			to.Set(reflect.ValueOf(map[string]any{"sessionUpdate": "plan"}))
		case to.CanInt():
			to.SetInt(2_000_000_000)
			if field.Type.Kind() == reflect.Int {
				to.SetInt(3)
			}
		case to.CanFloat():
			to.SetFloat(1.5)
		case field.Type.Kind() == reflect.Bool:
		default:
			t.Fatalf("%T.%s: the test knows no value of this type", d, field.Name)
		}
	}
	return v.Interface().(event.Data)
}

func eventOf(d event.Data) event.Event {
	return event.Event{Seq: 1, Time: time.Unix(1, 0).UTC(), Run: "run-1", Source: event.SourceEngine, Type: event.TypeOf(d), Data: d}
}

func dataSchema(t *testing.T, d event.Data) *jsonschema.Schema {
	t.Helper()
	s, err := jsonschema.ForType(reflect.TypeOf(d), nil)
	if err != nil {
		t.Fatal(err)
	}
	open(s)
	return s
}

// open allows fields that later versions add.
func open(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	s.AdditionalProperties = nil
	if len(s.Properties) == 0 {
		s.Properties = nil
	}
	for _, p := range s.Properties {
		open(p)
	}
	open(s.Items)
}

// schema is the JSON Schema of all events.
func schema(t *testing.T) []byte {
	t.Helper()
	text := func(doc string) map[string]any { return map[string]any{"type": "string", "description": doc} }
	types := []any{}
	for _, d := range event.Types() {
		types = append(types, map[string]any{
			"if":   map[string]any{"properties": map[string]any{"type": map[string]any{"const": event.TypeOf(d)}}},
			"then": map[string]any{"properties": map[string]any{"data": dataSchema(t, d)}},
		})
	}
	out, err := json.MarshalIndent(map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": schemaID,
		"title": "Seer event", "type": "object",
		"description": "One thing that happened in a run. Ignore types and fields that you do not know.",
		"required":    []string{"seq", "time", "run", "source", "type", "data"},
		"properties": map[string]any{
			"seq":    map[string]any{"type": "integer", "minimum": 0, "description": "1, 2, 3 … in a run; 0 = for a display only, in no log"},
			"time":   map[string]any{"type": "string", "format": "date-time", "description": "UTC"},
			"run":    text("ID of the run or operation"),
			"source": text("who reports it: engine, cli"),
			"type":   map[string]any{"type": "string", "pattern": `^[a-z]+\.[a-z_]+$`, "description": "a stage and what happened"},
			"data":   map[string]any{"type": "object"},
		},
		"allOf": types,
	}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(out, '\n')
}

func TestSchemaIsUpToDate(t *testing.T) {
	testkit.Golden(t, *update, schemaFile, string(schema(t)))
}

func TestReferenceIsInTheDocs(t *testing.T) {
	var b strings.Builder
	b.WriteString("\n| type | kind | data | sentence |\n|---|---|---|---|\n")
	for _, d := range event.Types() {
		e := eventOf(filled(t, d))
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", e.Type, e.Kind(), fields(t, d), strings.ReplaceAll(eventtext.Sentence(e), "|", `\|`))
	}
	testkit.GoldenReference(t, *update, docs, b.String())
}

// fields lists the fields of a type with what they mean.
func fields(t *testing.T, d event.Data) string {
	t.Helper()
	s := dataSchema(t, d)
	var out []string
	for _, name := range s.PropertyOrder {
		text := "`" + name + "`"
		if doc := s.Properties[name].Description; doc != "" {
			text += " (" + doc + ")"
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

func compiled(t *testing.T) *validator.Schema {
	t.Helper()
	s, err := validator.NewCompiler().Compile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func validate(t *testing.T, s *validator.Schema, text []byte) error {
	t.Helper()
	doc, err := validator.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(doc)
}

// Every type of event fits the schema, comes back from JSON as it was, has a sentence of its
// own and a name that no other has.
func TestEveryType(t *testing.T) {
	s := compiled(t)
	seen := map[event.Type]bool{}
	for _, d := range event.Types() {
		name := event.TypeOf(d)
		if seen[name] {
			t.Errorf("%s: two types have this name", name)
		}
		seen[name] = true
		e := eventOf(filled(t, d))
		text, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate(t, s, text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		var back event.Event
		if err := json.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(back, e) {
			t.Errorf("%s: %+v, %v", text, back, err)
		}
		if said := eventtext.Sentence(e); said == "" || strings.Contains(said, string(name)) || strings.Contains(said, "<no value>") {
			t.Errorf("%s: the sentence is %q", name, said)
		}
	}
}

func TestSchemaRefusesWrongData(t *testing.T) {
	s := compiled(t)
	for _, text := range []string{
		`{"seq":1,"time":"2026-01-02T03:04:05Z","run":"r","source":"engine","type":"boot.ready","data":{}}`,
		`{"seq":1,"time":"2026-01-02T03:04:05Z","run":"r","source":"engine","type":"boot.ready","data":{"sandbox":7}}`,
		`{"seq":-1,"time":"2026-01-02T03:04:05Z","run":"r","source":"engine","type":"boot.ready","data":{"sandbox":"s"}}`,
		`{"time":"2026-01-02T03:04:05Z","run":"r","source":"engine","type":"boot.ready","data":{"sandbox":"s"}}`,
	} {
		if validate(t, s, []byte(text)) == nil {
			t.Errorf("the schema accepts %s", text)
		}
	}
}
