// Package library is the expose mode that makes an importable Python library. It
// writes signatures and documentation; the client that makes the calls is the
// engine's.
package library

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/seer-engine/seer/plugins/internal/options"
	"github.com/seer-engine/seer/plugins/internal/python"
	"github.com/seer-engine/seer/sdk"
)

// Mode implements [sdk.Exposer].
type Mode struct{}

//go:embed client.pyi
var clientTypes string

// Expose makes the package <name>. It needs Python 3.8 or later and nothing but
// the standard library.
func (Mode) Expose(_ context.Context, req sdk.ExposeRequest) (sdk.Surface, error) {
	if err := options.None("library", req.Options); err != nil {
		return sdk.Surface{}, err
	}
	if !python.IsName(req.Name) {
		return sdk.Surface{}, sdk.Errorf(sdk.Invalid, "%q cannot be imported in Python; choose another `name:` of letters, digits and underscores", req.Name)
	}
	taken, err := names(req.Interface)
	if err != nil {
		return sdk.Surface{}, err
	}
	return sdk.Surface{
		Files: []sdk.SurfaceFile{
			{Path: req.Name + "/__init__.py", Text: module(req.Interface, taken)},
			{Path: req.Name + "/__init__.pyi", Text: types(req.Interface, taken)},
			{Path: req.Name + "/_client.py", Kind: sdk.FilePythonClient},
			{Path: req.Name + "/_client.pyi", Text: clientTypes},
			{Path: req.Name + "/connection.json", Kind: sdk.FileConnection},
			{Path: req.Name + "/py.typed"},
		},
		Prompt: prompt(req),
	}, nil
}

// offered are names of the client that a library has, too, as far as no function
// of the interface is called so.
var offered = []string{
	"BadArguments", "Busy", "CallError", "CallTimeout", "Cancelled", "Handle", "HandleGone", "Interrupted", "PendingCall", "Refused", "SeerError",
	"UnknownCall", "Unreachable", "options",
}

// ofLibrary are methods that a library has as functions.
var ofLibrary = []string{"attach", "calls"}

// unless leaves out the names that functions of the interface have. A parameter of
// that name hides nothing outside its function.
func unless(i sdk.Interface, names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return slices.ContainsFunc(i.Functions, func(f sdk.Function) bool { return f.Name == name })
	})
}

