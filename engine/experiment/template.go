package experiment

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

//go:embed templates
var templates embed.FS

// TemplateKinds are the values that [Template] takes: the execution modes, and "scoped"
// for the sandbox of which an agent has nothing but functions. The first is the usual one.
func TemplateKinds() []string { return []string{"scoped", ModeNotebook, ModeCLI} }

// SchemaFile is the name under which [Template] puts the schema that the first
// line of its experiment points editors to.
const SchemaFile = "experiment.schema.json"

// Template is a small commented experiment to start from, which runs as it is: file name
// → text. It needs nothing but Python, and a notebook Jupyter, which Seer installs.
func Template(kind string) (map[string]string, error) {
	if !slices.Contains(TemplateKinds(), kind) {
		return nil, fmt.Errorf("there is no template %s; use %s", quote(kind), strings.Join(TemplateKinds(), ", "))
	}
	dir, err := fs.Sub(templates, "templates/"+kind)
	if err != nil {
		return nil, err
	}
	files := map[string]string{SchemaFile: string(Schema())}
	err = fs.WalkDir(dir, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(dir, name)
		files[name] = string(text)
		return err
	})
	return files, err
}
