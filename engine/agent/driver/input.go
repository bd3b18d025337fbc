package driver

import (
	"io"
	"sync"
)

// queued limits the queue of a program that does not read. While the queue is full, further texts
// are dropped.
const queued = 4096

// input writes to a program in a goroutine of its own, so that a program that prints before it
// reads cannot block its reader.
type input struct {
	w      io.WriteCloser
	queue  chan []byte
	mu     sync.Mutex
	closed bool
	once   sync.Once // for w.Close
	done   chan struct{}
}

func newInput(w io.WriteCloser) *input {
	in := &input{w: w, queue: make(chan []byte, queued), done: make(chan struct{})}
	go func() {
		defer close(in.done)
		defer in.closeNow()
		for text := range in.queue {
			if _, err := w.Write(text); err != nil {
				return // the program has closed its input; its output gives the reason
			}
		}
	}()
	return in
}

// write queues a text. It reports whether the text will be written.
func (in *input) write(text []byte) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.closed {
		return false
	}
	select {
	case in.queue <- text:
		return true
	default:
		return false
	}
}

// close closes the program's input after the queued texts.
func (in *input) close() {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.closed {
		in.closed = true
		close(in.queue)
	}
}

// abandon closes the program's input at once, and drops the queued texts.
func (in *input) abandon() {
	in.close()
	in.closeNow()
}

func (in *input) closeNow() { in.once.Do(func() { in.w.Close() }) }

func (in *input) stop() {
	in.abandon()
	<-in.done
}
