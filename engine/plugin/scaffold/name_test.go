package scaffold

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"strconv"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/sdk"
)

// Whatever name is accepted, the templates make a manifest that the host takes, and Go
// files in which the package's name hides nothing.
func FuzzName(f *testing.F) {
	for _, name := range []string{"tiny", "my-cloud", "a", "a1-b2", "offers", "provider-x", "strings", "api", "x--y", "Ä", "", "expose-dist"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		for _, kind := range []sdk.Kind{sdk.KindProvider, sdk.KindFetcher, sdk.KindExpose} {
			for _, lang := range []Lang{Go, AssemblyScript} {
				checkName(t, Options{Kind: kind, Name: name, Lang: lang})
			}
		}
	})
}

// Every word that the templates declare or import is either refused as a name or does no
// harm.
func TestNamesOfTheTemplates(t *testing.T) {
	for _, kind := range []sdk.Kind{sdk.KindProvider, sdk.KindFetcher, sdk.KindExpose} {
		files, err := render(Go, newValues(Options{Kind: kind, Name: "qqq"}, ""))
		if err != nil {
			t.Fatal(err)
		}
		for file, text := range files {
			if strings.HasSuffix(file, ".go") {
				imports, declared := names(t, file, text)
				for _, word := range append(imports, declared...) {
					checkName(t, Options{Kind: kind, Name: strings.ToLower(word), Lang: Go})
				}
			}
		}
	}
}

func checkName(t *testing.T, o Options) {
	t.Helper()
	prefix, err := checkOptions(o)
	if err != nil {
		return
	}
	v := newValues(o, prefix)
	files, err := render(o.Lang, v)
	if err != nil {
		t.Fatalf("%+v: %v", o, err)
	}
	if m, err := host.CheckManifest("plugin.yaml", files["plugin.yaml"]); err != nil || m.ID != v.ID {
		t.Errorf("%+v: its manifest is of %q: %v", o, m.ID, err)
	}
	if o.Lang != Go {
		return
	}
	if files[v.Ident+"/"+v.Ident+".go"] == nil || o.Kind == sdk.KindProvider && len(files) != 11 {
		t.Errorf("%+v: files have taken each other's place", o)
	}
	declared := map[string]bool{} // folder and name
	for file, text := range files {
		if strings.HasSuffix(file, ".go") {
			_, own := names(t, file, text)
			for _, name := range own {
				declared[scope(file)+" "+name] = true
			}
		}
	}
	for file, text := range files {
		seen := map[string]bool{}
		if !strings.HasSuffix(file, ".go") {
			continue
		}
		imports, _ := names(t, file, text)
		for _, name := range imports {
			if seen[name] || declared[scope(file)+" "+name] {
				t.Errorf("%+v: in %s, %s means two things", o, file, name)
			}
			seen[name] = true
		}
	}
}

// scope tells a package's own test files, which are a package apart.
func scope(file string) string {
	if strings.HasSuffix(file, "_test.go") {
		return path.Dir(file) + "_test"
	}
	return path.Dir(file)
}

// names are the imports of a Go file and what it declares.
func names(t *testing.T, file string, text []byte) (imports, declared []string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, imp := range parsed.Imports {
		full, err := strconv.Unquote(imp.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		imports = append(imports, path.Base(full))
	}
	for _, d := range parsed.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				declared = append(declared, d.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					declared = append(declared, s.Name.Name)
				case *ast.ValueSpec:
					for _, n := range s.Names {
						declared = append(declared, n.Name)
					}
				}
			}
		}
	}
	return imports, declared
}
