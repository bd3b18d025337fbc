package callproxy

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/runtime/internal/auth"
	"github.com/seer-engine/seer/engine/runtime/internal/service"
)

// relay passes one call on to the worker and what becomes of it back, without
// reading either into memory. It outlives workers: a call that has not begun goes to
// the next one.
type relay struct {
	journal string // its folder
	service *service.Service
	name    string // of the service
	who     auth.Caller
	header  protocol.FrameHeader // the call, or the attach
	args    *store               // nil = none
	named   bool                 // by the client, who may ask for it again
	since   time.Time            // when the request came
	next    int                  // the first event that is still wanted
	kept    bool                 // the worker has it in its journal, or it need not: see keep.go
	asked   bool                 // whether the present worker has it
	heard   bool                 // of it from the present worker
	out     answer
}

// answer is where the frames of a call go to.
type answer interface {
	// frame takes a whole frame; head is its header as it came, nil where it was made
	// here. It reports the last one.
	frame(h protocol.FrameHeader, head []byte, size int64, body io.Reader) (last bool, err error)
	// wait says that the time is over.
	wait(state protocol.CallState, position *int, next int) error
	// begun reports whether a part of the answer has been written.
	begun() bool
}

var (
	errWorkerGone = errors.New("the worker went away")
	errTimeOver   = errors.New("the time to wait is over")
	errTurnedAway = errors.New("the worker takes no more calls")
)

// run sees the call through to its end, or to the end of ctx: the time that the client
// waits. gone is the end of the request itself.
func (c *relay) run(ctx, gone context.Context) error {
	for {
		wk, err := c.worker(c.patience(ctx, gone))
		if wk == nil {
			return err
		}
		err = c.with(ctx, gone, wk)
		wk.Leave()
		if errors.Is(err, errTurnedAway) {
			if done, err := c.elsewhere(ctx, gone); done {
				return err
			}
			continue
		}
		if !errors.Is(err, errWorkerGone) {
			return err
		}
		select {
		case <-wk.Exited:
		case <-gone.Done():
			return gone.Err()
		case <-time.After(10 * time.Second):
			return c.fail(&protocol.CallError{Code: protocol.CallInterrupted,
				Message: fmt.Sprintf("the worker of the service %s closed the connection during the call; the call may have had effects and was not repeated", c.name)})
		}
		if orphaned := wk.OrphanedCalls(); orphaned.Ran(c.header.ID) {
			return c.tellWorkersOrphan(gone, wk, orphaned)
		}
		if c.header.Kind == protocol.FrameCall {
			c.header.Age = max(c.header.Age+time.Since(c.since).Seconds(), 0.001)
			c.since = time.Now()
		}
	}
}

// tellWorkersOrphan answers with what a worker that is gone has left.
func (c *relay) tellWorkersOrphan(ctx context.Context, wk *service.Worker, orphaned *service.OrphanedCalls) error {
	if orphaned.Err != nil {
		return c.fail(c.service.Interruption(ctx, wk, c.header.Fn))
	}
	fn := c.header.Fn
	if e := orphaned.Folder.Get(c.header.ID); e != nil && e.Function != "" {
		fn = e.Function
	}
	return c.tellOrphan(orphaned, c.service.Interruption(ctx, wk, fn))
}

// worker finds the worker that has the call, or is to have it, entered. Without one
// the answer has been given, or the error is it.
func (c *relay) worker(ctx context.Context) (*service.Worker, error) {
	if old := c.service.EarlierWorker(c.header.ID); old != nil {
		if !old.Gone() {
			old.Enter()
			return old, nil
		}
		if orphaned := old.OrphanedCalls(); orphaned.Ran(c.header.ID) {
			return nil, c.tellWorkersOrphan(ctx, old, orphaned)
		} // what waited in it is the present worker's to know
	}
	if w := c.service.DeadWorker(); w != nil && w.OrphanedCalls().Ran(c.header.ID) {
		return nil, c.tellWorkersOrphan(ctx, w, w.OrphanedCalls())
	}
	w, err := c.service.AwaitWorker(ctx)
	switch {
	case err == nil:
		return w, nil
	case ctx.Err() != nil && protocol.CodeOf(err) == protocol.Unavailable && c.named:
		return nil, c.out.wait(protocol.CallQueued, nil, c.next)
	}
	return nil, c.failWithoutWorker(err)
}

// with has one worker carry the call.
func (c *relay) with(ctx, gone context.Context, wk *service.Worker) error {
	conn, err := wk.Conn()
	if err != nil {
		return fmt.Errorf("%w: %w", errWorkerGone, err)
	}
	state := protocol.CallRunning
	var position *int
	err = c.send(conn)
	wait := ctx
	for err == nil {
		var f frameIn
		f, err = c.receive(c.patience(wait, gone), conn)
		if errors.Is(err, errTimeOver) && c.unsure() {
			var cancel context.CancelFunc
			wait, cancel = context.WithTimeout(gone, maxGrace)
			defer cancel() // once: what has been asked is not unsure
			err = c.ask(conn)
			continue
		}
		if err != nil {
			break
		}
		if f.h.ID == c.header.ID {
			c.heard, wait = true, ctx
		}
		if f.turnedAway(c.header.ID) {
			err = errTurnedAway
			break
		}
		if f.h.Kind == protocol.FrameCalls {
			state, position, err = c.keep(conn, f)
			continue
		}
		if f.h.Kind == protocol.FrameQueued {
			state, position = protocol.CallQueued, f.h.Position
		} else {
			state, position = protocol.CallRunning, nil
		}
		var last bool
		last, err = c.forward(conn, f)
		if last && err == nil {
			c.release(conn, wk)
			return nil
		}
	}
	conn.Close()
	switch {
	case gone.Err() != nil:
		return gone.Err()
	case errors.Is(err, errTimeOver):
		return c.out.wait(state, position, c.next)
	}
	return err
}

