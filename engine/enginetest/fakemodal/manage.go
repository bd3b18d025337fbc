package fakemodal

import (
	"context"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
)

// find finds a sandbox of one back end.
func (c *Cloud) find(id string, v2 bool) (*sandbox, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return backend(c, v2)(id)
}

// backend finds the sandboxes of a back end. The caller holds mu.
func backend(c *Cloud, v2 bool) func(id string) (*sandbox, error) {
	return func(id string) (*sandbox, error) {
		if sb, ok := c.sandboxes[id]; ok && sb.v2 == v2 {
			return sb, nil
		}
		return nil, notFound("Sandbox '%s' not found", id)
	}
}

// metadata goes with answers about a sandbox. The caller holds mu.
func (sb *sandbox) metadata() *pb.SandboxHandleMetadata {
	return pb.SandboxHandleMetadata_builder{AppId: sb.app.id, Result: sb.result}.Build()
}

// tunnelData lists the tunnels that are up. In the answer to a creation, those
// without encryption are not known yet. The caller holds mu.
func (sb *sandbox) tunnelData(encrypted bool) (out []*pb.TunnelData) {
	for _, t := range sb.tunnels {
		if !encrypted || !t.spec.GetUnencrypted() {
			out = append(out, t.data())
		}
	}
	return out
}

func (c *Cloud) getTaskID(ctx context.Context, r *pb.SandboxGetTaskIdRequest, v2 bool) (*pb.SandboxGetTaskIdResponse, error) {
	sb, err := c.find(r.GetSandboxId(), v2)
	if err != nil {
		return nil, err
	}
	wait(ctx, sb.tasked, seconds(r.GetTimeout()))
	c.mu.Lock()
	defer c.mu.Unlock()
	b := pb.SandboxGetTaskIdResponse_builder{TaskResult: sb.result}
	if sb.started != 0 {
		b.TaskId = &sb.task
	}
	return b.Build(), nil
}

// SandboxGetTaskId tells the task as soon as there is one, and the result without a
// task when there never was.
func (s *controlServer) SandboxGetTaskId(ctx context.Context, r *pb.SandboxGetTaskIdRequest) (*pb.SandboxGetTaskIdResponse, error) { //nolint:revive // the interface's name
	return s.getTaskID(ctx, r, false)
}

// SandboxGetTaskIdV2 is SandboxGetTaskId of the second back end.
func (s *controlServer) SandboxGetTaskIdV2(ctx context.Context, r *pb.SandboxGetTaskIdRequest) (*pb.SandboxGetTaskIdResponse, error) { //nolint:revive // the interface's name
	return s.getTaskID(ctx, r, true)
}

func (c *Cloud) waitFor(ctx context.Context, r *pb.SandboxWaitRequest, v2 bool) (*pb.SandboxWaitResponse, error) {
	sb, err := c.find(r.GetSandboxId(), v2)
	if err != nil {
		return nil, err
	}
	wait(ctx, sb.done, seconds(r.GetTimeout()))
	c.mu.Lock()
	defer c.mu.Unlock()
	return pb.SandboxWaitResponse_builder{Result: sb.result, Metadata: sb.metadata()}.Build(), nil // no result: it runs
}

// SandboxWait waits for the end.
func (s *controlServer) SandboxWait(ctx context.Context, r *pb.SandboxWaitRequest) (*pb.SandboxWaitResponse, error) {
	return s.waitFor(ctx, r, false)
}

// SandboxWaitV2 is SandboxWait of the second back end.
func (s *controlServer) SandboxWaitV2(ctx context.Context, r *pb.SandboxWaitRequest) (*pb.SandboxWaitResponse, error) {
	return s.waitFor(ctx, r, true)
}

func (c *Cloud) terminate(r *pb.SandboxTerminateRequest, v2 bool) (*pb.SandboxTerminateResponse, error) {
	return among(c, backend(c, v2), r.GetSandboxId(), func(sb *sandbox) (*pb.SandboxTerminateResponse, error) {
		sb.end(endTerminated)
		return pb.SandboxTerminateResponse_builder{ExistingResult: sb.result}.Build(), nil
	})
}

// SandboxTerminate begins the end, and does nothing where it has ended.
func (s *controlServer) SandboxTerminate(_ context.Context, r *pb.SandboxTerminateRequest) (*pb.SandboxTerminateResponse, error) {
	return s.terminate(r, false)
}

// SandboxTerminateV2 is SandboxTerminate of the second back end.
func (s *controlServer) SandboxTerminateV2(_ context.Context, r *pb.SandboxTerminateRequest) (*pb.SandboxTerminateResponse, error) {
	return s.terminate(r, true)
}

