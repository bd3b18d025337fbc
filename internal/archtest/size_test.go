package archtest

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// What is larger is hard to read as one thing.
const (
	maxFiles   = 30 // source files in a folder, without tests
	maxMethods = 40 // of a type
	maxLines   = 60 // of a function, with the comments in it

	maxTestLines = 100 // of a function in a test: cases are data

	maxFacade = 1000 // lines of package engine, without tests: options, Engine, Sandbox and aliases
)

// exceptions are the places that may be larger, up to a number, and why. One that is not
// needed any more is a mistake of this list.
var exceptions = map[string]struct {
	most int
	why  string
}{
	"methods of engine/python/seer_client/handle.py.Handle":   {45, "Python's operators are methods"},
	"methods of sdk/sdktest.lab":                              {72, "one method for each check of a plugin"},
	"methods of engine/enginetest/fakemodal.Cloud":            {69, "one method for each fault that a test asks for"},
	"methods of engine/enginetest/fakemodal.controlServer":    {64, "Modal's gRPC service"},
	"methods of engine/enginetest/fakerunpod.Cloud":           {83, "one method for each request and each fault"},
	"lines of _seer_load in engine/modelload/loader.py":       {91, "a kernel gets one name for all of it"},
	"lines of mistakes in engine/experiment/mistakes_test.go": {158, "a table of mistakes"},
	"lines of main in e2e/notebook/person.py":                 {109, "what a person does, in order"},
}

// test matches functions of tests.
var test = regexp.MustCompile(`_test\.go$| in e2e/| in bench/|/tests/`)

// TestSizes holds Go and Python code to the limits.
func TestSizes(t *testing.T) {
	sizes := map[string]int{} // by what it is
	limits := map[string]int{}
	files := sources(t)
	for file := range files {
		if path.Dir(file) == "engine" && !test.MatchString(file) {
			data, err := os.ReadFile("../../" + file)
			if err != nil {
				t.Fatal(err)
			}
			sizes["lines in engine"] += bytes.Count(data, []byte("\n"))
			limits["lines in engine"] = maxFacade
		}
		if !test.MatchString(" in " + file) {
			folder := "files in " + path.Dir(file)
			sizes[folder]++
			limits[folder] = maxFiles
		}
	}
	for what, n := range goSizes(t, files) {
		sizes[what], limits[what] = n, maxMethods
	}
	for what, n := range pythonSizes(t, files) {
		sizes[what], limits[what] = n, maxMethods
	}
	for what := range sizes {
		switch {
		case !strings.HasPrefix(what, "lines of "):
		case test.MatchString(what):
			limits[what] = maxTestLines
		default:
			limits[what] = maxLines
		}
	}
	for _, what := range slices.Sorted(maps.Keys(sizes)) {
		n, allowed := sizes[what], exceptions[what]
		switch {
		case n > max(limits[what], allowed.most):
			t.Errorf("%s: %d, and at most %d are allowed; divide it, or add a line with a reason to exceptions", what, n, max(limits[what], allowed.most))
		case allowed.most > 0 && n < allowed.most:
			t.Errorf("%s: %d, so its exception of %d can be lowered or removed", what, n, allowed.most)
		}
	}
	for what := range exceptions {
		if _, there := sizes[what]; !there {
			t.Errorf("%s is an exception, and is not there", what)
		}
	}
}

// sources are the Go and Python files of the project, without what tests and fixtures bring.
func sources(t *testing.T) map[string]bool {
	cmd := exec.Command("git", "ls-files", "*.go", "*.py")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]bool{}
	for file := range strings.Lines(string(out)) {
		file = strings.TrimSpace(file)
		if _, err := os.Stat("../../" + file); err == nil && !strings.Contains(file, "testdata/") {
			files[file] = true
		}
	}
	return files
}

// goSizes are the methods of types and the lines of functions.
func goSizes(t *testing.T, files map[string]bool) map[string]int {
	sizes := map[string]int{}
	set := token.NewFileSet()
	for file := range files {
		if !strings.HasSuffix(file, ".go") {
			continue
		}
		parsed, err := parser.ParseFile(set, "../../"+file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range parsed.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			name := f.Name.Name
			if f.Recv != nil {
				kind := receiver(f.Recv.List[0].Type)
				name = kind + "." + name
				if !strings.HasSuffix(file, "_test.go") {
					sizes["methods of "+path.Dir(file)+"."+kind]++
				}
			}
			lines := set.Position(f.End()).Line - set.Position(f.Pos()).Line + 1
			sizes[fmt.Sprintf("lines of %s in %s", name, file)] = lines
		}
	}
	return sizes
}

func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return "?"
}

// pythonSizes has Python say the same of its files.
func pythonSizes(t *testing.T, files map[string]bool) map[string]int {
	const program = `
import ast, sys
for name in sys.stdin.read().split("\n"):
    with open(name, encoding="utf-8") as f:
        tree = ast.parse(f.read(), name)
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            methods = sum(isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef)) for n in node.body)
            print("methods of %s.%s\t%d" % (name, node.name, methods))
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            print("lines of %s:%d in %s\t%d" % (node.name, node.lineno, name, node.end_lineno - node.lineno + 1))
`
	var names []string
	for file := range files {
		if strings.HasSuffix(file, ".py") {
			names = append(names, file)
		}
	}
	cmd := exec.Command("python3", "-c", program)
	cmd.Dir, cmd.Stdin, cmd.Stderr = "../..", strings.NewReader(strings.Join(names, "\n")), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	sizes := map[string]int{}
	for line := range bytes.Lines(out) {
		what, n, _ := strings.Cut(strings.TrimSpace(string(line)), "\t")
		var size int
		if _, err := fmt.Sscan(n, &size); err != nil {
			t.Fatal(err)
		}
		what = withoutLine(what)
		sizes[what] = max(sizes[what], size)
	}
	return sizes
}

// withoutLine is a name that stays when the lines before it change; of several functions of
// the same name in a file, the largest counts.
func withoutLine(what string) string {
	before, after, _ := strings.Cut(what, " in ")
	name, _, _ := strings.Cut(before, ":")
	if after == "" {
		return name
	}
	return name + " in " + after
}

// TestNoLargeFile keeps programs that somebody has built out of the repository.
func TestNoLargeFile(t *testing.T) {
	const most = 512 << 10
	cmd := exec.Command("git", "ls-files", "-z")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		if info, err := os.Lstat("../../" + name); err == nil && info.Size() > most {
			t.Errorf("%s has %d bytes, and at most %d are allowed", name, info.Size(), most)
		}
	}
}
