package notebook

import (
	"fmt"

	"github.com/seer-engine/seer/engine/notebook"
)

const (
	// maxOutputs is how many outputs are kept: the first half and the last.
	maxOutputs = 200
	// maxImages is how many images are shown: the first half and the last.
	maxImages = 20
)

// output is one as it is kept here: its text's head and tail, its picture small.
type output struct {
	kind    string // stream, result, display, error, note
	name    string // of a stream
	mime    string // of what the text or the picture was
	text    span
	lines   lines // of a stream
	ename   string
	evalue  string
	picture *picture
	display string // id under which it may be updated
}

// outputs are those of an execution. The zero value is empty.
type outputs struct {
	where   string // the URI of the whole text
	list    []*output
	omitted int  // outputs that were too many
	clear   bool // with the next output
}

// take takes in an event, whose output has been prepared.
func (o *outputs) take(e notebook.Event, prepared *output) {
	switch e.Type {
	case notebook.EventOutput:
		o.clearNow()
		if e.Output == nil {
			return
		}
		if e.Output.Type == "stream" {
			o.stream(e.Output.Name, string(e.Output.Text))
			return
		}
		prepared.display = displayOf(e)
		o.add(prepared)
	case notebook.EventUpdate:
		if id := displayOf(e); id != "" && prepared != nil {
			o.update(id, prepared)
		}
	case notebook.EventClear:
		if o.clear = true; !e.Wait {
			o.clearNow()
		}
	case notebook.EventInput:
		o.note("The cell asked for input, and nobody can answer; put the value into the code.")
	case notebook.EventNote:
		o.note(e.Text)
	}
}

func displayOf(e notebook.Event) string {
	if e.DisplayID == "" && e.Output != nil {
		return e.Output.Transient.DisplayID
	}
	return e.DisplayID
}

func (o *outputs) clearNow() {
	if o.clear {
		o.list, o.omitted, o.clear = nil, 0, false
	}
}

func (o *outputs) note(text string) {
	n := &output{kind: "note"}
	n.text.add(plain(text))
	o.add(n)
}

func (o *outputs) add(n *output) {
	if len(o.list) >= maxOutputs {
		o.list = append(o.list[:maxOutputs/2], o.list[maxOutputs/2+1:]...)
		o.omitted++
	}
	o.list = append(o.list, n)
	o.thin()
}

// thin forgets pictures that are not shown anyway.
func (o *outputs) thin() {
	var with []*output
	for _, n := range o.list {
		if n.picture != nil && n.picture.data != nil {
			with = append(with, n)
		}
	}
	if len(with) > maxImages {
		with[maxImages/2].picture = &picture{note: fmt.Sprintf("not shown: of so many images only the first %d and the last %d are; the notebook has them all", maxImages/2, maxImages/2)}
	}
}

func (o *outputs) stream(name, text string) {
	if n := len(o.list); n == 0 || o.list[n-1].kind != "stream" || o.list[n-1].name != name {
		o.add(&output{kind: "stream", name: name})
	}
	last := o.list[len(o.list)-1]
	last.lines.write(&last.text, text)
}

func (o *outputs) update(id string, n *output) {
	for i, old := range o.list {
		if old.display == id {
			fresh := *n
			fresh.kind, fresh.display = old.kind, id
			o.list[i] = &fresh
		}
	}
}

// whole is the text as it is now, with the line that is being written.
func (n *output) whole() span {
	if len(n.lines.line) == 0 {
		return n.text
	}
	s := span{head: append([]byte(nil), n.text.head...), tail: append([]byte(nil), n.text.tail...), size: n.text.size}
	s.add(n.lines.clean())
	return s
}