func (c *Cloud) getTunnels(ctx context.Context, r *pb.SandboxGetTunnelsRequest, v2 bool) (*pb.SandboxGetTunnelsResponse, error) {
	sb, err := c.find(r.GetSandboxId(), v2)
	if err != nil {
		return nil, err
	}
	if text := c.faults.get().TunnelFails; text != "" {
		return pb.SandboxGetTunnelsResponse_builder{Result: pb.GenericResult_builder{
			Status: pb.GenericResult_GENERIC_STATUS_FAILURE, Exception: text}.Build()}.Build(), nil
	}
	if !wait(ctx, sb.up, seconds(r.GetTimeout())) {
		return pb.SandboxGetTunnelsResponse_builder{Result: pb.GenericResult_builder{Status: pb.GenericResult_GENERIC_STATUS_TIMEOUT}.Build()}.Build(), nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if sb.result != nil {
		return nil, status.Errorf(codes.FailedPrecondition, "Sandbox '%s' has already finished", sb.id)
	}
	return pb.SandboxGetTunnelsResponse_builder{Result: pb.GenericResult_builder{Status: pb.GenericResult_GENERIC_STATUS_SUCCESS}.Build(),
		Tunnels: sb.tunnelData(false)}.Build(), nil
}

// SandboxGetTunnels waits until the ports are open; the result says if they are not.
func (s *controlServer) SandboxGetTunnels(ctx context.Context, r *pb.SandboxGetTunnelsRequest) (*pb.SandboxGetTunnelsResponse, error) {
	return s.getTunnels(ctx, r, false)
}

// SandboxGetTunnelsV2 is SandboxGetTunnels of the second back end.
func (s *controlServer) SandboxGetTunnelsV2(ctx context.Context, r *pb.SandboxGetTunnelsRequest) (*pb.SandboxGetTunnelsResponse, error) {
	return s.getTunnels(ctx, r, true)
}

func (c *Cloud) setTags(r *pb.SandboxTagsSetRequest, v2 bool) (*emptypb.Empty, error) {
	return among(c, backend(c, v2), r.GetSandboxId(), func(sb *sandbox) (*emptypb.Empty, error) {
		sb.tags = r.GetTags()
		return &emptypb.Empty{}, nil
	})
}

func (c *Cloud) getTags(r *pb.SandboxTagsGetRequest, v2 bool) (*pb.SandboxTagsGetResponse, error) {
	return among(c, backend(c, v2), r.GetSandboxId(), func(sb *sandbox) (*pb.SandboxTagsGetResponse, error) {
		return pb.SandboxTagsGetResponse_builder{Tags: sb.tags}.Build(), nil
	})
}

// SandboxTagsSet replaces the tags.
func (s *controlServer) SandboxTagsSet(_ context.Context, r *pb.SandboxTagsSetRequest) (*emptypb.Empty, error) {
	return s.setTags(r, false)
}

// SandboxTagsSetV2 is SandboxTagsSet of the second back end.
func (s *controlServer) SandboxTagsSetV2(_ context.Context, r *pb.SandboxTagsSetRequest) (*emptypb.Empty, error) {
	return s.setTags(r, true)
}

// SandboxTagsGet lists the tags.
func (s *controlServer) SandboxTagsGet(_ context.Context, r *pb.SandboxTagsGetRequest) (*pb.SandboxTagsGetResponse, error) {
	return s.getTags(r, false)
}

// SandboxTagsGetV2 is SandboxTagsGet of the second back end.
func (s *controlServer) SandboxTagsGetV2(_ context.Context, r *pb.SandboxTagsGetRequest) (*pb.SandboxTagsGetResponse, error) {
	return s.getTags(r, true)
}

// SandboxSetName names a sandbox that never had a name.
func (s *controlServer) SandboxSetName(_ context.Context, r *pb.SandboxSetNameRequest) (*pb.SandboxSetNameResponse, error) {
	sb, err := s.find(r.GetSandboxId(), true)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if sb.name != "" || sb.result != nil {
		return nil, status.Errorf(codes.FailedPrecondition, "Sandbox '%s' has a name already, or has finished", sb.id)
	}
	for _, other := range s.sandboxes {
		if other.app == sb.app && other.name == r.GetName() && other.result == nil {
			return nil, status.Errorf(codes.AlreadyExists, "Sandbox with name '%s' already exists in App '%s'", other.name, sb.app.name)
		}
	}
	sb.name = r.GetName()
	return &pb.SandboxSetNameResponse{}, nil
}

func (c *Cloud) fromName(r *pb.SandboxGetFromNameRequest, v2 bool) (*pb.SandboxGetFromNameResponse, error) {
	return among(c, c.env, r.GetEnvironmentName(), func(e *environment) (*pb.SandboxGetFromNameResponse, error) {
		var best *sandbox
		for _, sb := range c.sandboxes {
			if sb.app.env != e.name || sb.app.name != r.GetAppName() || sb.name != r.GetSandboxName() {
				continue
			}
			if ended := sb.result != nil; ended && !r.GetIncludeTerminated() || sb.v2 != v2 && !r.GetIncludeTerminated() {
				continue
			}
			if best == nil || sb.result == nil || best.result != nil && sb.created > best.created {
				best = sb
			}
		}
		if best == nil {
			return nil, notFound("Sandbox with name '%s' not found in App '%s'", r.GetSandboxName(), r.GetAppName())
		}
		return pb.SandboxGetFromNameResponse_builder{SandboxId: best.id, Metadata: best.metadata()}.Build(), nil
	})
}

// SandboxGetFromName finds a running sandbox by its name.
func (s *controlServer) SandboxGetFromName(_ context.Context, r *pb.SandboxGetFromNameRequest) (*pb.SandboxGetFromNameResponse, error) {
	return s.fromName(r, false)
}

// SandboxGetFromNameV2 is SandboxGetFromName of the second back end; with
// include_terminated it finds the latest of both.
func (s *controlServer) SandboxGetFromNameV2(_ context.Context, r *pb.SandboxGetFromNameRequest) (*pb.SandboxGetFromNameResponse, error) {
	return s.fromName(r, true)
}
