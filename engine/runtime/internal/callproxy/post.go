package callproxy

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/protocol/value"
	"github.com/seer-engine/seer/engine/runtime/internal/auth"
	"github.com/seer-engine/seer/engine/runtime/internal/environment"
	"github.com/seer-engine/seer/engine/runtime/internal/httpx"
	"github.com/seer-engine/seer/engine/runtime/internal/service"
	"github.com/seer-engine/seer/internal/lazyregexp"
)

// Headers of calls.
const (
	headerCallID      = "Seer-Call-Id"
	headerCallAge     = "Seer-Call-Age"       // seconds since the client first sent it; only on a repeat
	headerCallDone    = "Seer-Call-Done"      // names of calls whose answers have arrived
	headerCallOptions = "Seer-Call-Options"   // OPTIONS as JSON
	headerArguments   = "Seer-Call-Arguments" // bytes that have been sent before
)

// httpLinger is how long a named call goes on that nobody asks for.
const httpLinger = 150

var callID = lazyregexp.New(`^[A-Za-z0-9_.-]{8,100}$`)

func checkCallID(id string) error {
	if !callID().MatchString(id) {
		return protocol.Errorf(protocol.Invalid, "%q is not a name for a call: 8 to 100 letters, digits, _ . and -", id)
	}
	return nil
}

// errBegun marks an answer that broke off.
var errBegun = errors.New("the answer broke off")

// PostCall makes a call, or joins the one that has its name.
func (h *Handler) PostCall(w http.ResponseWriter, r *http.Request) error {
	v, err := h.services.Get(r.PathValue("service"))
	if err != nil {
		return err
	}
	header, named, err := callHeader(r)
	if err != nil {
		return err
	}
	c := h.newRelay(r, v, header)
	c.named = named
	if c.args, err = h.callArguments(r, v, &c.header); err != nil {
		return err
	}
	defer c.args.close()
	return c.answer(w, r)
}

func (h *Handler) newRelay(r *http.Request, v *service.Service, header protocol.FrameHeader) *relay {
	who := auth.CallerOf(r)
	return &relay{journal: h.services.Journal(v.Name), service: v, name: v.Name, who: who, header: header, named: true, since: time.Now(), next: max(header.From, 1)}
}

// callHeader is the header of the frame with the call.
func callHeader(r *http.Request) (protocol.FrameHeader, bool, error) {
	h := protocol.FrameHeader{Kind: protocol.FrameCall, Fn: r.PathValue("function"), Token: auth.CallerOf(r).Owner()}
	if text := r.Header.Get(headerCallOptions); text != "" {
		d := json.NewDecoder(strings.NewReader(text))
		d.DisallowUnknownFields()
		if err := d.Decode(&h.CallOptions); err != nil {
			return h, false, protocol.Errorf(protocol.Invalid, "%s is not the JSON that is expected: %v", headerCallOptions, err)
		}
	}
	if text := r.Header.Get(headerCallAge); text != "" {
		age, err := strconv.ParseFloat(text, 64)
		if err != nil || !(age >= 0) {
			return h, false, protocol.Errorf(protocol.Invalid, "%s: %q is not a number of seconds", headerCallAge, text)
		}
		h.Age = age
	}
	h.Ack = append(h.Ack, done(r)...)
	ids, named := r.Header[headerCallID]
	if !named {
		return unnamed(h), false, nil
	}
	h.ID = ids[0]
	if h.Linger == nil {
		linger := float64(httpLinger)
		h.Linger = &linger
	}
	return h, true, checkCallID(h.ID)
}

// unnamed makes a name for a call that ends with its request. All such calls of a
// token share their turns.
func unnamed(h protocol.FrameHeader) protocol.FrameHeader {
	h.ID = "http." + environment.NewID()
	if h.Client == "" {
		h.Client = "http"
	}
	linger := 0.0
	h.Linger, h.Detach = &linger, false
	return h
}

// done are the calls whose answers have arrived.
func done(r *http.Request) []string {
	var ids []string
	for name := range strings.SplitSeq(r.Header.Get(headerCallDone), ",") {
		if name = strings.TrimSpace(name); checkCallID(name) == nil {
			ids = append(ids, name)
		}
	}
	return ids
}

// answer sees the call through in the form that the client asks for.
func (c *relay) answer(w http.ResponseWriter, r *http.Request) error {
	q := httpx.QueryOf(r)
	skip := q.Int("skip")
	ctx, cancel := q.OptionalWait()
	defer cancel()
	if err := q.Err(); err != nil {
		return err
	}
	if strings.Contains(r.Header.Get("Accept"), value.MediaTypeFrames) {
		c.out = &frameAnswer{w: w, id: c.header.ID, from: c.next, skip: skip}
	} else {
		c.out = &jsonAnswer{w: w, id: c.header.ID, tagged: q.Get("values") == "tagged"}
	}
	err := c.run(ctx, r.Context())
	if err != nil && (c.out.begun() || errors.Is(err, errBegun)) {
		httpx.Abort(err)
	}
	return err
}

// callArguments takes the arguments in before the call begins: a request that is cut
// has not begun anything.
func (h *Handler) callArguments(r *http.Request, v *service.Service, header *protocol.FrameHeader) (*store, error) {
	if text := r.Header.Get(headerArguments); text != "" {
		return h.sentBefore(r, v, header, text)
	}
	if r.ContentLength > protocol.MaxFrameBody {
		return nil, protocol.Errorf(protocol.Invalid, "the arguments have %d bytes, more than the %d allowed", r.ContentLength, int64(protocol.MaxFrameBody))
	}
	args := &store{dir: h.dir, quota: &h.arguments.quota, owner: argumentsOwner(v.Name, auth.CallerOf(r).Owner())}
	n, err := io.Copy(args, io.LimitReader(r.Body, protocol.MaxFrameBody+1))
	switch {
	case err == nil && n == 0:
		_, err = io.WriteString(args, `{"args":[],"kwargs":{}}`)
	case err == nil && n > protocol.MaxFrameBody:
		err = protocol.Errorf(protocol.Invalid, "the arguments have more than the %d bytes allowed", int64(protocol.MaxFrameBody))
	case err != nil && errors.Is(err, io.ErrUnexpectedEOF):
		err = protocol.Errorf(protocol.Unavailable, "the arguments did not arrive whole: %v", err)
	}
	if err == nil {
		err = beside(args, r.Header.Get("Content-Type"), header)
	}
	if err != nil {
		args.close()
		return nil, err
	}
	return args, nil
}

// beside takes what stands beside the arguments for an option of the call.
func beside(args *store, contentType string, h *protocol.FrameHeader) error {
	var first [1]byte
	if _, err := io.ReadFull(args.reader(), first[:]); err == nil && first[0] == 0 {
		h.Tagged = true
		return nil
	}
	if strings.HasPrefix(contentType, value.MediaType) {
		return nil
	}
	found, err := topLevel(args.reader(), "timeout_seconds", "tagged")
	if err != nil {
		return err
	}
	if text := found["tagged"]; text == "true" {
		h.Tagged = true
	}
	if text := found["timeout_seconds"]; text != "" && text != "null" {
		if h.Timeout, err = strconv.ParseFloat(text, 64); err != nil || !(h.Timeout >= 0) {
			return protocol.Errorf(protocol.Invalid, "timeout_seconds is %s and not a number of seconds", text)
		}
	}
	return nil
}
