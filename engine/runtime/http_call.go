package runtime

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
)

// postCall passes a call on to the worker and its answer back, without reading
// either into memory: the body of the request is the body of the frame. A call that
// is named by its client may be asked for again; see keptCalls.
func (s *Server) postCall(w http.ResponseWriter, r *http.Request) error {
	v, err := s.services.get(r.PathValue("service"))
	if err != nil {
		return err
	}
	if r.URL.Query().Has("wait") {
		return s.postKeptCall(w, r, v)
	}
	body, size, err := s.callBody(r)
	if err != nil {
		return err
	}
	defer body.Close()
	err = s.call(r.Context(), w, v, r.PathValue("function"), body, size)
	if errors.Is(err, errBegun) {
		abort(err)
	}
	return err
}

// call runs one call. With errBegun, a part of its answer has been written.
func (s *Server) call(ctx context.Context, w http.ResponseWriter, v *service, fn string, body io.Reader, size int64) error {
	h := protocol.FrameHeader{Kind: protocol.FrameCall, ID: newProcessID(), Fn: fn}
	wk, err := v.await(ctx)
	if err != nil {
		return err
	}
	defer wk.leave()
	conn, err := wk.get()
	if err != nil {
		return interruptedCall(v, wk, h.Fn)
	}
	c := &call{server: s, service: v, worker: wk, conn: conn, header: h}
	return c.run(ctx, w, body, size)
}

// errBegun marks an answer that broke off.
var errBegun = errors.New("the answer broke off")

// callBody finds out the size, which a frame must tell before its body.
func (s *Server) callBody(r *http.Request) (io.ReadCloser, int64, error) {
	if r.ContentLength > protocol.MaxFrameBody {
		return nil, 0, protocol.Errorf(protocol.Invalid, "the arguments have %d bytes, more than the %d allowed", r.ContentLength, int64(protocol.MaxFrameBody))
	}
	if r.ContentLength > 0 {
		return r.Body, r.ContentLength, nil
	}
	if r.ContentLength == 0 {
		const none = `{"args":[],"kwargs":{}}`
		return io.NopCloser(bytes.NewReader([]byte(none))), int64(len(none)), nil
	}
	f, err := os.CreateTemp(s.scratch, "call-*")
	if err != nil {
		return nil, 0, err
	}
	size, err := io.Copy(f, io.LimitReader(r.Body, protocol.MaxFrameBody+1))
	if err == nil {
		err = os.Remove(f.Name())
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		f.Close()
		os.Remove(f.Name())
		return nil, 0, err
	}
	return f, size, nil
}

// call is one call on its way through the runtime.
type call struct {
	server  *Server
	service *service
	worker  *worker
	conn    net.Conn
	header  protocol.FrameHeader
}

func (c *call) run(ctx context.Context, w http.ResponseWriter, body io.Reader, size int64) error {
	// Closing the connection is how a worker learns that its caller has gone.
	stop := context.AfterFunc(ctx, func() { c.conn.Close() })
	answer, n, err := c.exchange(body, size)
	if err == nil && answer.Kind == protocol.FrameError && answer.Error != nil {
		c.done(stop())
		return c.scrubbed(answer.Error)
	}
	if err == nil && answer.Kind != protocol.FrameResult {
		err = fmt.Errorf("a frame of the kind %q is no answer", answer.Kind)
	}
	if err != nil {
		stop()
		c.conn.Close()
		return c.broken(ctx, err)
	}
	err = c.sendResult(w, answer, n)
	c.done(stop() && err == nil)
	if err != nil {
		return fmt.Errorf("%w: %w", errBegun, err)
	}
	return nil
}

// exchange sends the call and reads the head of its answer. A client's own
// fault is an [*protocol.Error].
func (c *call) exchange(body io.Reader, size int64) (protocol.FrameHeader, int64, error) {
	if err := protocol.WriteFrameHeader(c.conn, c.header, size); err != nil {
		return protocol.FrameHeader{}, 0, err
	}
	b := &bodyReader{r: body}
	if _, err := io.CopyN(c.conn, b, size); err != nil {
		if b.err != nil {
			err = protocol.Errorf(protocol.Unavailable, "the arguments did not arrive whole: %v", b.err)
		}
		return protocol.FrameHeader{}, 0, err
	}
	return protocol.ReadFrameHeader(c.conn)
}

// bodyReader remembers that it was reading which failed, not writing.
type bodyReader struct {
	r   io.Reader
	err error
}

func (b *bodyReader) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		b.err = err
	}
	return n, err
}

// done gives the connection back, or up.
func (c *call) done(whole bool) {
	if whole {
		c.worker.put(c.conn)
		return
	}
	c.conn.Close()
}

func (c *call) broken(ctx context.Context, err error) error {
	var e *protocol.Error
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &e):
		return e
	case interrupted(err):
		return interruptedCall(c.service, c.worker, c.header.Fn)
	}
	return fmt.Errorf("the worker of the service %s sent what is not an answer: %w", c.service.name, err)
}

// interruptedCall waits a moment for the worker's end, to be able to tell it.
func interruptedCall(v *service, wk *worker, fn string) *protocol.CallError {
	how := "closed the connection"
	select {
	case <-wk.exited:
		how = wk.ending()
	case <-time.After(2 * time.Second):
	}
	return &protocol.CallError{Code: protocol.CallInterrupted,
		Message: fmt.Sprintf("the worker of the service %s %s during the call of %s; the call may have had effects and was not repeated", v.name, how, fn)}
}

func (c *call) scrubber() *scrubber { return newScrubber(c.server.config().Secrets) }

func (c *call) scrubbed(e *protocol.CallError) *protocol.CallError {
	s := c.scrubber()
	return &protocol.CallError{Code: e.Code, Type: s.text(e.Type), Message: s.text(e.Message), Traceback: s.text(e.Traceback)}
}

// sendResult streams the result into the answer.
func (c *call) sendResult(w http.ResponseWriter, answer protocol.FrameHeader, size int64) error {
	const before = `{"result":`
	after := fmt.Sprintf(`,"tagged":%v}`, answer.Tagged)
	scrub := c.scrubber()
	w.Header().Set("Content-Type", "application/json")
	if scrub.empty() {
		w.Header().Set("Content-Length", strconv.FormatInt(int64(len(before)+len(after))+size, 10))
	}
	if _, err := io.WriteString(w, before); err != nil {
		return err
	}
	out := scrub.writer(w)
	if _, err := io.CopyN(out, c.conn, size); err != nil {
		return err
	}
	if err := out.flush(); err != nil {
		return err
	}
	_, err := io.WriteString(w, after)
	return err
}
