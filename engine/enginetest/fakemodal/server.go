package fakemodal

import (
	"context"
	"path"
	"time"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/seer-engine/seer/internal/retry"
)

// controlServer is modal.client.ModalClient.
type controlServer struct {
	pb.UnimplementedModalClientServer
	*Cloud
}

// routerServer is modal.task_command_router.TaskCommandRouter.
type routerServer struct {
	pb.UnimplementedTaskCommandRouterServer
	*Cloud
}

func (c *Cloud) serve() {
	control, router := c.server(c.control, true), c.server(c.router, false)
	pb.RegisterModalClientServer(control, &controlServer{Cloud: c})
	pb.RegisterTaskCommandRouterServer(router, &routerServer{Cloud: c})
	c.servers = []*grpc.Server{control, router}
	go func() { _ = control.Serve(c.control) }() // until Stop
	go func() { _ = router.Serve(c.router) }()
}

func (c *Cloud) server(e *endpoint, isControl bool) *grpc.Server {
	g := &gate{cloud: c, endpoint: e, control: isControl}
	return grpc.NewServer(
		grpc.UnaryInterceptor(g.unary), grpc.StreamInterceptor(g.stream),
		grpc.WaitForHandlers(true), // so that nothing begins after Close
		grpc.MaxRecvMsgSize(100<<20), grpc.MaxSendMsgSize(100<<20),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}),
	)
}

// gate is in front of every call: faults, credentials, and the record of it.
type gate struct {
	cloud    *Cloud
	endpoint *endpoint
	control  bool
}

func (g *gate) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	method := path.Base(info.FullMethod)
	fault, err := g.enter(ctx, method, true)
	if err != nil {
		return nil, g.leave(ctx, method, err)
	}
	resp, err := handler(ctx, req)
	if fault.AfterEffect {
		return nil, g.leave(ctx, method, g.cutConnection(ctx, fault))
	}
	if m, ok := resp.(proto.Message); ok && err == nil {
		addUnknown(m)
	}
	return resp, g.leave(ctx, method, err)
}

func (g *gate) stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	method := path.Base(info.FullMethod)
	fault, err := g.enter(ss.Context(), method, false)
	if err == nil {
		err = handler(srv, &unknownStream{ServerStream: ss})
		if fault.AfterEffect {
			err = g.cutConnection(ss.Context(), fault)
		}
	}
	return g.leave(ss.Context(), method, err)
}

// enter waits and fails as the faults say, then checks the credentials.
func (g *gate) enter(ctx context.Context, method string, unary bool) (CallFault, error) {
	if err := sleepContext(ctx, g.cloud.faults.get().Latency); err != nil {
		return CallFault{}, err
	}
	fault, ok := g.cloud.faults.take(method)
	if ok && fault.Hang {
		<-ctx.Done()
		return fault, status.FromContextError(ctx.Err()).Err()
	}
	if ok && fault.Cut && !fault.AfterEffect {
		return fault, g.cutConnection(ctx, fault)
	}
	if ok && !fault.AfterEffect {
		return fault, fault.status()
	}
	if !g.control {
		return fault, nil // the task of the request is checked where it is known
	}
	return fault, g.cloud.authorize(ctx, method, unary)
}

func (g *gate) leave(ctx context.Context, method string, err error) error {
	if text := g.cloud.faults.get().Warning; text != "" {
		_ = grpc.SetTrailer(ctx, metadata.Pairs("x-modal-warning", percentEncode(text))) // an ended call has none
	}
	g.cloud.record(Event{Kind: "call", Method: method, Code: status.Code(err)})
	if err != nil {
		g.cloud.logf("%s: %v", method, err)
	} else {
		g.cloud.logf("%s", method)
	}
	return err
}

// cutConnection loses an answer: the caller's connection dies. With a code, the
// answer is lost on the way instead, and the caller is told so.
func (g *gate) cutConnection(ctx context.Context, f CallFault) error {
	if f.Code != codes.OK {
		return f.status()
	}
	if p, ok := peer.FromContext(ctx); ok {
		g.endpoint.cut(p.Addr.String())
	}
	return status.Error(codes.Unavailable, "connection lost")
}

func sleepContext(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	if err := retry.Sleep(ctx, d); err != nil {
		return status.FromContextError(err).Err()
	}
	return nil
}

// unknownStream adds a field of the future to each message.
type unknownStream struct{ grpc.ServerStream }

func (s *unknownStream) SendMsg(m any) error {
	if m, ok := m.(proto.Message); ok {
		addUnknown(m)
	}
	return s.ServerStream.SendMsg(m)
}

// addUnknown adds a field that no client knows: a newer server has such fields.
func addUnknown(m proto.Message) {
	r := m.ProtoReflect()
	field := protowire.AppendTag(nil, 19_000_007, protowire.BytesType)
	r.SetUnknown(append(r.GetUnknown(), protowire.AppendString(field, "from a newer server")...))
}
