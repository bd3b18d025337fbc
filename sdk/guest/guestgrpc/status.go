package guestgrpc

import (
	"context"
	"errors"
	"time"

	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/guest/internal/stream"
)

// ending is the status of a stream that has ended; nil is OK.
func ending(ctx context.Context, end *stream.End) error {
	if end.Err != nil {
		return toStatus(ctx, end.Err)
	}
	st := &spb.Status{}
	if len(end.Payload) == 0 || proto.Unmarshal(end.Payload, st) != nil || st.GetCode() != int32(end.Event.Code) {
		st = &spb.Status{Code: int32(end.Event.Code), Message: end.Event.Message}
	}
	return status.FromProto(st).Err()
}

// toStatus gives an error of the guest's or the host's its place among the codes of
// gRPC. Both sides keep the deadline, and whoever notices first, the status is the
// same.
func toStatus(ctx context.Context, err error) error {
	deadline, limited := ctx.Deadline()
	late := limited && !time.Now().Before(deadline)
	var e *sdk.Error
	switch isRefusal := errors.As(err, &e); {
	case isRefusal && late:
		return status.FromContextError(context.DeadlineExceeded).Err()
	case isRefusal:
		return refusal{status.New(statusCode(e.Code), e.Message), e}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return status.FromContextError(err).Err()
	}
	if _, ok := status.FromError(err); ok {
		return err
	}
	return status.Error(codes.Internal, err.Error())
}

// refusal is what the host would or could not do.
type refusal struct {
	status *status.Status
	err    *sdk.Error
}

func (r refusal) Error() string              { return r.status.Err().Error() }
func (r refusal) GRPCStatus() *status.Status { return r.status }
func (r refusal) Unwrap() error              { return r.err }

func statusCode(c sdk.Code) codes.Code {
	switch c {
	case sdk.NotFound:
		return codes.NotFound
	case sdk.Invalid:
		return codes.InvalidArgument
	case sdk.Unauthorized:
		return codes.PermissionDenied
	case sdk.NoCapacity, sdk.RateLimited:
		return codes.ResourceExhausted
	case sdk.Unavailable:
		return codes.Unavailable
	case sdk.Unsupported:
		return codes.Unimplemented
	default:
		return codes.Internal
	}
}
