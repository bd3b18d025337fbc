package value

import "encoding/json"

// Array is an array or tensor: C order, little-endian. A tensor without dimensions is
// read as a number.
type Array struct {
	DType  string // as in section 4: "float32", "bfloat16", "datetime64[ns]", "str5" …
	Shape  []int64
	Data   []byte
	Lib    string // where it comes from: "numpy", "torch", ""
	Device string // where a tensor of torch was, such as "cuda:0"; "" is the CPU
}

// Image is an image file.
type Image struct {
	Format        string // "png", "jpeg", "tiff" …
	Mode          string // of PIL: "RGB", "L" …
	Width, Height int
	Data          []byte
}

// Frame is a table of pandas. Each of Data is the column's [Array] or []any.
type Frame struct {
	Columns []any
	Data    []any
	Index   any // nil = 0, 1, 2 …
	DTypes  []string
	Names   []any // of the index's levels
}

// Series is one column of pandas.
type Series struct {
	Name, Data, Index any
	DType             string
	Names             []any
}

// Handle is a value that stayed in the sandbox; Info is HANDLE of section 8, as plain
// JSON.
type Handle struct{ Info json.RawMessage }

// Text is a value of Python that Go tells by its text. Kind is "date", "time" or
// "decimal", or "datetime" for one without a time zone.
type Text struct{ Kind, Text string }

// Timedelta is Python's.
type Timedelta struct{ Days, Seconds, Microseconds int64 }

// Items is a dict whose keys are not all text.
type Items []Item

// Item is one of [Items].
type Item struct{ Key, Value any }
