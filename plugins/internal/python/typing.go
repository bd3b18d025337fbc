package python

import (
	"regexp"
	"slices"
)

// inTyping are the names of the module typing that annotations are written with
// and that Python 3.8 has.
var inTyping = []string{
	"AbstractSet", "Any", "AnyStr", "AsyncGenerator", "AsyncIterable", "AsyncIterator", "Awaitable", "ByteString", "Callable",
	"ClassVar", "Collection", "Container", "Coroutine", "Counter", "DefaultDict", "Deque", "Dict", "Final", "FrozenSet",
	"Generator", "Hashable", "ItemsView", "Iterable", "Iterator", "KeysView", "List", "Literal", "Mapping", "MutableMapping",
	"MutableSequence", "MutableSet", "NamedTuple", "NoReturn", "Optional", "OrderedDict", "Reversible", "Sequence", "Set",
	"Sized", "SupportsFloat", "SupportsInt", "Text", "Tuple", "Type", "TypedDict", "Union", "ValuesView",
}

var bareName = regexp.MustCompile(`(^|[^.\p{L}_\p{Nd}])([\p{L}_][\p{L}_\p{Nd}]*)`)

// TypingNames are the names of the module typing that the annotations use, sorted.
// Type checkers and typing.get_type_hints need them imported; what is taken is
// something else of that name.
func TypingNames(annotations []string, taken map[string]bool) []string {
	var used []string
	for _, text := range annotations {
		for _, m := range bareName.FindAllStringSubmatch(text, -1) {
			if name := m[2]; slices.Contains(inTyping, name) && !taken[name] && !slices.Contains(used, name) {
				used = append(used, name)
			}
		}
	}
	slices.Sort(used)
	return used
}
