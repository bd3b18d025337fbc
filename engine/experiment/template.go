package experiment

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"
)

//go:embed templates
var templates embed.FS

// TemplateKinds are the values that [Template] takes.
func TemplateKinds() []string { return []string{"scoped"} }

// SchemaFile is the name under which [Template] puts the schema that the first
// line of its experiment points editors to.
const SchemaFile = "experiment.schema.json"

// Template is a small commented experiment to start from: file name → text. It
// needs nothing but Python.
func Template(kind string) (map[string]string, error) {
	dir, err := fs.Sub(templates, "templates/"+kind)
	if err != nil || !fs.ValidPath(kind) || kind == "." {
		return nil, fmt.Errorf("there is no template %s; use %s", quote(kind), strings.Join(TemplateKinds(), ", "))
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
	if err != nil {
		return nil, fmt.Errorf("there is no template %s; use %s", quote(kind), strings.Join(TemplateKinds(), ", "))
	}
	return files, nil
}