// release gives the connection of a call that is over back, or closes it.
func (c *relay) release(conn net.Conn, wk *service.Worker) {
	if !c.named {
		_ = protocol.WriteFrame(conn, protocol.FrameHeader{Kind: protocol.FrameAck, ID: c.header.ID}, nil)
	}
	if c.kept && !c.asked {
		wk.PutConn(conn)
	} else {
		conn.Close() // an answer to keep.go may be on its way
	}
}

// send writes the call, or asks for what has become of it.
func (c *relay) send(conn net.Conn) error {
	h, size := c.header, int64(0)
	h.From = c.next
	if c.args != nil {
		size = c.args.size
	}
	err := protocol.WriteFrameHeader(conn, h, size)
	if err == nil && size > 0 {
		_, err = io.Copy(conn, c.args.reader())
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errWorkerGone, err)
	}
	c.asked, c.heard = false, false
	if c.kept = h.Kind != protocol.FrameCall || !h.Detach; c.kept {
		return nil
	}
	return c.ask(conn)
}

// frameIn is the beginning of a frame that a worker has sent.
type frameIn struct {
	h    protocol.FrameHeader
	head []byte
	size int64
}

// receive waits for a frame until ctx ends, but not in the middle of one.
func (c *relay) receive(ctx context.Context, conn net.Conn) (frameIn, error) {
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		_ = conn.SetReadDeadline(time.Unix(1, 0))
		close(done)
	})
	var prefix [12]byte
	n, err := io.ReadFull(conn, prefix[:])
	if !stop() {
		<-done
		_ = conn.SetReadDeadline(time.Time{})
	}
	if errors.Is(err, os.ErrDeadlineExceeded) && n > 0 {
		_, err = io.ReadFull(conn, prefix[n:])
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return frameIn{}, errTimeOver
	case err != nil:
		return frameIn{}, fmt.Errorf("%w: %w", errWorkerGone, err)
	}
	hn, size := binary.LittleEndian.Uint32(prefix[:4]), binary.LittleEndian.Uint64(prefix[4:])
	if hn > protocol.MaxFrameHeader || size > protocol.MaxFrameBody {
		return frameIn{}, fmt.Errorf("the worker of the service %s sent data that is not a frame", c.name)
	}
	f := frameIn{head: make([]byte, hn), size: int64(size)}
	if _, err := io.ReadFull(conn, f.head); err != nil {
		return frameIn{}, fmt.Errorf("%w: %w", errWorkerGone, err)
	}
	if err := json.Unmarshal(f.head, &f.h); err != nil {
		return frameIn{}, fmt.Errorf("the worker of the service %s sent data that is not a frame: %w", c.name, err)
	}
	return f, nil
}

// forward passes a frame on whole, and gives room for the next item.
func (c *relay) forward(conn net.Conn, f frameIn) (bool, error) {
	body := &bodyReader{r: io.LimitReader(conn, f.size), left: f.size}
	if f.h.ID != c.header.ID {
		_, err := io.Copy(io.Discard, body)
		return false, err
	}
	last, err := c.pass(f.h, f.head, f.size, body)
	if body.err != nil {
		return false, fmt.Errorf("%w: %w", errWorkerGone, body.err)
	}
	if err == nil {
		_, err = io.Copy(io.Discard, body)
	}
	if err == nil && f.h.Kind == protocol.FrameItem {
		err = protocol.WriteFrame(conn, protocol.FrameHeader{Kind: protocol.FrameMore, ID: f.h.ID, N: f.h.N}, nil)
	}
	return last, err
}

// pass gives a frame to the answer. It reports the last one.
func (c *relay) pass(h protocol.FrameHeader, head []byte, size int64, body io.Reader) (bool, error) {
	last, err := c.out.frame(h, head, size, body)
	switch h.Kind {
	case protocol.FrameOutput, protocol.FrameItem, protocol.FrameResult, protocol.FrameError:
		if err == nil {
			c.next = max(h.N, 1) + 1
		}
	}
	return last, err
}

// fail ends the answer with an error that no worker has sent.
func (c *relay) fail(e *protocol.CallError) error {
	_, err := c.out.frame(protocol.FrameHeader{Kind: protocol.FrameError, ID: c.header.ID, N: c.next, Error: e}, nil, 0, bytes.NewReader(nil))
	return err
}

// bodyReader remembers that it was reading which failed, not writing.
type bodyReader struct {
	r    io.Reader
	left int64
	err  error
}

func (b *bodyReader) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	b.left -= int64(n)
	switch {
	case errors.Is(err, io.EOF) && b.left > 0:
		err = io.ErrUnexpectedEOF
		b.err = err
	case err != nil && !errors.Is(err, io.EOF):
		b.err = err
	}
	return n, err
}
