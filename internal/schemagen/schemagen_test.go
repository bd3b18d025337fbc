package schemagen

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk/schema"
)

func documents() map[string]func(string) ([]byte, error) {
	return map[string]func(string) ([]byte, error){
		"../../sdk/schema/contract.v1.json": Contract,
		"../../sdk/schema/manifest.v1.json": Manifest,
	}
}

func TestSchemasAreThoseOfTheTypes(t *testing.T) {
	for file, generate := range documents() {
		made, err := generate("../../sdk")
		if err != nil {
			t.Fatal(err)
		}
		if flag.Lookup("update").Value.String() == "true" {
			if err := os.WriteFile(file, made, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		have, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(have, made) {
			t.Errorf("%s is not what the types of package sdk say; run go test ./internal/schemagen -update and look at the difference: "+
				"within version 1 of the contract fields may only be added", file)
		}
	}
}

func TestMain(m *testing.M) {
	flag.Bool("update", false, "write the schemas")
	flag.Parse()
	os.Exit(m.Run())
}

func parsed(t *testing.T, text []byte) any {
	t.Helper()
	return testkit.Must(jsonschema.UnmarshalJSON(bytes.NewReader(text)))(t)
}

func compiler(t *testing.T) *jsonschema.Compiler {
	t.Helper()
	c := jsonschema.NewCompiler()
	for url, text := range map[string][]byte{schema.ContractURL: schema.Contract(), schema.ManifestURL: schema.Manifest()} {
		if err := c.AddResource(url, parsed(t, text)); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func valid(t *testing.T, c *jsonschema.Compiler, url string, text []byte) error {
	t.Helper()
	s := testkit.Must(c.Compile(url))(t)
	return s.Validate(parsed(t, text))
}

// What Go itself writes of each type must be valid: the zero value, where lists are
// null, and one with everything in it.
func TestWhatGoWritesIsValid(t *testing.T) {
	c := compiler(t)
	for _, e := range exports() {
		for suffix, v := range map[string]any{".input": e.input, ".result": e.result} {
			if v == nil {
				v = struct{}{}
			}
			full := reflect.New(reflect.TypeOf(v)).Elem()
			fill(full)
			for _, value := range []any{reflect.Zero(reflect.TypeOf(v)).Interface(), full.Interface()} {
				text, err := json.Marshal(value)
				if err != nil {
					t.Fatal(err)
				}
				if err := valid(t, c, schema.ContractURL+"#/$defs/"+e.name+suffix, text); err != nil && !onlyEnums(err) {
					t.Errorf("%s%s: %v\n%s", e.name, suffix, err, text)
				}
			}
		}
	}
}

// onlyEnums: the zero value of a closed string type is not one of its values.
func onlyEnums(err error) bool { return strings.Contains(err.Error(), "value must be one of") }

// fill sets every field to something.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			v.SetBytes([]byte(`{"any":[1]}`))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0))
		fill(v.Index(1))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		element := reflect.New(v.Type().Elem()).Elem()
		fill(element)
		v.SetMapIndex(reflect.ValueOf("key").Convert(v.Type().Key()), element)
	case reflect.String:
		v.SetString("text")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(1.5)
	case reflect.Uint8:
		v.SetUint(3)
	default:
		v.SetInt(3)
	}
}

func TestWrongOutputsAreNotValid(t *testing.T) {
	c := compiler(t)
	for export, text := range map[string]string{
		"provider_offers.result":  `[{"id":"a","cost_per_hour":"cheap"}]`,
		"provider_create.result":  `{"handle":7}`,
		"provider_observe.result": `[{"handle":"h"}]`,
		"fetcher_resolve.result":  `{"name":"m"}`,
		"expose.result":           `{"files":[{"path":"a","kind":"socket"}]}`,
		"Envelope":                `{"error":{"code":"oops","message":"m"}}`,
	} {
		if valid(t, c, schema.ContractURL+"#/$defs/"+export, []byte(text)) == nil {
			t.Errorf("%s: %s is valid", export, text)
		}
	}
}

// The manifests of the built-in plugins are valid, and one with a wrong key is not.
func TestManifests(t *testing.T) {
	c := compiler(t)
	for _, id := range []string{"provider-modal", "provider-runpod", "expose-library", "expose-mcp", "expose-prompt", "fetch-folder"} {
		text, err := os.ReadFile("../../plugins/" + id + "/plugin.yaml")
		if err != nil {
			t.Fatal(err)
		}
		var value any
		if err := yaml.Unmarshal(text, &value); err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		if err := valid(t, c, schema.ManifestURL, data); err != nil {
			t.Errorf("%s: %v", id, err)
		}
		wrong := bytes.Replace(data, []byte(`{`), []byte(`{"permision":[],`), 1)
		if valid(t, c, schema.ManifestURL, wrong) == nil {
			t.Errorf("%s: a key that there is not is valid", id)
		}
	}
}
