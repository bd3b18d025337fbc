package experiment

// Kind is what may stand as the value of a [Field].
type Kind string

// The kinds of value in an experiment file.
const (
	KindString   Kind = "string"
	KindInt      Kind = "integer"
	KindNumber   Kind = "number" // above zero
	KindSize     Kind = "size"   // GiB, or 512MB, 16GB, 1TB
	KindShare    Kind = "share"  // a number of parts, or an amount as of KindSize with its unit
	KindBool     Kind = "boolean"
	KindDuration Kind = "duration"            // seconds, or 90m, 2h
	KindStrings  Kind = "list of strings"     //
	KindOneOrAll Kind = "string or list"      // a string is a list of one
	KindInts     Kind = "list of integers"    //
	KindMap      Kind = "mapping"             // of Fields
	KindMaps     Kind = "list of mappings"    // each of Fields, or a string where Short is set
	KindPairs    Kind = "list of pairs"       // each [a, b] or a mapping of Fields
	KindEnv      Kind = "mapping of strings"  // keys are the user's
	KindFree     Kind = "mapping of anything" // passed on as it is
	KindFrees    Kind = "mapping of mappings" // keys are the user's, what is below is passed on as it is
)

// Field describes one key of the experiment file. The parser, the JSON Schema
// and the reference are all made from it, so that they cannot differ.
type Field struct {
	Key      string
	Kind     Kind
	Doc      string
	Default  string   // as YAML; what a left-out field means
	Note     string   // the default in words, where it is not a constant
	Enum     []string // the only values allowed
	Pattern  string   // of KindString, for the schema; a validator checks it
	Nullable bool     // null is the same as leaving it out
	Required bool
	Short    string // of KindMaps: the key that a bare string stands for
	Min, Max int    // of KindInt and KindInts, both zero = no limit; Max alone of KindNumber and KindSize
	Example  string // as YAML
	Fields   []Field
}

func field(fields []Field, key string) (Field, bool) {
	for _, f := range fields {
		if f.Key == key {
			return f, true
		}
	}
	return Field{}, false
}

// walkFields calls visit for every field in reading order, with its dotted
// path; items of lists are written as *.
func walkFields(fields []Field, path string, visit func(path string, f Field)) {
	for _, f := range fields {
		at := join(path, f.Key)
		visit(at, f)
		inner := at
		if f.Kind == KindMaps || f.Kind == KindPairs {
			inner = join(at, "*")
		}
		walkFields(f.Fields, inner, visit)
	}
}
