package egress

import (
	"errors"
	"io"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/seer-engine/seer/sdk"
)

// OpenGRPC is [sdk.HostGRPCOpen]: it checks a call and begins it.
func (s *Session) OpenGRPC(in sdk.GRPCOpen) (sdk.Opened, error) {
	c := &call{s: s, method: in.Method, began: time.Now()}
	if err := c.check(in); err != nil {
		return sdk.Opened{}, c.refused(err)
	}
	var err error
	if c.st, err = s.open(in.TimeoutSeconds); err != nil {
		return sdk.Opened{}, c.refused(err)
	}
	s.start(c.st, c.run)
	return sdk.Opened{Stream: c.st.id}, nil
}

// call is one RPC of any kind: to the host all are streams in both directions.
type call struct {
	s      *Session
	st     *stream
	method string
	to     destination
	plain  bool
	send   header
	conn   *conn
	made   bool // it was handed to the network

	began          time.Time
	sent, received atomic.Int64
}

// check asks whether the call may be made, and puts the credentials into it.
func (c *call) check(in sdk.GRPCOpen) error {
	u, err := url.Parse(in.Target)
	if err != nil {
		return sdk.Errorf(sdk.Invalid, "%q is not a target like https://api.example.com", in.Target)
	}
	if c.to.origin, err = originOf(u); err != nil {
		c.to.origin = origin{}
		return sdk.Errorf(sdk.Invalid, "%v", err)
	}
	if !grpcMethod().MatchString(c.method) {
		return sdk.Errorf(sdk.Invalid, "%q is not a method like /package.Service/Method", c.method)
	}
	if c.send, err = grpcHeader(in.Metadata, c.s.g.limits.HeaderKB<<10); err != nil {
		return err
	}
	c.s.checks.Lock()
	defer c.s.checks.Unlock()
	p := c.s.rules()
	allowed, err := p.allowGRPC(c.to.origin, c.method)
	if err != nil {
		return c.checkCaptured(p, err)
	}
	c.to, c.plain = allowed, allowed.origin.scheme == "http"
	return p.bind(c.send, c.to.origin)
}

// checkCaptured allows a call that the manifest does not name to a URL that came with
// a credential.
func (c *call) checkCaptured(p *policy, denied error) error {
	cred, err := p.bindCaptured(c.send, c.to.origin, c.method)
	switch {
	case err != nil:
		return err
	case cred == nil:
		if line := c.s.g.withheldCall(c.to.origin, c.method); line != "" {
			return c.s.g.notGranted(c.method+" at "+c.to.origin.String(), line)
		}
		return denied
	}
	c.to.users, c.plain = cred.users, cred.plain
	c.to.line = c.s.g.capturedLine(cred.name, c.method)
	return nil
}

func (c *call) run() {
	var err error
	if c.conn, err = c.s.g.rpcs.get(target{c.to.origin, c.to.users, c.plain}); err != nil {
		c.st.fail(c.refused(err))
		return
	}
	defer c.s.g.rpcs.put(c.conn)
	c.made = true
	ctx := metadata.NewOutgoingContext(c.st.ctx, metadata.MD(c.send))
	rpc, err := c.conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, c.method)
	if err != nil {
		c.end(err, nil)
		return
	}
	var sending sync.WaitGroup
	sending.Go(func() { c.forward(rpc) })
	trailer, err := c.receive(rpc)
	c.end(err, trailer)
	c.st.cancel()
	sending.Wait()
}

// forward sends what the guest sends.
func (c *call) forward(rpc grpc.ClientStream) {
	defer c.st.stopSending()
	for {
		msg, err := c.st.next()
		if errors.Is(err, io.EOF) {
			_ = rpc.CloseSend() // the receiver sees why it failed
			return
		}
		if err != nil || rpc.SendMsg(msg) != nil {
			return
		}
		c.sent.Add(int64(len(msg)))
	}
}

// receive hands over what the server sends, until it ends with trailers.
func (c *call) receive(rpc grpc.ClientStream) (metadata.MD, error) {
	if head, err := rpc.Header(); err == nil {
		c.s.emit(c.st, event{Event: sdk.Event{Kind: sdk.EventHead, Headers: c.s.g.answerHeader(head)}})
	}
	for {
		if _, err := c.st.allowance(); err != nil {
			return nil, status.FromContextError(err).Err()
		}
		var msg []byte
		if err := rpc.RecvMsg(&msg); errors.Is(err, io.EOF) {
			return rpc.Trailer(), nil
		} else if err != nil {
			return rpc.Trailer(), err
		}
		c.received.Add(int64(len(msg)))
		msg, err := c.s.g.capture(c.method, c.to, c.conn.private.Load(), msg)
		if err != nil {
			return nil, err
		}
		c.s.g.scrub.fill(msg)
		c.st.data(msg)
	}
}

// end tells how a call ended: with a status, or not answered because the host refused.
func (c *call) end(err error, trailer metadata.MD) {
	var own *sdk.Error
	if refusal := c.conn.refusal.Load(); refusal != nil && status.Code(err) == codes.Unavailable {
		err = refusal
	}
	if errors.As(err, &own) {
		c.st.fail(c.refused(own))
		return
	}
	st := status.Convert(err)
	e := event{Event: sdk.Event{Kind: sdk.EventEnd, Code: uint32(st.Code()), Message: c.s.g.Scrub(st.Message()), Headers: c.s.g.answerHeader(trailer)}}
	if full := st.Proto(); err != nil && len(full.GetDetails()) > 0 {
		if e.payload, err = proto.Marshal(full); err != nil {
			e.payload = nil
		}
		c.s.g.scrub.fill(e.payload)
	}
	if st.Code() == codes.Unavailable {
		e.Message += c.s.g.o.proxyHint()
	}
	c.audit(int(st.Code()), "")
	c.s.emit(c.st, e)
}

func (c *call) refused(err error) *sdk.Error {
	e := c.s.g.failure(c.to.origin.String()+c.method, err)
	c.record(Audit{Status: int(codes.Unknown), Error: e.Message, Refused: !c.made || isRefusal(err)})
	return e
}

func (c *call) audit(code int, reason string) { c.record(Audit{Status: code, Error: reason}) }

func (c *call) record(a Audit) {
	a.Path, a.Permission, a.Time = c.method, c.to.line, c.began
	if c.to.origin != (origin{}) {
		a.Destination = c.to.origin.String()
	}
	a.Sent, a.Received = c.sent.Load(), c.received.Load()
	c.s.g.audit(a)
}
