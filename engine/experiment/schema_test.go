package experiment_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/seer-engine/seer/engine/experiment"
)

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(experiment.Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(experiment.SchemaID, doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile(experiment.SchemaID)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// validate reads YAML as an editor does: through JSON.
func validate(t *testing.T, schema *jsonschema.Schema, text string) error {
	t.Helper()
	var value any
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	asJSON, err := json.Marshal(value)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
	if err != nil {
		t.Fatal(err)
	}
	return schema.Validate(doc)
}

func TestSchemaAcceptsWhatIsRight(t *testing.T) {
	schema := compileSchema(t)
	for _, f := range seedFields() {
		if err := validate(t, schema, f.yaml); err != nil {
			t.Errorf("%s: %v", f.seed, err)
		}
	}
	for _, kind := range experiment.TemplateKinds() {
		template, err := experiment.Template(kind)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate(t, schema, template["seer.yaml"]); err != nil {
			t.Errorf("the template %s: %v", kind, err)
		}
	}
	full, err := os.ReadFile(filepath.Join("testdata", "full.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{string(full), "{}", "sandbox: {models: , timeout: 1h30m, gpu: [H100, A100]}", "sandbox: {timeout: 1d}"} {
		if err := validate(t, schema, text); err != nil {
			t.Errorf("%s\n%v", text, err)
		}
	}
}

func TestSchemaRefusesWhatIsWrong(t *testing.T) {
	schema := compileSchema(t)
	for _, m := range mistakes() {
		if m.schema && validate(t, schema, m.text) == nil {
			t.Errorf("the schema accepts %q", m.text)
		}
	}
}

func TestSchemaIsTheSameEveryTime(t *testing.T) {
	if !bytes.Equal(experiment.Schema(), experiment.Schema()) {
		t.Error("two schemas differ")
	}
}
