package library

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/seer-engine/seer/plugins/internal/python"
	"github.com/seer-engine/seer/sdk"
)

// quiet keeps type checkers from judging a file that nobody has written.
const quiet = `# Made by Seer; changes are lost when the interface is served again.
# mypy: ignore-errors
# pyright: basic, reportMissingImports=false, reportMissingModuleSource=false, reportSelfClsParameterName=false
`

// types writes __init__.pyi: the same functions for type checkers, with the types
// that arguments and results have here.
func types(i sdk.Interface, known map[string]bool) string {
	taken := maps.Clone(known)
	t := python.Types{
		Typing: python.Name("_typing", taken), Builtins: python.Name("_builtins", taken), Taken: known, Modules: map[string]bool{},
	}
	plain, stream := python.Name("_function", taken), python.Name("_stream", taken)
	pending, handle := python.Name("_PendingCall", taken), python.Name("_Handle", taken)
	var functions strings.Builder
	public := map[string]bool{t.Typing: true, t.Builtins: true, plain: true, stream: true, pending: true, handle: true}
	for _, f := range i.Functions {
		name := python.Name(f.Name, public)
		decorator, returns := plain, t.Received(f.Returns)
		if f.Stream {
			decorator, returns = stream, t.Typing+".Iterator["+t.Item(f.Returns)+"]"
		}
		fmt.Fprintf(&functions, "\n@%s\ndef %s%s -> %s: ...\n", decorator, name, signature(t, f, handle), returns)
	}
	var b strings.Builder
	b.WriteString(quiet + "import builtins as " + t.Builtins + "\nimport typing as " + t.Typing + "\n")
	for _, module := range slices.Sorted(maps.Keys(t.Modules)) {
		b.WriteString(imports[module] + "\n")
	}
	fmt.Fprintf(&b, "\nfrom ._client import PendingCall as %s\nfrom ._client import Handle as %s\n", pending, handle)
	fmt.Fprintf(&b, "from ._client import _function as %s\nfrom ._client import _stream as %s\n", plain, stream)
	for _, name := range unless(i, offered) {
		fmt.Fprintf(&b, "from ._client import %s as %[1]s\n", name)
	}
	b.WriteByte('\n')
	for _, name := range unless(i, ofLibrary) {
		switch name {
		case "attach":
			fmt.Fprintf(&b, "def attach(call_id: %s) -> %s[%s.Any]: ...\n", t.Given("str"), pending, t.Typing)
		case "calls":
			fmt.Fprintf(&b, "def calls(call_id: %s = ...) -> %s: ...\n", t.Given("str"), t.Given("list[dict[str, Any]]"))
		}
	}
	return b.String() + functions.String()
}

// imports say how a module is imported that annotations name so.
var imports = map[string]string{
	"np": "import numpy as np", "numpy": "import numpy", "pd": "import pandas as pd", "pandas": "import pandas", "torch": "import torch",
	"datetime": "import datetime", "decimal": "import decimal",
}

// signature writes the parameters with the types of what may be given: for what
// may be large, a handle, too.
func signature(t python.Types, f sdk.Function, handle string) string {
	params := python.Params(f.Params, nil)
	for i, p := range params {
		given := t.Given(p.Annotation)
		if large.MatchString(given) {
			given += " | " + handle
		}
		params[i].Annotation = given
	}
	return python.Signature(params, "", func(python.Param) string { return "..." })
}

var large = regexp.MustCompile(`\b(np|numpy|pd|pandas|torch)\.|^(list|dict|bytes)\b|^[\w.]*\b(List|Dict|Sequence)\b`)
