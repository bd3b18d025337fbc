package fakemodal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// follow sends an output from an offset to its end.
func follow(ctx context.Context, out *output, offset uint64, send func(chunk []byte, at uint64) error) error {
	for {
		chunk, at, err := out.next(ctx, offset, false)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return status.FromContextError(err).Err()
		}
		if err := send(chunk, at); err != nil {
			return err
		}
		offset = at + uint64(len(chunk))
	}
}

// SandboxGetLogs streams an output of the first program as text, until the timeout.
func (s *controlServer) SandboxGetLogs(r *pb.SandboxGetLogsRequest, stream grpc.ServerStreamingServer[pb.TaskLogsBatch]) error {
	s.mu.Lock()
	sb, ok := s.sandboxes[r.GetSandboxId()]
	s.mu.Unlock()
	if !ok {
		return notFound("Sandbox '%s' not found", r.GetSandboxId())
	}
	out := sb.out
	if r.GetFileDescriptor() == pb.FileDescriptor_FILE_DESCRIPTOR_STDERR {
		out = sb.errs
	}
	text, _, _ := strings.Cut(r.GetLastEntryId(), "-")
	offset, _ := strconv.ParseUint(text, 10, 64) // another ID starts again
	ctx, cancel := context.WithTimeout(stream.Context(), seconds(r.GetTimeout()))
	defer cancel()
	for {
		chunk, at, err := out.next(ctx, offset, true)
		if err != nil && !errors.Is(err, io.EOF) {
			return stream.Context().Err() // the timeout is no error
		}
		offset = at + uint64(len(chunk))
		b := pb.TaskLogsBatch_builder{TaskId: sb.task, SandboxId: sb.id, EntryId: fmt.Sprintf("%d-0", offset), Eof: err != nil}
		if len(chunk) > 0 {
			now := float64(time.Now().UnixMicro()) / 1e6
			b.Items = []*pb.TaskLogs{pb.TaskLogs_builder{Data: strings.ToValidUTF8(string(chunk), "\uFFFD"), FileDescriptor: r.GetFileDescriptor(), Timestamp: now}.Build()}
		}
		if err := stream.Send(b.Build()); err != nil || b.Eof {
			return err
		}
	}
}

// SandboxStdinWrite writes to the first program; messages are counted from one.
func (s *controlServer) SandboxStdinWrite(ctx context.Context, r *pb.SandboxStdinWriteRequest) (*pb.SandboxStdinWriteResponse, error) {
	sb, err := s.find(r.GetSandboxId(), false)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	ended, again := sb.result != nil, r.GetIndex() <= sb.stdinIndex
	if !again {
		sb.stdinIndex = r.GetIndex()
	}
	s.mu.Unlock()
	if ended {
		return nil, status.Errorf(codes.FailedPrecondition, "Sandbox '%s' has already finished", sb.id)
	}
	if again {
		return &pb.SandboxStdinWriteResponse{}, nil
	}
	offset, _ := sb.stdin.state()
	return &pb.SandboxStdinWriteResponse{}, sb.stdin.put(ctx, offset, r.GetInput(), r.GetEof())
}

// SandboxStdinWriteV2 writes to the first program at an offset.
func (s *routerServer) SandboxStdinWriteV2(ctx context.Context, r *pb.SandboxStdinWriteV2Request) (*pb.SandboxStdinWriteV2Response, error) {
	sb, err := s.running(ctx, r.GetTaskId())
	if err != nil {
		return nil, err
	}
	return &pb.SandboxStdinWriteV2Response{}, sb.stdin.put(ctx, r.GetOffset(), r.GetData(), r.GetEof())
}

// SandboxStdioReadV2 streams an output of the first program, also after its end.
func (s *routerServer) SandboxStdioReadV2(r *pb.SandboxStdioReadV2Request, stream grpc.ServerStreamingServer[pb.SandboxStdioReadV2Response]) error {
	sb, err := s.task(stream.Context(), r.GetTaskId())
	if err != nil {
		return err
	}
	out := sb.out
	if r.GetFileDescriptor() == pb.SandboxStdioFileDescriptor_SANDBOX_STDIO_FILE_DESCRIPTOR_STDERR {
		out = sb.errs
	}
	return follow(stream.Context(), out, r.GetOffset(), func(chunk []byte, at uint64) error {
		return stream.Send(pb.SandboxStdioReadV2Response_builder{Data: chunk, StartingOffset: at}.Build())
	})
}
