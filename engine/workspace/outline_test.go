package workspace

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func TestOutline(t *testing.T) {
	source := `import os
SECRET = """
def not_this(): pass
"""

@cache
def mean(
    values: "list[float]",  # a comment: with a colon
    *, weights={"a": 1},
) -> float:
    """Mean of values,
    weighted.

    More about it.
    """
    def inner(): pass

def _private(): "not told"
async def fetch(url): return f"{url}:x"
class Probe(Base): 'Looks into a layer.'
def plain(): pass
`
	want := "- `mean( values: \"list[float]\", # a comment: with a colon *, weights={\"a\": 1}, ) -> float`: Mean of values, weighted.\n" +
		"- `async def fetch(url)`\n- `class Probe(Base)`: Looks into a layer.\n- `plain()`"
	if got := outline(source); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := outline(strings.Repeat("def f(): pass\n", maxOutline+3)); !strings.HasSuffix(got, "\n- … and 3 more") {
		t.Errorf("a long one ends with %q", got[len(got)-40:])
	}
	if outline("x = 1\n'''def f(): pass") != "" || outline("\xff") != "" {
		t.Error("something was found where nothing is")
	}
}

// Python itself says what its own library defines.
func TestDefinitionsAreThosePythonFinds(t *testing.T) {
	program := `
import ast, importlib.util, json
out = []
for name in "argparse textwrap json.decoder inspect dataclasses typing string shlex tokenize ast enum difflib statistics".split():
    with open(importlib.util.find_spec(name).origin, encoding="utf-8") as f:
        text = f.read()
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    names = [(n.name, " ".join((ast.get_docstring(n) or "").split("\n\n")[0].split())) for n in ast.parse(text).body if isinstance(n, kinds) and n.name[0] != "_"]
    out.append({"name": name, "text": text, "names": [n for n, _ in names], "docs": [d for _, d in names]})
print(json.dumps(out))
`
	data, err := exec.Command("python3", "-c", program).Output()
	if err != nil {
		t.Fatal(err)
	}
	var modules []struct {
		Name, Text  string
		Names, Docs []string
	}
	if err := json.Unmarshal(data, &modules); err != nil || len(modules) < 10 {
		t.Fatal(err, len(modules))
	}
	for _, m := range modules {
		var names, docs []string
		for _, d := range definitions(m.Text) {
			names, docs = append(names, d.name), append(docs, d.doc)
		}
		if !slices.Equal(names, m.Names) || !slices.Equal(docs, m.Docs) {
			t.Errorf("%s: got %q %q, want %q %q", m.Name, names, docs, m.Names, m.Docs)
		}
	}
}

func FuzzOutline(f *testing.F) {
	for _, seed := range append(sources(), "def f(x='\\\n", "class A:\n  'x'", "def f(a=[", "async def\tf():'''") {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, source string) {
		if got := outline(source); strings.Count(got, "\n") > maxOutline {
			t.Errorf("%d lines", strings.Count(got, "\n"))
		}
	})
}
