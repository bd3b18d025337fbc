package shell

import (
	"io"
	"sync"

	"github.com/seer-engine/seer/engine/protocol"
)

// The states of a piece of code.
const (
	codeQueued      = "queued"
	codeRunning     = "running"
	codeOK          = "ok"
	codeError       = "error"
	codeInterrupted = "interrupted"
	codeDied        = "died" // the interpreter has
)

// codeRun is what has come of a piece of code. It is safe for concurrent use.
type codeRun struct {
	id string

	mu       sync.Mutex
	process  string // the interpreter; "" = it is being started
	nonce    string
	from     int64 // of its output
	status   string
	errors   string // type of the exception
	result   clip
	message  clip
	trace    clip
	has      map[string]bool // sections that were there
	images   []imageFile
	dead     *protocol.Process
	note     string // about the interpreter: it was started again
	timedOut bool
}

// imageFile is an image that the interpreter has left.
type imageFile struct{ name, mime string }

func newCodeRun(id string) *codeRun {
	return &codeRun{id: id, status: codeQueued, has: map[string]bool{}}
}

func (r *codeRun) where() (process string, from int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.process, r.from
}

func (r *codeRun) state() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.status
}

func (r *codeRun) set(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
}

// readers take the interpreter's streams from before the code on, until it has ended on
// both: then writing fails with errEnough. stdout and stderr get what the code prints.
func (r *codeRun) readers(stdout, stderr io.Writer) (out, errs io.Writer) {
	p := &parting{run: r, section: stdout}
	p.stdout = stdout
	ended := 0
	end := func() error {
		if ended++; ended == 2 {
			return errEnough
		}
		return nil
	}
	o := newMarks(r.nonce, p.text, func(words []string) error { return p.mark(words, end) })
	within := false
	e := newMarks(r.nonce, func(data []byte) error {
		if within {
			_, err := stderr.Write(data)
			return err
		}
		return nil
	}, func(words []string) error {
		if len(words) < 2 || words[1] != r.id {
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
	run     *codeRun
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
		if len(words) < 2 || words[1] != r.id {
			return nil
		}
	} else if !p.within {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch words[0] {
	case "begin":
		p.within, p.section, r.status = true, p.stdout, codeRunning
	case "end":
		if !p.within {
			return nil
		}
		p.within = false
		if len(words) > 2 {
			r.status = words[2]
		}
		return end()
	case "result":
		p.section, r.has["result"] = &r.result, true
	case "error":
		p.section, r.has["error"] = &r.message, true
		if len(words) > 1 {
			r.errors = words[1]
		}
	case "traceback":
		p.section = &r.trace
	case "image":
		if len(words) == 3 && len(r.images) < maxImages {
			r.images = append(r.images, imageFile{words[1], words[2]})
		}
		p.section = p.stdout
	}
	return nil
}

// filter takes the interpreter's streams from an offset on and passes on everything that
// belongs to the code: what it prints, its result, its traceback.
func (r *codeRun) filter(to io.Writer, offset int64) (out, errs io.Writer) {
	_, from := r.where()
	one := func() io.Writer {
		within := offset > from
		return newMarks(r.nonce, func(data []byte) error {
			if within {
				_, err := to.Write(data)
				return err
			}
			return nil
		}, func(words []string) error {
			if len(words) > 1 && words[1] == r.id {
				within = words[0] == "begin"
			}
			return nil
		})
	}
	return one(), one()
}
