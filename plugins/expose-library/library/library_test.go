package library

import (
	"context"
	"encoding/json"
	"flag"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	client "github.com/seer-engine/seer/engine/python"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

var update = flag.Bool("update", false, "write the golden files anew")

func raw(s string) json.RawMessage { return json.RawMessage(s) }

// tools has a bit of everything.
func tools() sdk.Interface {
	return sdk.Interface{
		Module: "interface", Doc: "Tools for one model.",
		Functions: []sdk.Function{
			{Name: "get_model_info", Doc: "About the model.", Returns: "dict[str, int]"},
			{Name: "embed", Doc: "Embed a text.\n\n    Args:\n        text: any\n", Returns: "list[float]", Params: []sdk.Param{
				{Name: "text", Kind: sdk.PositionalOrKeyword, Annotation: "str"},
				{Name: "layer", Kind: sdk.PositionalOrKeyword, Annotation: "int", HasDefault: true, Default: raw("-1"), DefaultRepr: "-1"},
				{Name: "scale", Kind: sdk.KeywordOnly, Annotation: "float | None", HasDefault: true, Default: raw("null"), DefaultRepr: "None"},
				{Name: "names", Kind: sdk.KeywordOnly, HasDefault: true, Default: raw(`["a", "b's"]`), DefaultRepr: `['a', "b's"]`},
			}},
			{Name: "everything", Async: true, Params: []sdk.Param{
				{Name: "first", Kind: sdk.PositionalOnly},
				{Name: "second", Kind: sdk.PositionalOnly, HasDefault: true, DefaultRepr: "<object object at 0x7f>"},
				{Name: "third", Kind: sdk.PositionalOrKeyword, HasDefault: true, Default: raw("[1, 2]"), DefaultRepr: "(1, 2)"},
				{Name: "fourth", Kind: sdk.PositionalOrKeyword, Annotation: "<class 'Odd'>", HasDefault: true, DefaultRepr: "Mode.A"},
				{Name: "rest", Kind: sdk.VarPositional, Annotation: "int"},
				{Name: "key", Kind: sdk.KeywordOnly, Annotation: "Unimported[Thing]"},
				{Name: "more", Kind: sdk.VarKeyword, Annotation: "Any"},
			}},
			{Name: "list", Doc: `Docs with """ and \ and "`, Params: []sdk.Param{
				{Name: "_client", Kind: sdk.PositionalOrKeyword},
				{Name: "_stubs", Kind: sdk.PositionalOrKeyword, HasDefault: true, Default: raw(`"\u2028"`)},
				{Name: "from", Kind: sdk.KeywordOnly, HasDefault: true, Default: raw("1.5"), DefaultRepr: "1.5"},
			}},
			{Name: "tokens", Stream: true, Async: true, Doc: "One by one.", Returns: "AsyncIterator[tuple[str, float]]", Params: []sdk.Param{
				{Name: "prompt", Kind: sdk.PositionalOrKeyword, Annotation: "str"},
			}},
			{Name: "steer", Returns: "torch.Tensor", Params: []sdk.Param{
				{Name: "vector", Kind: sdk.PositionalOrKeyword, Annotation: "np.ndarray | None"},
				{Name: "mode", Kind: sdk.KeywordOnly, Annotation: "Literal['add', 1, None]", HasDefault: true, Default: raw(`"add"`), DefaultRepr: "'add'"},
			}},
			{Name: "isinstance"},
			{Name: "class"},
			{Name: "CallError"},
		},
	}
}

func surface(t *testing.T, i sdk.Interface) sdk.Surface {
	t.Helper()
	s, err := Mode{}.Expose(context.Background(), sdk.ExposeRequest{Name: "model_tools", Interface: i})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestGolden(t *testing.T) {
	s := surface(t, tools())
	for name, got := range map[string]string{"init.py.golden": s.Files[0].Text, "init.pyi.golden": s.Files[1].Text, "prompt.md.golden": s.Prompt} {
		testkit.Golden(t, *update, filepath.Join("testdata", name), got)
	}
}

func TestFiles(t *testing.T) {
	var got []string
	for _, f := range surface(t, tools()).Files {
		got = append(got, f.Path+":"+string(f.Kind))
	}
	want := "model_tools/__init__.py: model_tools/__init__.pyi: model_tools/_client.py:python_client model_tools/_client.pyi: model_tools/connection.json:connection model_tools/py.typed:"
	if strings.Join(got, " ") != want {
		t.Errorf("files = %v", got)
	}
}

// fakeClient is the engine's, whose library records calls instead of making them.
func fakeClient() string {
	return string(client.Client()) + `
Library.call = Library.stream = lambda self, fn, args, kwargs, leading=(), rest=(): (fn, *given_arguments(args, kwargs, leading, rest))
`
}

// run writes the surface and runs a script beside it.
func run(t *testing.T, s sdk.Surface, script, input string) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range s.Files {
		text := f.Text
		switch f.Kind {
		case sdk.FilePythonClient:
			text = fakeClient()
		case sdk.FileConnection:
			text = "{}"
		}
		testkit.WriteFile(t, filepath.Join(dir, filepath.FromSlash(f.Path)), text)
	}
	cmd := exec.Command("/usr/bin/python3", "-W", "error", "-B", "-c", script)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("python: %v\n%s\n%s", err, out, s.Files[0].Text)
	}
	return string(out)
}