// module writes __init__.py. Apart from the names above and its own it defines the
// served functions only, and it uses no builtin: a function may be called `list`.
func module(i sdk.Interface, known map[string]bool) string {
	taken := maps.Clone(known)
	own := scope{
		class: python.Name("_Library", taken), missing: python.Name("_Default", taken), library: python.Name("_library", taken),
	}
	var functions strings.Builder
	all, defaults := []string{}, false
	public := map[string]bool{own.class: true, own.missing: true, own.library: true}
	for _, f := range i.Functions {
		name := python.Name(f.Name, public)
		all = append(all, python.String(name))
		fmt.Fprintf(&functions, "\n\n%s", own.function(name, f, &defaults))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", python.Docstring(doc(i), ""))
	fmt.Fprintf(&b, "# Made by Seer; changes are lost when the interface is served again.\n")
	fmt.Fprintf(&b, "from __future__ import annotations\n\n")
	if used := python.TypingNames(annotations(i), taken); len(used) > 0 {
		fmt.Fprintf(&b, "from typing import %s\n\n", strings.Join(used, ", "))
	}
	fmt.Fprintf(&b, "from ._client import Library as %s\n", own.class)
	if defaults {
		fmt.Fprintf(&b, "from ._client import Default as %s\n", own.missing)
	}
	if free := unless(i, offered); len(free) > 0 {
		fmt.Fprintf(&b, "from ._client import %s\n", strings.Join(free, ", "))
	}
	fmt.Fprintf(&b, "\n__all__ = [%s]\n\n", strings.Join(all, ", "))
	fmt.Fprintf(&b, "%s = %s(__file__)\n", own.library, own.class)
	for _, name := range unless(i, ofLibrary) {
		fmt.Fprintf(&b, "%s = %s.%[1]s\n", name, own.library)
	}
	return b.String() + functions.String()
}

func doc(i sdk.Interface) string {
	if i.Doc == "" {
		return "Functions that run in a Seer sandbox."
	}
	return i.Doc
}

func annotations(i sdk.Interface) []string {
	var texts []string
	for _, f := range i.Functions {
		texts = append(texts, returned(f))
		for _, p := range f.Params {
			texts = append(texts, p.Annotation)
		}
	}
	return texts
}

// names collects every name of the interface, for ours must differ from them.
func names(i sdk.Interface) (map[string]bool, error) {
	taken := map[string]bool{}
	for _, f := range i.Functions {
		if taken[f.Name] {
			return nil, sdk.Errorf(sdk.Invalid, "the function %s is there twice", f.Name)
		}
		if strings.HasPrefix(f.Name, "__") {
			return nil, sdk.Errorf(sdk.Invalid, "the function %s cannot be in a library, for Python reserves names that begin with two underscores; rename it", f.Name)
		}
		taken[f.Name] = true
	}
	for _, f := range i.Functions {
		for _, p := range f.Params {
			taken[p.Name] = true
		}
	}
	return taken, nil
}

// scope is the module's own names.
type scope struct{ class, missing, library string }

func (s scope) function(name string, f sdk.Function, defaults *bool) string {
	params := python.Params(f.Params, map[string]bool{s.library: true, s.missing: true})
	way := "call"
	if f.Stream {
		way = "stream"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "@%s.function\n", s.library)
	fmt.Fprintf(&b, "def %s%s:\n", name, python.Signature(params, returned(f), func(p python.Param) string {
		text, exact := literal(p)
		if exact {
			return text
		}
		*defaults = true
		return fmt.Sprintf("%s(%s)", s.missing, python.String(text))
	}))
	if f.Doc != "" {
		fmt.Fprintf(&b, "    %s\n", python.Docstring(f.Doc, "    "))
	}
	fmt.Fprintf(&b, "    return %s.%s(%s, %s)\n", s.library, way, python.String(f.Name), arguments(params))
	return b.String()
}

// returned is the annotation of what a function gives here, where every generator
// is iterated with a plain `for`.
func returned(f sdk.Function) string {
	if f.Stream && f.Returns == "" {
		return "Iterator"
	}
	if f.Stream {
		return strings.TrimPrefix(f.Returns, "Async")
	}
	return f.Returns
}

// arguments writes what is handed on: those without a name, those with one, and
// for a function with *args, the names of those that come before it, and it.
func arguments(params []python.Param) string {
	var list, dict, leading []string
	rest := ""
	for _, p := range params {
		switch p.Kind {
		case sdk.PositionalOnly:
			list = append(list, p.As)
		case sdk.VarPositional:
			rest = p.As
		case sdk.VarKeyword:
			dict = append(dict, "**"+p.As)
		case sdk.PositionalOrKeyword:
			leading = append(leading, python.String(p.Name))
			fallthrough
		default:
			dict = append(dict, python.String(p.Name)+": "+p.As)
		}
	}
	text := "[" + strings.Join(list, ", ") + "], {" + strings.Join(dict, ", ") + "}"
	if rest != "" {
		text += ", [" + strings.Join(leading, ", ") + "], " + rest
	}
	return text
}

const longestDefault = 1000

// literal writes a default that is exactly a JSON value as it is. Any other (a
// tuple, an enum, an object) is left to the function itself: the library then has
// a fake that looks like it, as the text says, and is not sent.
func literal(p python.Param) (text string, exact bool) {
	if len(p.Default) > 0 && len(p.Default) <= longestDefault {
		literal, repr, err := python.FromJSON(p.Default)
		if err == nil && (p.DefaultRepr == "" || p.DefaultRepr == repr) {
			return literal, true
		}
	}
	if p.DefaultRepr == "" || len(p.DefaultRepr) > longestDefault {
		return "...", false
	}
	return p.DefaultRepr, false
}

func prompt(req sdk.ExposeRequest) string {
	var b strings.Builder
	fmt.Fprintf(&b, "The Python library `%s` calls functions in a model sandbox. Use it with `import %s`:\n\n```python\n", req.Name, req.Name)
	for _, f := range req.Interface.Functions {
		params := python.Params(f.Params, nil)
		fmt.Fprintf(&b, "%s.%s%s\n", req.Name, f.Name, python.Signature(params, f.Returns, python.Shown))
	}
	b.WriteString("```\n\n")
	functions := req.Interface.Functions
	if at := slices.IndexFunc(functions, func(f sdk.Function) bool { return f.Stream }); at >= 0 {
		fmt.Fprintf(&b, "`%s` gives its items as they are made: iterate over the result.\n", functions[at].Name)
	}
	if at := slices.IndexFunc(functions, python.GivesMuch); at >= 0 {
		fmt.Fprintf(&b, "`%s.handle(…)` leaves a large result in the sandbox: slice and reduce the handle (`h[0]`, `h.mean()`), pass it as an argument, `h.fetch()` it.\n", functions[at].Name)
	}
	if len(functions) > 0 {
		fmt.Fprintf(&b, "`%[1]s.submit(…)` starts a long call and returns at once: `.id`, `.state()`, `.result()`; `%[2]s.attach(id)` comes back to it.\n\n", functions[0].Name, req.Name)
	}
	b.WriteString("`help(" + req.Name + ")` tells more.\n")
	return b.String()
}
