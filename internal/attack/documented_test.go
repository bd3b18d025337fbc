package attack_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

const top = "../.."

// TestEveryAttackIsDocumented holds docs/security.md to the rows in the code: a name in
// one and not in the other is a promise without a test, or a test without a promise.
func TestEveryAttackIsDocumented(t *testing.T) {
	tested, documented := rowsInCode(t), rowsInDocument(t)
	for name, file := range tested {
		if !documented[name] {
			t.Errorf("%s: the attack %q is not in the tables of docs/security.md", file, name)
		}
	}
	for name := range documented {
		if _, ok := tested[name]; !ok {
			t.Errorf("docs/security.md: no test has an attack.Row named %q", name)
		}
	}
}

// rowsInCode finds the names of all attack.Row literals in tests: name → file.
func rowsInCode(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() != ".." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "bin") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		for _, name := range rowNames(t, path) {
			found[name] = path
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// rowNames lists the constant Name fields of attack.Row literals, written out or as
// elements of []attack.Row.
func rowNames(t *testing.T, path string) []string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), "internal/attack\"") {
		return nil
	}
	file, err := parser.ParseFile(token.NewFileSet(), path, data, 0)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	ast.Inspect(file, func(n ast.Node) bool {
		literal, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		switch kind := literal.Type.(type) {
		case *ast.ArrayType:
			if isRow(kind.Elt) {
				for _, element := range literal.Elts {
					if row, ok := element.(*ast.CompositeLit); ok && row.Type == nil {
						names = append(names, nameOf(t, path, row))
					}
				}
			}
		default:
			if isRow(literal.Type) {
				names = append(names, nameOf(t, path, literal))
			}
		}
		return true
	})
	return names
}

func isRow(kind ast.Expr) bool {
	selector, ok := kind.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	pkg, ok := selector.X.(*ast.Ident)
	return ok && pkg.Name == "attack" && selector.Sel.Name == "Row"
}

func nameOf(t *testing.T, path string, row *ast.CompositeLit) string {
	t.Helper()
	for _, element := range row.Elts {
		field, ok := element.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		if key, ok := field.Key.(*ast.Ident); !ok || key.Name != "Name" {
			continue
		}
		if value, ok := field.Value.(*ast.BasicLit); ok {
			name, err := strconv.Unquote(value.Value)
			if err == nil {
				return name
			}
		}
	}
	t.Errorf("%s: an attack.Row without a literal Name", path)
	return ""
}

// rowsInDocument finds the first column of the tables of attacks, which is in backquotes.
func rowsInDocument(t *testing.T) map[string]bool {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(top, "docs/security.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, match := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(string(data), -1) {
		found[match[1]] = true
	}
	return found
}