// The signatures that Python sees are those of the interface.
func TestImportedSignatures(t *testing.T) {
	i := tools()
	in, err := json.Marshal(i)
	if err != nil {
		t.Fatal(err)
	}
	run(t, surface(t, i), `
import ast, inspect, json, pathlib, pickle, sys
import model_tools
interface = json.load(sys.stdin)
for file in pathlib.Path("model_tools").glob("*.py"):
    ast.parse(file.read_text(), feature_version=(3, 8))
renamed = {"class": "class_", "from": "from_"}
assert model_tools.__all__ == [renamed.get(f["name"], f["name"]) for f in interface["functions"]], model_tools.__all__
assert model_tools.__doc__ == interface["doc"]
for want in interface["functions"]:
    f = getattr(model_tools, renamed.get(want["name"], want["name"]))
    got = inspect.signature(f)
    assert not inspect.iscoroutinefunction(f)
    doc = want.get("doc")
    assert inspect.getdoc(f) == (doc and inspect.cleandoc(doc)), want
    params = want["params"] or []
    assert len(got.parameters) == len(params)
    for p, q in zip(params, got.parameters.values()):
        ours = p["name"].startswith("_")
        assert q.name == renamed.get(p["name"], p["name"]) or ours, (p, q)
        assert q.kind.name.lower() == p["kind"], (p, q)
        assert (q.default is not q.empty) == p.get("has_default", False), (p, q)
        if "default_repr" in p:
            assert repr(q.default) == p["default_repr"], (p, q)
        if "annotation" in p:
            assert q.annotation.strip('"') == p["annotation"], (p, q)
    if "returns" in want and not want.get("stream"):
        assert got.return_annotation == want["returns"]
    for way in (f.submit, f.aio, f.handle):
        assert inspect.signature(way) == got and not inspect.iscoroutinefunction(way)
        assert way.__doc__.endswith(f.__doc__ or "") and way.__qualname__.startswith(f.__qualname__ + "."), way
        assert pickle.loads(pickle.dumps(way)) is way
    assert pickle.loads(pickle.dumps(f)) is f
`, string(in))
}

