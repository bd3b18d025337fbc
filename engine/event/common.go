package event

import "github.com/seer-engine/seer/engine/remedy"

// Output is a line that somebody else has printed: a provider, an installer, an image build.
// Every stage has its own type, such as boot.output.
type Output struct {
	output
	Stage Stage  `json:"-"`
	Line  string `json:"line" jsonschema:"without its end; not sanitized"`
}

// Copied is how far the copying of the last step is. Every stage has its own type, such as
// upload.copied.
type Copied struct {
	copied
	Stage Stage `json:"-"`
	Bytes int64 `json:"bytes" jsonschema:"how many are copied"`
	Total int64 `json:"total,omitempty" jsonschema:"of how many; 0 = not known"`

	// Of a download, the rate of the last seconds; what was on the disk before does not count.
	Rate float64 `json:"bytes_per_second,omitempty" jsonschema:"how fast they come; 0 = not known"`
	Left float64 `json:"left_seconds,omitempty" jsonschema:"until the end at that rate; 0 = not known"`
}

// Advice is part of a warning that the user can do something about.
type Advice struct {
	Remedies []remedy.Remedy `json:"remedies,omitempty" jsonschema:"what the user can do about it"`
}

// Remedy returns what the user can do.
func (a Advice) Remedy() []remedy.Remedy { return a.Remedies }

// Remedies are those of an event; most have none.
func (e Event) Remedies() []remedy.Remedy {
	if d, ok := e.Data.(interface{ Remedy() []remedy.Remedy }); ok {
		return d.Remedy()
	}
	return nil
}

// Note is a remark of the program that shows the events, such as the CLI.
type Note struct {
	warning
	Word    string `json:"word" jsonschema:"such as warning or note"`
	Message string `json:"message"`
}
