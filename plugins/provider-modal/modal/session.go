package modal

import (
	"context"
	"errors"
	"log/slog"
	"time"

	sdkmodal "github.com/modal-labs/modal-client/go"
	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// session is a connection to Modal's control plane. The SDK adds what Modal wants
// to know of each call, gets the token for it, and repeats what failed in passing;
// what leaves goes through the connection that it is given.
type session struct {
	settings
	sdk   *sdkmodal.Client
	api   pb.ModalClientClient // with all that the SDK adds
	dial  func(string) (grpc.ClientConnInterface, error)
	now   func() time.Time
	rates rateCache
	known memory
}

// absent stands for a credential: the host puts the user's own in its place.
const absent = "seer"

func (s *session) connect(logger *slog.Logger) error {
	out, err := s.dial(s.target())
	if err != nil {
		return err
	}
	host := s.server.Hostname()
	var noWait time.Duration // the engine waits, not the SDK
	params := &sdkmodal.ClientParams{
		TokenID: absent, TokenSecret: absent, Environment: s.environment, MaxThrottleWait: &noWait, Logger: logger,
		GRPCUnaryInterceptors:  []grpc.UnaryClientInterceptor{show, redirect(out, host)},
		GRPCStreamInterceptors: []grpc.StreamClientInterceptor{redirectStream(out, host)},
	}
	fresh(&params.Config)
	if s.sdk, err = sdkmodal.NewClientWithOptions(params); err != nil {
		return err
	}
	conn, err := connection(s.sdk)
	if err != nil {
		return err
	}
	s.api = pb.NewModalClientClient(conn)
	return nil
}

// fresh gives the SDK an empty configuration of a type that it does not export, so
// that it reads no file.
func fresh[T any](config **T) { *config = new(T) }

// shown is the key under which a call's context asks for the SDK's connection.
type shown struct{}

var errShown = errors.New("the connection was shown; nothing was called")

// connection is the SDK's own, for its generated clients: with it their calls take
// the way of the SDK's. Only interceptors ever see it, so one of them is called.
func connection(client *sdkmodal.Client) (*grpc.ClientConn, error) {
	seen := make(chan *grpc.ClientConn, 1)
	_, err := client.Apps.FromName(context.WithValue(context.Background(), shown{}, seen), Name, nil)
	select {
	case conn := <-seen:
		return conn, nil
	default:
		return nil, errors.Join(errors.New("the SDK did not show its connection"), err)
	}
}

func show(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, next grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	seen, ok := ctx.Value(shown{}).(chan *grpc.ClientConn)
	if !ok {
		return next(ctx, method, req, reply, conn, opts...)
	}
	select {
	case seen <- conn:
	default:
	}
	return errShown
}

// redirect ends the SDK's chain: the SDK's transport below is never used.
func redirect(out grpc.ClientConnInterface, host string) grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, req, reply any, _ *grpc.ClientConn, _ grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		return out.Invoke(addressed(ctx, host), method, req, reply, opts...)
	}
}

func redirectStream(out grpc.ClientConnInterface, host string) grpc.StreamClientInterceptor {
	return func(ctx context.Context, desc *grpc.StreamDesc, _ *grpc.ClientConn, method string, _ grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
		return out.NewStream(addressed(ctx, host), desc, method, opts...)
	}
}

// addressed names the server that is called; the SDK was not told.
func addressed(ctx context.Context, host string) context.Context {
	md, _ := metadata.FromOutgoingContext(ctx)
	md = md.Copy()
	md.Set("x-modal-host", host)
	return metadata.NewOutgoingContext(ctx, md)
}
