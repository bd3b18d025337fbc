package archtest

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const pythonDir = "../../engine/python"

// pythonOrder lists the parts of each Python package. A part imports only itself and the
// parts before it. Modules that are in no part wire the others together: they may import
// everything, and no part imports them.
var pythonOrder = map[string][]string{
	"seer_worker":   {"policy", "process", "values", "handles", "transport", "schema", "journal", "interface", "calls", "execution"},
	"seer_notebook": {"errors", "settings", "kernel", "execution", "document", "sessions", "http", "server"},
	"seer_client":   {},
	"seer": {"_version", "errors", "_lazy", "_engine", "_fields", "workspace", "environment", "config", "execution", "harness",
		"inspect", "notebook_mcp", "_program"},
}

// pythonFolder returns where a package is.
func pythonFolder(pkg string) string {
	if pkg == "seer" {
		return "../../python/seer"
	}
	return filepath.Join(pythonDir, pkg)
}

// pythonForeign lists what a package may import of the others.
var pythonForeign = map[string][]string{
	"seer_client": {"seer_worker.values"}, // the generated file contains them
}

const mostPythonFiles = 30

// crowded may have more files than mostPythonFiles.
var crowded = map[string]string{
	"tests": "go test runs each file as a process of its own, found by one pattern",
}

var (
	pythonImport   = regexp.MustCompile(`(?m)^[ \t]*from[ \t]+(\.*)([\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n#]*)`)
	absoluteImport = regexp.MustCompile(`(?m)^[ \t]*import[ \t]+(seer\b[\w.]*|seer_\w[\w.]*)`)
	ourModule      = regexp.MustCompile(`^seer(_\w+)?(/|$)`)
	forTypes       = regexp.MustCompile(`(?m)^if TYPE_CHECKING:\n([ \t].*\n|\n)*`) // is not imported
)

func TestPythonImportsFollowTheOrder(t *testing.T) {
	for pkg, order := range pythonOrder {
		files := 0
		walkPython(t, pythonFolder(pkg), func(name, text string) {
			files++
			name = path.Join(pkg, name)
			own := partOf(name)
			for _, imported := range importsOf(t, name, forTypes.ReplaceAllString(text, "")) {
				if !strings.HasPrefix(imported, pkg+"/") {
					if !slices.Contains(pythonForeign[pkg], strings.ReplaceAll(imported, "/", ".")) {
						t.Errorf("%s must not import %s", name, imported)
					}
					continue
				}
				from, to := slices.Index(order, own), slices.Index(order, partOf(imported))
				if from >= 0 && (to < 0 || to > from) {
					t.Errorf("%s must not import %s: the order is %s, and the rest of %s", name, imported, strings.Join(order, ", "), pkg)
				}
			}
		})
		if files == 0 {
			t.Errorf("%s has no files", pkg)
		}
	}
}

// partOf returns "calls" for seer_worker/calls/queues.py, and "main" for seer_worker/main.py.
func partOf(name string) string {
	part := strings.Split(name, "/")[1]
	return strings.TrimSuffix(part, ".py")
}

// importsOf returns what a file imports of our packages, as paths: seer_worker/calls/queues.
// A name that stands for no module is left out.
func importsOf(t *testing.T, name, text string) []string {
	t.Helper()
	var found []string
	for _, m := range pythonImport.FindAllStringSubmatch(text, -1) {
		module := strings.ReplaceAll(m[2], ".", "/")
		if dots := len(m[1]); dots > 0 {
			folder := path.Dir(name)
			for range dots - 1 {
				folder = path.Dir(folder)
			}
			if folder == "." {
				t.Errorf("%s: %q leads out of its package", name, m[0])
			}
			module = path.Join(folder, module)
		}
		if !ourModule.MatchString(module) {
			continue
		}
		if strings.Contains(module, "/") {
			found = append(found, module)
			continue
		}
		for item := range strings.SplitSeq(strings.Trim(m[3], "()"), ",") { // from . import a, b as c
			item, _, _ = strings.Cut(strings.TrimSpace(item), " ")
			if isPython(module + "/" + item) {
				found = append(found, module+"/"+item)
			}
		}
	}
	for _, m := range absoluteImport.FindAllStringSubmatch(text, -1) {
		found = append(found, strings.ReplaceAll(m[1], ".", "/"))
	}
	return found
}

func isPython(module string) bool {
	pkg, rest, _ := strings.Cut(module, "/")
	for _, suffix := range []string{".py", "/__init__.py"} {
		if _, err := os.Stat(filepath.Join(pythonFolder(pkg), rest+suffix)); err == nil {
			return true
		}
	}
	return false
}

func TestPythonFoldersAreSmall(t *testing.T) {
	files := map[string]int{}
	walkPython(t, pythonDir, func(name, _ string) { files[path.Dir(name)]++ })
	if len(files) < 10 {
		t.Errorf("%d folders", len(files))
	}
	for folder, n := range files {
		reason := crowded[folder]
		if n > mostPythonFiles && reason == "" {
			t.Errorf("%s has %d files, more than %d: split it", folder, n, mostPythonFiles)
		}
		if n <= mostPythonFiles && reason != "" {
			t.Errorf("%s has %d files and needs no exception", folder, n)
		}
	}
}

func walkPython(t *testing.T, dir string, file func(name, text string)) {
	t.Helper()
	err := filepath.WalkDir(dir, func(at string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(at) != ".py" {
			return err
		}
		text, err := os.ReadFile(at)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, at)
		file(filepath.ToSlash(name), string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
