package schemagen

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// source is what the types themselves do not tell: comments and constants.
type source struct {
	comments map[string]string   // "Type" and "Type.Field"
	values   map[string][]string // the constants of a string type, in order
}

func readSource(dir string) (source, error) {
	s := source{map[string]string{}, map[string][]string{}}
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return s, err
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			return s, err
		}
		for _, decl := range file.Decls {
			if d, ok := decl.(*ast.GenDecl); ok {
				s.declaration(d)
			}
		}
	}
	return s, nil
}

func (s source) declaration(d *ast.GenDecl) {
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			s.comments[spec.Name.Name] = text(d.Doc, spec.Doc)
			if t, ok := spec.Type.(*ast.StructType); ok {
				s.fields(spec.Name.Name, t)
			}
		case *ast.ValueSpec:
			s.constant(spec)
		}
	}
}

func (s source) fields(name string, t *ast.StructType) {
	for _, f := range t.Fields.List {
		for _, field := range f.Names {
			s.comments[name+"."+field.Name] = text(f.Doc, f.Comment)
		}
	}
}

func (s source) constant(spec *ast.ValueSpec) {
	name, ok := spec.Type.(*ast.Ident)
	if !ok || len(spec.Values) != 1 {
		return
	}
	if lit, ok := spec.Values[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
		if value, err := strconv.Unquote(lit.Value); err == nil {
			s.values[name.Name] = append(s.values[name.Name], value)
		}
	}
}

// comment is what the reflector asks for.
func (s source) comment(t reflect.Type, field string) string {
	if field != "" {
		return s.comments[t.Name()+"."+field]
	}
	return s.comments[t.Name()]
}

var link = regexp.MustCompile(`\[([A-Za-z.]+)\]`)

// text is the groups as one line, without the brackets of links.
func text(groups ...*ast.CommentGroup) string {
	var parts []string
	for _, g := range groups {
		if t := strings.Join(strings.Fields(g.Text()), " "); t != "" {
			parts = append(parts, t)
		}
	}
	return link.ReplaceAllString(strings.Join(parts, " "), "$1")
}
