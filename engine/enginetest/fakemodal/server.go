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
	i := &interceptor{cloud: c, endpoint: e, control: isControl}
	return grpc.NewServer(
		grpc.UnaryInterceptor(i.unary), grpc.StreamInterceptor(i.stream),
		grpc.WaitForHandlers(true), // so that nothing begins after Close
		grpc.MaxRecvMsgSize(100<<20), grpc.MaxSendMsgSize(100<<20),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}),
	)
}

// interceptor comes before every call: it injects faults, checks credentials and records the call.
type interceptor struct {
	cloud    *Cloud
	endpoint *endpoint
	control  bool
}

func (i *interceptor) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	method := path.Base(info.FullMethod)
	fault, err := i.enter(ctx, method, true)
	if err != nil {
		return nil, i.leave(ctx, method, err)
	}
	resp, err := handler(ctx, req)
	if fault.AfterEffect {
		return nil, i.leave(ctx, method, i.cutConnection(ctx, fault))
	}
	if m, ok := resp.(proto.Message); ok && err == nil {
		addUnknown(m)
	}
	return resp, i.leave(ctx, method, err)
}

func (i *interceptor) stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	method := path.Base(info.FullMethod)
	fault, err := i.enter(ss.Context(), method, false)
	if err == nil {
		err = handler(srv, &unknownStream{ServerStream: ss})
		if fault.AfterEffect {
			err = i.cutConnection(ss.Context(), fault)
		}
	}
	return i.leave(ss.Context(), method, err)
}

// enter waits and fails as the faults say, then checks the credentials.
func (i *interceptor) enter(ctx context.Context, method string, unary bool) (CallFault, error) {
	if err := sleepContext(ctx, i.cloud.faults.get().Latency); err != nil {
		return CallFault{}, err
	}
	fault, ok := i.cloud.faults.take(method)
	if ok && fault.Hang {
		<-ctx.Done()
		return fault, status.FromContextError(ctx.Err()).Err()
	}
	if ok && fault.Cut && !fault.AfterEffect {
		return fault, i.cutConnection(ctx, fault)
	}
	if ok && !fault.AfterEffect {
		return fault, fault.status()
	}
	if !i.control {
		return fault, nil // the task of the request is checked where it is known
	}
	return fault, i.cloud.authorize(ctx, method, unary)
}

func (i *interceptor) leave(ctx context.Context, method string, err error) error {
	if text := i.cloud.faults.get().Warning; text != "" {
		_ = grpc.SetTrailer(ctx, metadata.Pairs("x-modal-warning", percentEncode(text))) // an ended call has none
	}
	i.cloud.record(Event{Kind: "call", Method: method, Code: status.Code(err)})
	if err != nil {
		i.cloud.logf("%s: %v", method, err)
	} else {
		i.cloud.logf("%s", method)
	}
	return err
}

// cutConnection loses an answer: the caller's connection dies. With a code, the
// answer is lost on the way instead, and the caller is told so.
func (i *interceptor) cutConnection(ctx context.Context, f CallFault) error {
	if f.Code != codes.OK {
		return f.status()
	}
	if p, ok := peer.FromContext(ctx); ok {
		i.endpoint.cut(p.Addr.String())
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
