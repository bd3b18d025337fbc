package snapshot

import (
	"cmp"
	"io"
	"sync"
)

// A piece is what a pipe hands over at once.
const (
	piece  = 1 << 20
	pieces = 4
)

// pipe is an io.Pipe whose writer may be some pieces ahead of the reader: what unpacks and
// what takes it work at the same time.
type pipe struct {
	full, free chan []byte
	filling    []byte // the writer's
	reading    []byte // the reader's, of which left is not read
	left       []byte
	err        error // why the writer has ended, if not properly; there before full is closed

	broken chan struct{} // closed when nothing more goes through
	once   sync.Once
	why    error
}

func newPipe() *pipe {
	p := &pipe{full: make(chan []byte, pieces), free: make(chan []byte, pieces+2), broken: make(chan struct{})}
	for range pieces + 1 { // one more is being filled, and another one read
		p.free <- nil
	}
	return p
}

// Write returns when all of data is on its way.
func (p *pipe) Write(data []byte) (int, error) {
	written := 0
	for len(data) > 0 {
		if p.filling == nil {
			select {
			case b := <-p.free:
				if b == nil {
					b = make([]byte, 0, piece)
				}
				p.filling = b[:0]
			case <-p.broken:
				return written, p.why
			}
		}
		n := min(len(data), piece-len(p.filling))
		p.filling = append(p.filling, data[:n]...)
		data, written = data[n:], written+n
		if len(p.filling) == piece {
			if err := p.send(); err != nil {
				return written, err
			}
		}
	}
	return written, nil
}

func (p *pipe) send() error {
	select {
	case p.full <- p.filling:
		p.filling = nil
		return nil
	case <-p.broken:
		return p.why
	}
}

// end is the last that the writer does: the reader ends with err, or if that is nil, with
// the rest and io.EOF.
func (p *pipe) end(err error) {
	if err == nil && len(p.filling) > 0 {
		err = p.send()
	}
	p.err = err
	close(p.full)
}

// cut ends both sides at once.
func (p *pipe) cut(why error) {
	p.once.Do(func() {
		p.why = why
		close(p.broken)
	})
}

func (p *pipe) Read(data []byte) (int, error) {
	if more, err := p.next(); !more {
		return 0, cmp.Or(err, io.EOF)
	}
	n := copy(data, p.left)
	p.left = p.left[n:]
	return n, nil
}

// WriteTo hands over whole pieces.
func (p *pipe) WriteTo(w io.Writer) (written int64, err error) {
	for {
		if more, err := p.next(); !more {
			return written, err
		}
		n, err := w.Write(p.left)
		written, p.left = written+int64(n), p.left[n:]
		if err != nil {
			return written, err
		}
	}
}

// next waits for something to be left. No more and no error is the proper end.
func (p *pipe) next() (more bool, err error) {
	for len(p.left) == 0 {
		if p.reading != nil {
			p.free <- p.reading // there is room for all
			p.reading = nil
		}
		select {
		case b, ok := <-p.full:
			if !ok {
				return false, p.err
			}
			p.reading, p.left = b, b
		case <-p.broken:
			return false, p.why
		}
	}
	return true, nil
}
