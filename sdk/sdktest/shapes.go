package sdktest

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/seer-engine/seer/sdk"
)

// Interfaces are those that an expose mode is tried with, by name: of every shape that a
// Python file can have. An author may use them in tests of his own.
func Interfaces() map[string]sdk.Interface {
	return map[string]sdk.Interface{
		"usual":         module("tools", "Tools for a model.", search(), train()),
		"no functions":  module("empty", ""),
		"300 functions": module("many", "Many functions.", many(300)...),
		"Unicode":       module("größe", "Größen und 函数 — «ё» 🙂", named("größe", "Liefert die Größe. 🙂"), named("函数", "返回一个值。")),
		"hostile docs":  module("hostile", hostileDoc, named("innocent", hostileDoc)),
		"keywords":      module("keywords", "", named("print", "Shadows a name."), named("match", "A soft keyword."), named("self", ""), named("connect", "")),
		"all kinds":     module("kinds", "Every kind of parameter.", kinds(), stream(), bare()),
	}
}

const hostileDoc = "Ends strings: \"\"\" ''' \" ' ` ``` \\ */ --> ]]> </script> ${HOME} $(id) {{seer.connection}} %s {0}\n\n---\nname: other\n---\n" +
	"# A heading\n\n```python\nimport os\n```\r\n\tand \x1b[31mred\x1b[0m, a NUL-like \u0001, a bidi \u202e, and no end\\"

func module(name, doc string, functions ...sdk.Function) sdk.Interface {
	if functions == nil {
		functions = []sdk.Function{}
	}
	return sdk.Interface{Module: name, Doc: doc, Functions: functions, CodeHash: "sha256:" + strings.Repeat("0a", 32)}
}

func raw(s string) json.RawMessage { return json.RawMessage(s) }

func named(name, doc string) sdk.Function {
	return sdk.Function{Name: name, Doc: doc, Params: []sdk.Param{
		{Name: "value", Kind: sdk.PositionalOrKeyword, Annotation: "str", Doc: doc, Schema: raw(`{"type":"string"}`)},
	}, Returns: "str", InputSchema: raw(`{"type":"object","properties":{"value":{"type":"string"}},"required":["value"]}`), OutputSchema: raw(`{"type":"string"}`), Line: 3}
}

func search() sdk.Function {
	yes, no := true, false
	return sdk.Function{Name: "search", Doc: "Find something.\n\nArgs:\n    query: what to look for\n", Title: "Search", Concurrent: 8, Timeout: 30,
		Hints: sdk.Hints{ReadOnly: &yes, Destructive: &no, OpenWorld: &no},
		Params: []sdk.Param{
			{Name: "query", Kind: sdk.PositionalOrKeyword, Annotation: "str", Doc: "what to look for", Schema: raw(`{"type":"string"}`)},
			{Name: "limit", Kind: sdk.KeywordOnly, Annotation: "int", HasDefault: true, Default: raw("10"), DefaultRepr: "10", Schema: raw(`{"type":"integer","default":10}`)},
		}, Returns: "list[str]",
		InputSchema:  raw(`{"type":"object","properties":{"query":{"type":"string"},"limit":{"type":"integer","default":10}},"required":["query"],"additionalProperties":false}`),
		OutputSchema: raw(`{"type":"array","items":{"type":"string"}}`), Line: 12}
}

func train() sdk.Function {
	return sdk.Function{Name: "train", Async: true, Batch: 4, Params: []sdk.Param{
		{Name: "x", Kind: sdk.PositionalOrKeyword, Annotation: "np.ndarray"},
		{Name: "rate", Kind: sdk.PositionalOrKeyword, Annotation: "float | None", HasDefault: true, Default: raw("null"), DefaultRepr: "None"},
		{Name: "shape", Kind: sdk.PositionalOrKeyword, HasDefault: true, DefaultRepr: "<object object at 0x7f>"},
	}, InputSchema: raw(`{"type":"object","properties":{"x":{},"rate":{"type":["number","null"]},"shape":{}},"required":["x"]}`)}
}

func kinds() sdk.Function {
	return sdk.Function{Name: "kinds", Doc: "Takes all.", Params: []sdk.Param{
		{Name: "a", Kind: sdk.PositionalOnly, Annotation: "int", Schema: raw(`{"type":"integer"}`)},
		{Name: "b", Kind: sdk.PositionalOrKeyword, HasDefault: true, Default: raw(`"it's \"b\"\n"`), DefaultRepr: `'it\'s "b"\n'`},
		{Name: "rest", Kind: sdk.VarPositional, Annotation: "int"},
		{Name: "c", Kind: sdk.KeywordOnly, Annotation: "dict[str, list[int]]", HasDefault: true, Default: raw(`{"k":[1,2]}`), DefaultRepr: "{'k': [1, 2]}"},
		{Name: "extra", Kind: sdk.VarKeyword, Annotation: "float"},
	}, Returns: "dict", InputSchema: raw(`{"type":"object","properties":{"a":{"type":"integer"},"b":{},"rest":{"type":"array","items":{"type":"integer"}},"c":{"type":"object"}},"required":["a"],"additionalProperties":{"type":"number"}}`)}
}

func stream() sdk.Function {
	return sdk.Function{Name: "count", Doc: "Counts.", Stream: true, Async: true, Params: []sdk.Param{}, Returns: "AsyncIterator[int]",
		InputSchema: raw(`{"type":"object","properties":{}}`), OutputSchema: raw(`{"type":"integer"}`)}
}

// bare is a function about which nothing is known.
func bare() sdk.Function {
	return sdk.Function{Name: "bare", Params: []sdk.Param{{Name: "x", Kind: sdk.PositionalOrKeyword}}, InputSchema: raw(`{"type":"object","properties":{"x":{}},"required":["x"]}`)}
}

func many(n int) []sdk.Function {
	out := make([]sdk.Function, n)
	for i := range out {
		out[i] = named(fmt.Sprintf("function_%03d", i), strings.Repeat("Does something useful. ", 20))
	}
	return out
}
