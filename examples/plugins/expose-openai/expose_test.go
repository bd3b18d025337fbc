// Package expose_test tries the expose mode as it was built: its source is AssemblyScript,
// which not everybody who tests Seer can compile. e2e/assemblyscript.sh builds it anew and
// holds the result against what is here.
package expose_test

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/sdk"
)

var update = flag.Bool("update", false, "write the golden files anew")

func mode(t *testing.T) sdk.Exposer {
	t.Helper()
	h, err := host.New(host.Options{Dirs: []string{"testdata"}, CacheDir: t.TempDir()}) // it asks for nothing
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	e, err := h.Exposer(context.Background(), "openai")
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func request(t *testing.T, options string) sdk.ExposeRequest {
	t.Helper()
	text, err := os.ReadFile("testdata/request.json") // what Seer says of testdata/interface.py
	if err != nil {
		t.Fatal(err)
	}
	var r sdk.ExposeRequest
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	r.Options = json.RawMessage(options)
	return r
}

func file(t *testing.T, s sdk.Surface, path string) string {
	t.Helper()
	for _, f := range s.Files {
		if f.Path == path {
			return f.Text
		}
	}
	t.Fatalf("there is no file %s", path)
	return ""
}

func TestGolden(t *testing.T) {
	e := mode(t)
	for _, api := range []string{"chat", "responses"} {
		s, err := e.Expose(context.Background(), request(t, `{"api":"`+api+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		golden(t, api+".json.golden", file(t, s, "tools/tools.json"))
		golden(t, api+".md.golden", s.Prompt)
		golden(t, "functions.json.golden", file(t, s, "tools/functions.json"))
		if file(t, s, "tools/README.md") != s.Prompt || len(s.Files) != 6 {
			t.Errorf("the surface has %d files", len(s.Files))
		}
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (go test -update writes it anew):\n%s", path, got)
	}
}

// What the API demands of every tool, whatever the functions are.
func TestToolsAreValid(t *testing.T) {
	r := request(t, "")
	many := r.Interface.Functions[0]
	for _, name := range []string{"größe!", "größe?", "gr__e_", strings.Repeat("x", 70), strings.Repeat("x", 71), "ünï", ""} {
		many.Name, many.Doc, many.InputSchema = name, strings.Repeat("😀", 2000), json.RawMessage(`{}`)
		r.Interface.Functions = append(r.Interface.Functions, many)
	}
	for range 150 {
		many.Name += "y"
		r.Interface.Functions = append(r.Interface.Functions, many)
	}
	s, err := mode(t).Expose(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	var tools []struct {
		Type     string
		Function struct {
			Name, Description string
			Parameters        struct{ Type string }
			Strict            *bool
		}
	}
	if err := json.Unmarshal([]byte(file(t, s, "tools/tools.json")), &tools); err != nil {
		t.Fatal(err)
	}
	name, seen := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`), map[string]bool{}
	for _, tool := range tools {
		f := tool.Function
		if tool.Type != "function" || !name.MatchString(f.Name) || seen[f.Name] || f.Parameters.Type != "object" || f.Strict == nil || len([]rune(f.Description)) > 1024 || strings.Contains(f.Description, "\ufffd") {
			t.Errorf("%+v", tool)
		}
		seen[f.Name] = true
	}
	if len(tools) != len(r.Interface.Functions) || !strings.Contains(s.Prompt, "at most 128 tools") {
		t.Errorf("%d tools of %d functions", len(tools), len(r.Interface.Functions))
	}
}

func TestRefused(t *testing.T) {
	e := mode(t)
	for options, want := range map[string]string{`{"api":"text"}`: "chat or responses", `{"apis":"chat"}`: `no option "apis"`, `[]`: "a list", `{"api":1}`: "a number"} {
		if _, err := e.Expose(context.Background(), request(t, options)); sdk.CodeOf(err) != sdk.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", options, err)
		}
	}
	for _, name := range []string{"", "a/b", "1a", "class", "openai", "a b"} {
		r := request(t, "")
		r.Name = name
		if _, err := e.Expose(context.Background(), r); sdk.CodeOf(err) != sdk.Invalid {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// The package's Python passes arguments on as the function takes them. The client is one
// that tells what it was asked; the real one is in e2e/assemblyscript.sh.
func TestCall(t *testing.T) {
	s, err := mode(t).Expose(context.Background(), request(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, f := range append(s.Files, sdk.SurfaceFile{Path: "tools/_client.py", Text: client}) {
		if f.Kind != sdk.FileText {
			continue
		}
		path := filepath.Join(dir, filepath.FromSlash(f.Path))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(f.Text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	python := os.Getenv("SEER_PYTHON")
	if python == "" {
		python = "python3"
	}
	for _, c := range [][3]string{
		{"add", `{"a":1,"b":2}`, `["add", [], {"a": 1, "b": 2}]`},
		{"nothing", ``, `["nothing", [], {}]`},
		{"positional", `{"a":1}`, `["positional", [1], {}]`},
		{"positional", `{"a":1,"c":4}`, `["positional", [1], {"c": 4}]`},
		{"positional", `{"a":1,"b":3,"c":4}`, `["positional", [1, 3], {"c": 4}]`},
		{"positional", `{"b":3}`, `{"error": "a is needed, for arguments after it are passed by position"}`},
		{"everything", `{"a":1,"mode":"x","more":{"k":"v"}}`, `["everything", [], {"k": "v", "a": 1, "mode": "x"}]`},
		{"everything", `{"a":1,"rest":[5,6],"other":"o"}`, `["everything", [1, 2, 5, 6], {"other": "o"}]`},
		{"everything", `{"a":1,"rest":5}`, `{"error": "further arguments are a list"}`},
		{"everything", `{"a":1,"more":5}`, `{"error": "more is an object"}`},
		{"count", `{"n":2}`, `["count", [], {"n": 2}]`},
		{"gr__e", `{"text":"ä"}`, `["größe", [], {"text": "ä"}]`},
		{"fails", `{"why":"so"}`, `{"error": "it failed"}`},
		{"add", `[1]`, `{"error": "the arguments of add must be a JSON object"}`},
	} {
		cmd := exec.Command(python, "-c", "import sys, tools; print(tools.call(*sys.argv[1:]))", c[0], c[1])
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PYTHONIOENCODING=utf-8", "PYTHONDONTWRITEBYTECODE=1")
		out, err := cmd.CombinedOutput()
		if got := strings.TrimSpace(string(out)); err != nil || got != c[2] {
			t.Errorf("%s %s: %s, want %s (%v)", c[0], c[1], got, c[2], err)
		}
	}
}

const client = `class CallError(Exception): pass
class Unreachable(Exception): pass
class Library:
    def __init__(self, file): pass
    def call(self, name, args, kwargs):
        if name == "fails": raise CallError("it failed")
        return [name, args, kwargs]
    stream = call
`
