package guestgrpc

import (
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/seer-engine/seer/sdk"
)

// options are the call options that count here.
type options struct {
	maxRecv, maxSend int // bytes of a message
	header, trailer  []*metadata.MD
	onFinish         []func(error)
}

const defaultMaxRecv = 4 << 20 // as in package grpc

func readOptions(opts []grpc.CallOption) (options, error) {
	o := options{maxRecv: defaultMaxRecv, maxSend: sdk.MaxMessage}
	var refused error
	for _, opt := range opts {
		switch opt := opt.(type) {
		case grpc.HeaderCallOption:
			o.header = append(o.header, opt.HeaderAddr)
		case grpc.TrailerCallOption:
			o.trailer = append(o.trailer, opt.TrailerAddr)
		case grpc.OnFinishCallOption:
			o.onFinish = append(o.onFinish, opt.OnFinish)
		case grpc.MaxRecvMsgSizeCallOption:
			o.maxRecv = size(opt.MaxRecvMsgSize)
		case grpc.MaxSendMsgSizeCallOption:
			o.maxSend = size(opt.MaxSendMsgSize)
		default:
			if err := refuse(opt); err != nil {
				refused = err
			}
		}
	}
	return o, refused
}

func size(n int) int { return min(max(n, 0), sdk.MaxMessage) }

// refuse names what would silently not happen.
func refuse(opt grpc.CallOption) error {
	codec := protoName
	switch opt := opt.(type) {
	case grpc.ContentSubtypeCallOption:
		codec = opt.ContentSubtype
	case grpc.ForceCodecCallOption:
		codec = opt.Codec.Name()
	case grpc.ForceCodecV2CallOption:
		codec = opt.CodecV2.Name()
	case grpc.CustomCodecCallOption:
		codec = opt.Codec.String()
	case grpc.PerRPCCredsCallOption:
		return status.Error(codes.Unimplemented, "a plugin sends no credentials of its own: name them in the manifest, under secrets")
	}
	if codec != protoName {
		return status.Errorf(codes.Unimplemented, "the codec %q cannot be used in a plugin; proto can", codec)
	}
	return nil
}

// finished tells those who want to know that the call is over.
func (o options) finished(err error) {
	for _, f := range o.onFinish {
		f(err)
	}
}
