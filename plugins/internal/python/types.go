package python

import (
	"regexp"
	"slices"
	"strings"

	"github.com/seer-engine/seer/sdk"
)

// Types writes annotations for a stub file, in which every name must be known to a
// type checker. What only the interface knows becomes Any.
type Types struct {
	Typing   string          // the name that the module typing has in the stub
	Builtins string          // the name that the module builtins has there
	Taken    map[string]bool // names that mean something else there
	Modules  map[string]bool // modules that must be imported, as they are written; Types adds to it
}

// inBuiltins are the built-in types that values have, or that may be given.
var inBuiltins = []string{"bool", "bytearray", "bytes", "complex", "dict", "float", "frozenset", "int", "list", "memoryview", "object", "set", "str", "tuple"}

// fromModules are the attributes of modules that a stub may name, under the names
// by which people import them.
var fromModules = map[string][]string{
	"np": nil, "numpy": nil, "pd": nil, "pandas": nil, "torch": nil,
	"datetime": {"datetime", "date", "time", "timedelta"}, "decimal": {"Decimal"},
}

// asLists are what arrives as a list, as JSON has no other sequences.
var asLists = []string{"tuple", "Tuple", "set", "Set", "frozenset", "FrozenSet", "AbstractSet", "deque", "Deque"}

// Given is the type of an argument.
func (t Types) Given(annotation string) string { return t.write(annotation, false) }

// Received is the type of a result as it arrives: tuples and sets are lists,
// tensors are arrays.
func (t Types) Received(annotation string) string { return t.write(annotation, true) }

// Item is the type of what a generator with this annotation yields.
func (t Types) Item(annotation string) string {
	tree, ok := parseType(annotation)
	last := tree.name[strings.LastIndexByte(tree.name, '.')+1:]
	iterators := []string{"Iterator", "Iterable", "Generator", "AsyncIterator", "AsyncIterable", "AsyncGenerator"}
	if !ok || len(tree.args) == 0 || !slices.Contains(iterators, last) {
		return t.any()
	}
	return t.text(tree.args[0], true)
}

func (t Types) write(annotation string, received bool) string {
	tree, ok := parseType(annotation)
	if annotation == "" || !ok {
		return t.any()
	}
	return t.text(tree, received)
}

func (t Types) any() string { return t.Typing + ".Any" }

func (t Types) text(n typeNode, received bool) string {
	switch {
	case len(n.union) > 0:
		return t.join(n.union, " | ", received)
	case strings.HasPrefix(n.literal, "'") || strings.HasPrefix(n.literal, `"`): // a forward reference
		return t.write(n.literal[1:len(n.literal)-1], received)
	case n.literal != "":
		return n.literal
	case n.name == "":
		return "[" + t.join(n.args, ", ", received) + "]"
	case n.name == "None":
		return n.name
	}
	module, attribute, dotted := strings.Cut(n.name, ".")
	if dotted && (module == "typing" || module == "t" || module == "collections" || module == "typing_extensions") {
		n.name = attribute[strings.LastIndexByte(attribute, '.')+1:]
	} else if dotted {
		return t.foreign(module, attribute, n, received)
	}
	return t.known(n, received)
}

// known writes a builtin, or a name of typing.
func (t Types) known(n typeNode, received bool) string {
	if n.name == "Annotated" && len(n.args) > 0 {
		return t.text(n.args[0], received)
	}
	if received && slices.Contains(asLists, n.name) {
		return t.list(n)
	}
	if n.name == "Literal" {
		return t.Typing + ".Literal[" + literals(n.args) + "]"
	}
	head := ""
	switch {
	case slices.Contains(inBuiltins, n.name):
		if head = n.name; t.Taken[head] {
			head = t.Builtins + "." + head
		}
	case slices.Contains(inTyping, n.name) && n.name != "NamedTuple" && n.name != "TypedDict" && n.name != "AnyStr":
		head = t.Typing + "." + n.name
	default:
		return t.any()
	}
	if len(n.args) == 0 {
		return head
	}
	return head + "[" + t.join(n.args, ", ", received) + "]"
}

// literals are written as they are, but for members of an Enum.
func literals(nodes []typeNode) string {
	texts := make([]string, len(nodes))
	for i, n := range nodes {
		if texts[i] = n.literal + n.name; strings.Contains(n.name, ".") {
			texts[i] = "None"
		}
	}
	return strings.Join(texts, ", ")
}

func (t Types) list(n typeNode) string {
	args := slices.DeleteFunc(slices.Clone(n.args), func(a typeNode) bool { return a.literal == "..." })
	item := t.any()
	if len(args) > 0 {
		var texts []string
		for _, a := range args {
			if text := t.text(a, true); !slices.Contains(texts, text) {
				texts = append(texts, text)
			}
		}
		item = strings.Join(texts, " | ")
	}
	return t.Typing + ".List[" + item + "]"
}

func (t Types) foreign(module, attribute string, n typeNode, received bool) string {
	allowed, ok := fromModules[module]
	if !ok || allowed != nil && !slices.Contains(allowed, attribute) {
		return t.any()
	}
	if received && module == "torch" {
		module, attribute, n.args = "np", "ndarray", nil
	}
	t.Modules[module] = true
	if text := module + "." + attribute; len(n.args) == 0 {
		return text
	}
	return module + "." + attribute + "[" + t.join(n.args, ", ", received) + "]"
}

func (t Types) join(nodes []typeNode, with string, received bool) string {
	texts := make([]string, len(nodes))
	for i, n := range nodes {
		texts[i] = t.text(n, received)
	}
	return strings.Join(texts, with)
}

var ofArrays = regexp.MustCompile(`\b(ndarray|NDArray|Tensor|DataFrame|Series)\b`)

// GivesMuch reports whether a function's result is of a kind that may be large,
// so that its caller should know that it can stay in the sandbox.
func GivesMuch(f sdk.Function) bool { return ofArrays.MatchString(f.Returns) }

// typeNode is a part of an annotation: a union, a literal (a number, a text, "..."),
// a name with or without arguments, or, without a name, a list.
type typeNode struct {
	name    string
	literal string
	args    []typeNode
	union   []typeNode
}
