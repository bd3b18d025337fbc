package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// errorTexts are the files that look into the text of an error, because those who made it have
// nothing better.
var errorTexts = map[string]string{
	"engine/plainfile/plainfile.go":         "os.Root exports no error for a name that leaves it",
	"engine/isolation/gvisor_save_linux.go": "gVisor's program only prints why it does not save",
	"engine/build/log.go":                   "pip and git only print that a disk is full",
	"engine/plugin/sign/sign.go":            "x/crypto/ssh has no error for a type of key that it does not know",
	"engine/plugin/host/call.go":            "wazero has no error for memory that is full",
	"engine/kube/cluster/errors.go":         "client-go makes texts of the errors of exec plugins",
	"internal/testkit/cases.go":             "what tests ask of an error is its text",
	"internal/testkit/errors.go":            "what tests ask of an error is its text",
	"internal/attack/attack.go":             "what tests ask of an error is its text",
}

// TestNoDecisionByErrorText refuses strings.Contains(err.Error(), …) and the like: an error that
// decides something has a type or a value.
func TestNoDecisionByErrorText(t *testing.T) {
	used := map[string]bool{}
	for file := range sources(t) {
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") || strings.Contains(file, "/testdata/") {
			continue
		}
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, "../../"+file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || !asksText(call) || !slices.ContainsFunc(call.Args, isErrorText) {
				return true
			}
			used[file] = true
			if errorTexts[file] == "" {
				t.Errorf("%s: it decides by the text of an error; give the error a type", strings.TrimPrefix(set.Position(n.Pos()).String(), "../../"))
			}
			return true
		})
	}
	for file := range errorTexts {
		if !used[file] {
			t.Errorf("%s needs no exception", file)
		}
	}
}

// asksText reports whether a call is of a function that says whether a text has something.
func asksText(call *ast.CallExpr) bool {
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	pkg, ok := f.X.(*ast.Ident)
	return ok && pkg.Name == "strings" && slices.Contains([]string{"Contains", "HasPrefix", "HasSuffix", "EqualFold", "Index", "Count"}, f.Sel.Name)
}

func isErrorText(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok || len(call.Args) > 0 {
		return false
	}
	f, ok := call.Fun.(*ast.SelectorExpr)
	return ok && f.Sel.Name == "Error"
}