// What is sent for a call is what the function would have got.
func TestSentArguments(t *testing.T) {
	run(t, surface(t, tools()), `
import model_tools as m
def same(got, *want): assert (got[0], list(got[1]), got[2]) == want, (got, want)
same(m.embed("x"), "embed", [], {"text": "x", "layer": -1, "scale": None, "names": ["a", "b's"]})
same(m.embed("x", 2, scale=1.5, names=[]), "embed", [], {"text": "x", "layer": 2, "scale": 1.5, "names": []})
same(m.everything(1, key=0), "everything", [1], {"key": 0})
same(m.everything(1, 2, key=0, extra=5), "everything", [1, 2], {"key": 0, "extra": 5})
same(m.everything(1, fourth=4, key=0), "everything", [1], {"fourth": 4, "key": 0})
same(m.everything(1, 2, 3, 4, 5, 6, key=0), "everything", [1, 2, 3, 4, 5, 6], {"key": 0})
same(m.everything(1, first=2, key=0), "everything", [1], {"key": 0, "first": 2})
same(m.list(1), "list", [], {"_client": 1, "_stubs": "\u2028", "from": 1.5})
same(m.list(1, from_=2), "list", [], {"_client": 1, "_stubs": "\u2028", "from": 2})
same(m.isinstance(), "isinstance", [], {})
same(m.class_(), "class", [], {})
same(m.CallError(), "CallError", [], {})
assert issubclass(m.SeerError, Exception)
for bad in (lambda: m.embed(), lambda: m.embed("x", other=1), lambda: m.everything(first=1, key=1), lambda: m.everything(1)):
    try: bad()
    except TypeError: pass
    else: raise AssertionError("no TypeError")
`, "")
}

func TestRefused(t *testing.T) {
	for name, req := range map[string]sdk.ExposeRequest{
		"keyword":  {Name: "class"},
		"dash":     {Name: "model-tools"},
		"path":     {Name: "../x"},
		"empty":    {},
		"twice":    {Name: "m", Interface: sdk.Interface{Functions: []sdk.Function{{Name: "f"}, {Name: "f"}}}},
		"reserved": {Name: "m", Interface: sdk.Interface{Functions: []sdk.Function{{Name: "__file__"}}}},
	} {
		if _, err := (Mode{}).Expose(context.Background(), req); sdk.CodeOf(err) != sdk.Invalid {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// What the library has itself is hidden by functions of the same name, not by parameters.
func TestNamesOfTheLibrary(t *testing.T) {
	takes := sdk.Function{Name: "pool", Params: []sdk.Param{
		{Name: "options", Kind: sdk.PositionalOrKeyword}, {Name: "calls", Kind: sdk.PositionalOrKeyword}, {Name: "Handle", Kind: sdk.PositionalOrKeyword}}}
	s := surface(t, sdk.Interface{Functions: []sdk.Function{takes, {Name: "attach"}}})
	run(t, s, `
import model_tools as m
assert callable(m.options) and m.calls == m._library.calls and m.Handle is m._client.Handle
assert tuple(m.attach())[0] == "attach"
assert tuple(m.pool(1, 2, 3))[2] == {"options": 1, "calls": 2, "Handle": 3}
`, "")
	for _, want := range []string{"import options as options", "def calls(", "import Handle as Handle"} {
		if !strings.Contains(s.Files[1].Text, want) {
			t.Errorf("the stub lacks %q:\n%s", want, s.Files[1].Text)
		}
	}
}

func TestNoFunctions(t *testing.T) {
	run(t, surface(t, sdk.Interface{}), "import model_tools; assert model_tools.__all__ == []", "")
}

// Whatever an interface says, the library can be imported.
func FuzzModule(f *testing.F) {
	f.Add("embed", `doc """ \`, "x", "list[int]", "[1]", "(1,)")
	f.Add("class", "\x00", "self", "<odd>", "1e999", "nan")
	f.Fuzz(func(t *testing.T, name, doc, param, annotation, def, repr string) {
		fn := sdk.Function{Name: name, Doc: doc, Returns: annotation, Params: []sdk.Param{
			{Name: param, Kind: sdk.PositionalOrKeyword, Annotation: annotation, HasDefault: true, Default: raw(def), DefaultRepr: repr}}}
		i := sdk.Interface{Doc: doc, Functions: []sdk.Function{fn, {Name: name + "_", Stream: true, Returns: annotation}}}
		taken, err := names(i)
		if err != nil {
			return
		}
		for _, text := range []string{module(i, taken), types(i, taken)} {
			cmd := exec.Command("/usr/bin/python3", "-I", "-c", "import ast,sys; ast.parse(sys.stdin.buffer.read(), feature_version=(3,8))")
			cmd.Stdin = strings.NewReader(text)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s\n%s", err, out, text)
			}
		}
	})
}
