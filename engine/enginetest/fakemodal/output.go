package fakemodal

import (
	"context"
	"io"
	"os"
	"sync"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// maxOutput is what is kept of a stream: its end.
const maxOutput = 16 << 20

// output keeps what a program writes, for readers that come at any time.
type output struct {
	mu      sync.Mutex
	data    []byte
	start   uint64 // offset of data[0]
	closed  bool
	changed chan struct{}
}

func newOutput() *output { return &output{changed: make(chan struct{})} }

// Write never fails.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.data = append(o.data, p...)
	if over := len(o.data) - maxOutput; over > 0 {
		o.data = append([]byte(nil), o.data[over:]...)
		o.start += uint64(over)
	}
	o.tell()
	return len(p), nil
}

// Close ends the stream.
func (o *output) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.tell()
	return nil
}

func (o *output) tell() {
	close(o.changed)
	o.changed = make(chan struct{})
}

// maxChunk is the most that one message carries.
const maxChunk = 256 << 10

// next waits for what follows an offset. It returns the offset of the chunk, which is
// later where the older output is lost, and io.EOF at the end of the stream. With
// text, a chunk ends with a whole character.
func (o *output) next(ctx context.Context, offset uint64, text bool) ([]byte, uint64, error) {
	for {
		o.mu.Lock()
		offset = max(offset, o.start)
		var chunk []byte
		if from := offset - o.start; from < uint64(len(o.data)) {
			chunk = o.data[from:min(uint64(len(o.data)), from+maxChunk)]
		}
		if text && !(o.closed && len(chunk) < maxChunk) {
			chunk = wholeRunes(chunk)
		}
		chunk = append([]byte(nil), chunk...)
		closed, changed := o.closed, o.changed
		o.mu.Unlock()
		if len(chunk) > 0 {
			return chunk, offset, nil
		}
		if closed {
			return nil, offset, io.EOF
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, offset, ctx.Err()
		}
	}
}

// wholeRunes leaves out the beginning of a character at the end.
func wholeRunes(p []byte) []byte {
	for i := 1; i <= min(utf8.UTFMax-1, len(p)); i++ {
		if b := p[len(p)-i]; utf8.RuneStart(b) {
			if !utf8.FullRune(p[len(p)-i:]) {
				return p[:len(p)-i]
			}
			break
		}
	}
	return p
}

// input is the standard input of a program: a pipe, and how much has come.
type input struct {
	read *os.File // the program's end

	mu      sync.Mutex
	write   *os.File
	offset  uint64
	closed  bool
	changed func() // after each write
}

func newInput() (*input, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	return &input{read: r, write: w, changed: func() {}}, nil
}

// put writes what has not been written before; offset is where data begins. A write
// that the program does not read ends with the context.
func (in *input) put(ctx context.Context, offset uint64, data []byte, eof bool) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	defer in.changed()
	if offset > in.offset {
		return invalid("stdin offset %d is past the %d bytes written", offset, in.offset)
	}
	fresh := data[min(in.offset-offset, uint64(len(data))):]
	if in.closed {
		if len(fresh) == 0 && eof {
			return nil
		}
		return status.Error(codes.FailedPrecondition, "stdin is closed")
	}
	n, err := in.writeUntil(ctx, fresh)
	in.offset += uint64(n)
	if ctx.Err() != nil {
		return status.FromContextError(ctx.Err()).Err()
	}
	if err != nil {
		return status.Error(codes.FailedPrecondition, "the process has ended")
	}
	if eof {
		in.closed = true
		_ = in.write.Close()
	}
	return nil
}

func (in *input) writeUntil(ctx context.Context, p []byte) (int, error) {
	interrupted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(interrupted)
		_ = in.write.SetWriteDeadline(time.Now())
	})
	n, err := in.write.Write(p)
	if !stop() {
		<-interrupted
		_ = in.write.SetWriteDeadline(time.Time{})
	}
	return n, err
}

func (in *input) state() (offset uint64, closed bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.offset, in.closed
}

// end closes both ends. A write under way ends too.
func (in *input) end() {
	_ = in.read.Close()
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.closed {
		in.closed = true
		_ = in.write.Close()
	}
}
