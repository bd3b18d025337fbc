package callproxy

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/protocol/value"
	"github.com/seer-engine/seer/engine/runtime/internal/httpx"
)

// frameAnswer is an answer as a stream of frames.
type frameAnswer struct {
	w       http.ResponseWriter
	id      string
	from    int   // the event of which a part is there already
	skip    int64 // of its body
	started bool
}

func (a *frameAnswer) begun() bool { return a.started }

func (a *frameAnswer) start() {
	if !a.started {
		a.started = true
		a.w.Header().Set("Content-Type", value.MediaTypeFrames)
		a.w.WriteHeader(http.StatusOK)
	}
}

func (a *frameAnswer) frame(h protocol.FrameHeader, head []byte, size int64, body io.Reader) (bool, error) {
	a.start()
	if a.skip > 0 && max(h.N, 1) == a.from && (h.Kind == protocol.FrameItem || h.Kind == protocol.FrameResult) {
		n, err := io.CopyN(io.Discard, body, min(a.skip, size))
		if err != nil {
			return false, err
		}
		head, size, a.skip = withSkip(head, h, n), size-n, 0
	}
	if err := writeFrame(a.w, h, head, size); err != nil {
		return false, fmt.Errorf("%w: %w", errBegun, err)
	}
	if n, err := io.CopyN(a.w, body, size); err != nil {
		return false, fmt.Errorf("%w after %d bytes: %w", errBegun, n, err)
	}
	if err := http.NewResponseController(a.w).Flush(); err != nil {
		return false, fmt.Errorf("%w: %w", errBegun, err)
	}
	return h.Kind == protocol.FrameResult || h.Kind == protocol.FrameError, nil
}

// writeFrame passes a header on as it came: it may have fields that are not known
// here.
func writeFrame(w io.Writer, h protocol.FrameHeader, head []byte, size int64) error {
	if head == nil {
		return protocol.WriteFrameHeader(w, h, size)
	}
	out := binary.LittleEndian.AppendUint32(make([]byte, 0, 12+len(head)), uint32(len(head)))
	out = binary.LittleEndian.AppendUint64(out, uint64(size))
	_, err := w.Write(append(out, head...))
	return err
}

// withSkip adds to a header how much of its body is left out.
func withSkip(head []byte, h protocol.FrameHeader, n int64) []byte {
	if head == nil {
		var out bytes.Buffer
		if protocol.WriteFrameHeader(&out, h, 0) != nil {
			return nil
		}
		head = out.Bytes()[12:]
	}
	return append([]byte(`{"skip":`+strconv.FormatInt(n, 10)+`,`), head[1:]...)
}

func (a *frameAnswer) wait(_ protocol.CallState, position *int, next int) error {
	_, err := a.frame(protocol.FrameHeader{Kind: protocol.FrameWaiting, ID: a.id, N: next, Position: position}, nil, 0, bytes.NewReader(nil))
	return err
}

// maxPlain bounds what is turned into JSON for somebody who knows no tags.
const maxPlain = 256 << 20

// jsonAnswer is an answer as one JSON object.
type jsonAnswer struct {
	w       http.ResponseWriter
	id      string
	tagged  bool // tags are understood
	started bool
	items   []byte // of a generator, with commas
	many    bool
	tags    bool // of any item
}

func (a *jsonAnswer) begun() bool { return a.started }

func (a *jsonAnswer) frame(h protocol.FrameHeader, _ []byte, size int64, body io.Reader) (bool, error) {
	switch h.Kind {
	case protocol.FrameItem:
		return false, a.item(h, size, body)
	case protocol.FrameResult:
		return true, a.result(h, size, body)
	case protocol.FrameError:
		if h.Error == nil {
			h.Error = &protocol.CallError{Code: protocol.CallInterrupted, Message: "the worker sent an error without saying which"}
		}
		a.started = true
		return true, httpx.WriteJSON(a.w, http.StatusUnprocessableEntity, httpx.ErrorBody{Error: h.Error})
	}
	return false, nil
}

func (a *jsonAnswer) item(h protocol.FrameHeader, size int64, body io.Reader) error {
	data, err := a.plain(h, size, body)
	if err != nil {
		return err
	}
	if len(a.items)+len(data) > maxPlain {
		return tooLarge("the items of the call are")
	}
	if a.many {
		a.items = append(a.items, ',')
	}
	a.many, a.tags = true, a.tags || h.Tagged
	a.items = append(a.items, data...)
	return nil
}

func tooLarge(what string) error {
	return &protocol.CallError{Code: protocol.CallUnserialisable,
		Message: fmt.Sprintf("%s more than %d MiB of JSON; ask with Accept: %s", what, maxPlain>>20, value.MediaTypeFrames)}
}

// plain reads a body as JSON that the client understands.
func (a *jsonAnswer) plain(h protocol.FrameHeader, size int64, body io.Reader) ([]byte, error) {
	if size > maxPlain {
		return nil, tooLarge("the result is")
	}
	if a.tagged || !h.Tagged {
		data, err := io.ReadAll(io.LimitReader(body, size))
		if err == nil && len(data) > 0 && data[0] == 0 {
			err = &protocol.CallError{Code: protocol.CallUnserialisable,
				Message: "the result has arrays, bytes or images, which JSON with tags has no place for; ask with Accept: " + value.MediaTypeFrames}
		}
		return data, err
	}
	v, err := value.Read(body, size, true, value.Limits{Bytes: maxPlain})
	if err != nil {
		return nil, plainError(err)
	}
	data, err := v.Plain(value.PlainOptions{Limit: maxPlain})
	return data, plainError(err)
}

func plainError(err error) error {
	if errors.Is(err, value.ErrTooLarge) {
		return tooLarge("the result is")
	}
	return err
}

// result streams what need not be changed.
func (a *jsonAnswer) result(h protocol.FrameHeader, size int64, body io.Reader) error {
	after := fmt.Sprintf(`,"tagged":%v}`, a.tagged && (h.Tagged && !a.many || a.tags))
	if a.many {
		data := append(append([]byte("["), a.items...), ']')
		return a.write(int64(len(data)), bytes.NewReader(data), after)
	}
	if h.Tagged {
		data, err := a.plain(h, size, body)
		if err != nil {
			return err
		}
		return a.write(int64(len(data)), bytes.NewReader(data), after)
	}
	return a.write(size, body, after)
}

func (a *jsonAnswer) write(size int64, body io.Reader, after string) error {
	const before = `{"result":`
	a.started = true
	a.w.Header().Set("Content-Type", "application/json")
	a.w.Header().Set("Content-Length", strconv.FormatInt(int64(len(before)+len(after))+size, 10))
	_, err := io.WriteString(a.w, before)
	if err == nil {
		_, err = io.CopyN(a.w, body, size)
	}
	if err == nil {
		_, err = io.WriteString(a.w, after)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errBegun, err)
	}
	return nil
}

func (a *jsonAnswer) wait(state protocol.CallState, position *int, _ int) error {
	a.started = true
	answer := map[string]any{"id": a.id, "state": state}
	if position != nil {
		answer["position"] = *position
	}
	return httpx.WriteJSON(a.w, http.StatusAccepted, answer)
}
