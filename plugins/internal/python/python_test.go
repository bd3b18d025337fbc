package python

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/seer-engine/seer/sdk"
)

// python runs code with the system's Python and input on stdin.
func python(t testing.TB, code, input string) string {
	t.Helper()
	cmd := exec.Command("/usr/bin/python3", "-I", "-c", code)
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("python: %v\n%s\ninput: %s", err, out, input)
	}
	return string(out)
}

var texts = []string{"", "plain", `back\slash`, `"""`, `ends with "`, `""""`, "nul\x00", "é 😀 \u2028", "tab\tcr\rlf\n", `\N{BULLET}`, "{x}", "'", `"'`, "\x7f"}

func TestString(t *testing.T) {
	for _, s := range texts {
		want, _ := json.Marshal(s)
		got := python(t, "import ast,json,sys; print(json.dumps(ast.literal_eval(sys.stdin.read()), ensure_ascii=False))", String(s))
		var back string
		if err := json.Unmarshal([]byte(got), &back); err != nil || back != s {
			t.Errorf("String(%s) = %s, read as %q", want, String(s), back)
		}
	}
}

func TestDocstring(t *testing.T) {
	docs := append([]string{
		"One line.",
		"First.\n\n    Args:\n        x: deep\n    Returns: y\n    ",
		"\n    Starts on the second line.\n\n      more\n",
		"first\n  two\n\n\n  end\"",
	}, texts...)
	for _, doc := range docs {
		// What Python itself makes of the doc, and of what we wrote.
		in, _ := json.Marshal(map[string]string{"doc": doc, "code": "def f():\n    " + Docstring(doc, "    ") + "\n"})
		python(t, `
import inspect, json, sys
d = json.load(sys.stdin); ns = {}
exec(d["code"], ns)
want = inspect.cleandoc(d["doc"])
got = (inspect.getdoc(ns["f"]) or "")
# Where a tab ends depends on the column, which our indentation moves.
line = (lambda l: " ".join(l.split())) if "\t" in d["doc"] else str.rstrip
strip = lambda s: "\n".join(map(line, s.split("\n"))).strip("\n")
assert strip(got) == strip(want), (got, want, d["code"])
`, string(in))
	}
}

func TestAnnotation(t *testing.T) {
	for text, raw := range map[string]bool{
		"int": true, "str | None": true, "list[float]": true, "dict[str, list[int]]": true, "np.ndarray": true,
		"Callable[[int, str], bool]": true, "Callable[[], None]": true, "Literal['a', \"b\", 1, -2]": true, "tuple[int, ...]": true,
		"Annotated[str, 'a doc (short)']": true, "Annotated['f()', 1]": false, "Literal['f()', [1]]": true, "list[Literal['f()']]": true, "'f()'": false, "list['f()']": false, "'Later' | 'f()'": false, "Later.Literal['f()']": false,
		"Annotated[str, 'doc']": true, "Optional['Later']": true,
		"<class 'x'>": false, "": false, "a b": false, "lambda: 0": false, "f(x)": false, "list[": false, "x]": false, "class": false,
		"a\nb": false, "a # b": false, "'a\\'": false, "[int": false, "a | ": false, "01": false, "list[int,]": false,
	} {
		got := Annotation(text)
		if (got == text) != raw {
			t.Errorf("Annotation(%q) = %s", text, got)
		}
	}
}

// TestAnnotationsRunNothing: programs that make tools of functions evaluate annotations.
func TestAnnotationsRunNothing(t *testing.T) {
	const call = `__import__("pathlib").Path("evil").touch()`
	t.Chdir(t.TempDir())
	for _, text := range []string{call, "'" + call + "'", "list['" + call + "']", "<" + call, "Annotated['" + call + "', 1]", "Literal['" + call + "']", "Literal[list['" + call + "']]", "Literal[Annotated[list['" + call + "'], 1]]", "Literal[int | '" + call + "']",
		"Annotated[Dict[typing.KT, typing.VT], 1][int, '" + call + "']", `"` + strings.ReplaceAll(call, `"`, "'") + `" | None`} {
		source := "from __future__ import annotations\nfrom typing import *\ndef f(a: " + Annotation(text) + "): 0\n"
		python(t, "import sys, typing\nexec(sys.stdin.read())\ntry: typing.get_type_hints(f)\nexcept Exception: pass\n", source)
		if _, err := os.Stat("evil"); err == nil {
			t.Fatalf("the annotation %q runs code", text)
		}
	}
}

func FuzzAnnotation(f *testing.F) {
	f.Add("dict[str, list[int]] | None")
	f.Add("Literal['a', -1]")
	f.Add(strings.Repeat("a[", 100))
	f.Fuzz(func(t *testing.T, text string) {
		got := Annotation(text)
		if strings.ContainsAny(got, "\n\r\x00") || (got != text && !strings.HasPrefix(got, `"`)) {
			t.Errorf("Annotation(%q) = %q", text, got)
		}
	})
}

// What Annotation takes for an expression must be one.
func TestAnnotationsParse(t *testing.T) {
	for _, text := range []string{"a.b.c[d]", "a [ b , c ] | d", "'x'", "1.5", "...", "[a, [b]]", "été", "None.x", "-1", "a|b|c"} {
		python(t, "import ast,sys; ast.parse('def f(a: ' + sys.stdin.read() + '): 0')", Annotation(text))
	}
}

func TestName(t *testing.T) {
	taken := map[string]bool{}
	for _, tc := range [][2]string{{"x", "x"}, {"x", "x_"}, {"class", "class_"}, {"None", "None_"}, {"a-b", "a_b"}, {"1st", "_1st"}, {"", "_"}, {"match", "match"}, {"größe", "größe"}} {
		if got := Name(tc[0], taken); got != tc[1] {
			t.Errorf("Name(%q) = %q, want %q", tc[0], got, tc[1])
		}
	}
}

func TestSignature(t *testing.T) {
	params := []sdk.Param{
		{Name: "a", Kind: sdk.PositionalOnly},
		{Name: "b", Kind: sdk.PositionalOnly, HasDefault: true, DefaultRepr: "1"},
		{Name: "c", Kind: sdk.PositionalOrKeyword, Annotation: "int", HasDefault: true, DefaultRepr: "(1, 2)"},
		{Name: "rest", Kind: sdk.VarPositional},
		{Name: "k", Kind: sdk.KeywordOnly, Annotation: "<odd>"},
		{Name: "more", Kind: sdk.VarKeyword, Annotation: "Any"},
	}
	got := Signature(Params(params, nil), "str", Shown)
	if want := `(a, b=1, /, c: int = (1, 2), *rest, k: "<odd>", **more: Any) -> str`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := Signature(Params([]sdk.Param{{Name: "k", Kind: sdk.KeywordOnly}}, nil), "", Shown); got != "(*, k)" {
		t.Errorf("got %s", got)
	}
}
