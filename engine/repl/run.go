package repl

import (
	"io"
	"sync"

	"github.com/seer-engine/seer/engine/protocol"
)

// The states of a piece of code.
const (
	Queued      = "queued"
	Running     = "running"
	OK          = "ok"
	Failed      = "error"
	Interrupted = "interrupted"
	Died        = "died" // the interpreter has
)

// Run is what has come of a piece of code. Its methods are safe for concurrent use; its
// fields are read under [Run.Hold] and changed by [Run.Set].
type Run struct {
	ID string

	mu       sync.Mutex
	Process  string // the interpreter; "" = it is being started
	Nonce    string
	From     int64 // of its output
	Status   string
	Raised   string // type of the exception
	Result   Clip
	Message  Clip
	Trace    Clip
	Has      map[string]bool // sections that were there
	Images   []Image
	Dead     *protocol.Process
	Note     string // about the interpreter: it was started again
	TimedOut bool
}

// Image is an image that the interpreter has left.
type Image struct{ Name, MIME string }

// NewRun is one of which nothing has come yet.
func NewRun(id string) *Run {
	return &Run{ID: id, Status: Queued, Has: map[string]bool{}}
}

// Hold keeps what has come as it is until the returned function is called, to read the
// fields.
func (r *Run) Hold() func() {
	r.mu.Lock()
	return r.mu.Unlock
}

// Where is the interpreter that runs it, empty while that is being started, and the offset
// in its output.
func (r *Run) Where() (process string, from int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.Process, r.From
}

// State is how far it has come.
func (r *Run) State() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.Status
}

// Set changes the fields.
func (r *Run) Set(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
}

// Readers take the interpreter's streams from before the code on, until it has ended on
// both: then writing fails with ErrEnough. stdout and stderr get what the code prints.
func (r *Run) Readers(stdout, stderr io.Writer) (out, errs io.Writer) {
	p := &parting{run: r, section: stdout}
	p.stdout = stdout
	ended := 0
	end := func() error {
		if ended++; ended == 2 {
			return ErrEnough
		}
		return nil
	}
	o := newMarks(r.Nonce, p.text, func(words []string) error { return p.mark(words, end) })
	within := false
	e := newMarks(r.Nonce, func(data []byte) error {
		if within {
			_, err := stderr.Write(data)
			return err
		}
		return nil
	}, func(words []string) error {
		if len(words) < 2 || words[1] != r.ID {
			return nil
		}
		if words[0] == "end" && within {
			within = false
			return end()
		}
		within = words[0] == "begin" || within
		return nil
	})
	return o, e
}

// parting sends what stands between marks to where it belongs.
type parting struct {
	run     *Run
	stdout  io.Writer
	section io.Writer
	within  bool
}

func (p *parting) text(data []byte) error {
	if !p.within {
		return nil
	}
	if p.section == p.stdout {
		_, err := p.stdout.Write(data)
		return err
	}
	p.run.mu.Lock()
	defer p.run.mu.Unlock()
	_, err := p.section.Write(data)
	return err
}

func (p *parting) mark(words []string, end func() error) error {
	if len(words) == 0 {
		return nil
	}
	r := p.run
	if words[0] == "begin" || words[0] == "end" {
		if len(words) < 2 || words[1] != r.ID {
			return nil
		}
	} else if !p.within {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch words[0] {
	case "begin":
		p.within, p.section, r.Status = true, p.stdout, Running
	case "end":
		if !p.within {
			return nil
		}
		p.within = false
		if len(words) > 2 {
			r.Status = words[2]
		}
		return end()
	case "result":
		p.section, r.Has["result"] = &r.Result, true
	case "error":
		p.section, r.Has["error"] = &r.Message, true
		if len(words) > 1 {
			r.Raised = words[1]
		}
	case "traceback":
		p.section = &r.Trace
	case "image":
		if len(words) == 3 && len(r.Images) < MaxImages {
			r.Images = append(r.Images, Image{words[1], words[2]})
		}
		p.section = p.stdout
	}
	return nil
}

// Filter takes the interpreter's streams from an offset on and passes on everything that
// belongs to the code: what it prints, its result, its traceback.
func (r *Run) Filter(to io.Writer, offset int64) (out, errs io.Writer) {
	_, from := r.Where()
	one := func() io.Writer {
		within := offset > from
		return newMarks(r.Nonce, func(data []byte) error {
			if within {
				_, err := to.Write(data)
				return err
			}
			return nil
		}, func(words []string) error {
			if len(words) > 1 && words[1] == r.ID {
				within = words[0] == "begin"
			}
			return nil
		})
	}
	return one(), one()
}
