// Package library is the expose mode that makes an importable Python library. It
// writes signatures and documentation; the client that makes the calls is the
// engine's.
package library

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/seer-engine/seer/plugins/internal/python"
	"github.com/seer-engine/seer/sdk"
)

// Mode implements [sdk.Exposer].
type Mode struct{}

//go:embed stubs.py
var stubs string

// Expose makes the package <name>. It needs Python 3.8 or later and nothing but
// the standard library.
func (Mode) Expose(_ context.Context, req sdk.ExposeRequest) (sdk.Surface, error) {
	if !python.IsName(req.Name) {
		return sdk.Surface{}, sdk.Errorf(sdk.Invalid, "%q cannot be imported in Python; choose another `name:` of letters, digits and underscores", req.Name)
	}
	text, err := module(req.Interface)
	if err != nil {
		return sdk.Surface{}, err
	}
	return sdk.Surface{
		Files: []sdk.SurfaceFile{
			{Path: req.Name + "/__init__.py", Text: text},
			{Path: req.Name + "/_stubs.py", Text: stubs},
			{Path: req.Name + "/_client.py", Kind: sdk.FilePythonClient},
			{Path: req.Name + "/connection.json", Kind: sdk.FileConnection},
			{Path: req.Name + "/py.typed"},
		},
		Prompt: prompt(req),
	}, nil
}

// module writes __init__.py. Apart from its own three names it defines the served
// functions only, and it uses no builtin: a function may be called `list`.
func module(i sdk.Interface) (string, error) {
	taken, err := names(i)
	if err != nil {
		return "", err
	}
	own := scope{
		client: python.Name("_Client", taken), stubs: python.Name("_stubs", taken), session: python.Name("_client", taken),
	}
	var b strings.Builder
	doc := i.Doc
	if doc == "" {
		doc = "Functions that run in a Seer sandbox."
	}
	fmt.Fprintf(&b, "%s\n", python.Docstring(doc, ""))
	fmt.Fprintf(&b, "# Made by Seer; changes are lost when the interface is served again.\n")
	fmt.Fprintf(&b, "from __future__ import annotations\n\n")
	if used := python.TypingNames(annotations(i), taken); len(used) > 0 {
		fmt.Fprintf(&b, "from typing import %s\n\n", strings.Join(used, ", "))
	}
	fmt.Fprintf(&b, "from . import _stubs as %s\n", own.stubs)
	fmt.Fprintf(&b, "from ._client import Client as %s\n", own.client)
	for _, name := range []string{"SeerError", "CallError"} { // for `except`
		if !taken[name] {
			fmt.Fprintf(&b, "from ._client import %s as %[1]s\n", name)
		}
	}
	b.WriteByte('\n')
	var all, functions []string
	public := map[string]bool{own.client: true, own.stubs: true, own.session: true}
	for _, f := range i.Functions {
		name := python.Name(f.Name, public)
		all = append(all, python.String(name))
		functions = append(functions, own.function(name, f))
	}
	fmt.Fprintf(&b, "__all__ = [%s]\n\n", strings.Join(all, ", "))
	fmt.Fprintf(&b, "%s = %s.beside(__file__)\n", own.session, own.client)
	for _, text := range functions {
		fmt.Fprintf(&b, "\n\n%s", text)
	}
	return b.String(), nil
}

func annotations(i sdk.Interface) []string {
	var texts []string
	for _, f := range i.Functions {
		texts = append(texts, f.Returns)
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
type scope struct{ client, stubs, session string }

func (s scope) function(name string, f sdk.Function) string {
	params := python.Params(f.Params, map[string]bool{s.stubs: true, s.session: true})
	var b strings.Builder
	fmt.Fprintf(&b, "def %s%s:\n", name, python.Signature(params, f.Returns, s.defaultOf))
	if f.Doc != "" {
		fmt.Fprintf(&b, "    %s\n", python.Docstring(f.Doc, "    "))
	}
	if f.Async {
		fmt.Fprintf(&b, "    # async in the sandbox; here a plain call that returns the result.\n")
	}
	fmt.Fprintf(&b, "    return %s.call(%s, %s, %s)\n", s.stubs, s.session, python.String(f.Name), arguments(params))
	return b.String()
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

// defaultOf writes a default that is exactly a JSON value as it is. Any other (a
// tuple, an enum, an object) is left to the function itself: the stub then has a
// stand-in that looks like it and is not sent.
func (s scope) defaultOf(p python.Param) string {
	if len(p.Default) > 0 && len(p.Default) <= longestDefault {
		literal, repr, err := python.FromJSON(p.Default)
		if err == nil && (p.DefaultRepr == "" || p.DefaultRepr == repr) {
			return literal
		}
	}
	repr := p.DefaultRepr
	if repr == "" || len(repr) > longestDefault {
		repr = "..."
	}
	return fmt.Sprintf("%s.Default(%s)", s.stubs, python.String(repr))
}

func prompt(req sdk.ExposeRequest) string {
	var b strings.Builder
	fmt.Fprintf(&b, "The Python library `%s` calls functions in a model sandbox. Use it with `import %s`:\n\n```python\n", req.Name, req.Name)
	for _, f := range req.Interface.Functions {
		params := python.Params(f.Params, nil)
		fmt.Fprintf(&b, "%s.%s%s\n", req.Name, f.Name, python.Signature(params, f.Returns, python.Shown))
	}
	b.WriteString("```\n\n`help(" + req.Name + ")` tells more.\n")
	return b.String()
}
