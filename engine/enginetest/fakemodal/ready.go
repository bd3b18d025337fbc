package fakemodal

import (
	"context"
	"net"
	"time"

	"github.com/seer-engine/seer/engine/enginetest/container"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// SandboxWaitUntilReady asks the readiness probe until it is content.
func (s *routerServer) SandboxWaitUntilReady(ctx context.Context, r *pb.SandboxWaitUntilReadyTcrRequest) (*pb.SandboxWaitUntilReadyTcrResponse, error) {
	sb, err := s.running(ctx, r.GetTaskId())
	if err != nil {
		return nil, err
	}
	probe := sb.def.GetReadinessProbe()
	if probe == nil {
		return nil, status.Error(codes.FailedPrecondition, "Sandbox has no readiness probe")
	}
	ctx, cancel := context.WithTimeout(ctx, seconds(r.GetTimeout()))
	defer cancel()
	every := max(time.Duration(probe.GetIntervalMs())*time.Millisecond, time.Millisecond)
	for !sb.probe(ctx, probe) {
		select {
		case <-time.After(every):
		case <-sb.done:
			return nil, status.Error(codes.FailedPrecondition, "Sandbox has finished before it was ready")
		case <-ctx.Done():
			return nil, status.Error(codes.DeadlineExceeded, "Sandbox is not ready")
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if sb.ready == 0 {
		sb.ready = s.now()
	}
	return pb.SandboxWaitUntilReadyTcrResponse_builder{ReadyAt: sb.ready}.Build(), nil
}

func (sb *sandbox) probe(ctx context.Context, p *pb.Probe) bool {
	if p.HasTcpPort() {
		conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", sb.address(int(p.GetTcpPort())))
		if err != nil {
			return false
		}
		_ = conn.Close()
		return true
	}
	cmd, err := sb.container.Exec(container.Process{Argv: sb.local(p.GetExecCommand().GetArgv(), sb.container.Folder)})
	return err == nil && cmd.Wait() == nil
}

func (c *Cloud) access(sb *sandbox) (*pb.CommandRouterAccess, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if sb == nil || sb.started == 0 {
		return nil, notFound("Task not found")
	}
	return c.routerAccess(sb.task), nil
}

// TaskGetCommandRouterAccess lets a client run commands in a task.
func (s *controlServer) TaskGetCommandRouterAccess(_ context.Context, r *pb.TaskGetCommandRouterAccessRequest) (*pb.TaskGetCommandRouterAccessResponse, error) {
	s.mu.Lock()
	sb := s.tasks[r.GetTaskId()]
	s.mu.Unlock()
	a, err := s.access(sb)
	if err != nil {
		return nil, err
	}
	return pb.TaskGetCommandRouterAccessResponse_builder{Jwt: a.GetJwt(), Url: a.GetUrl()}.Build(), nil
}

// SandboxGetCommandRouterAccess is the same for a sandbox of either back end.
func (s *controlServer) SandboxGetCommandRouterAccess(_ context.Context, r *pb.SandboxGetCommandRouterAccessRequest) (*pb.SandboxGetCommandRouterAccessResponse, error) {
	s.mu.Lock()
	sb := s.sandboxes[r.GetSandboxId()]
	if r.HasTaskId() {
		sb = s.tasks[r.GetTaskId()]
	}
	s.mu.Unlock()
	a, err := s.access(sb)
	if err != nil {
		return nil, err
	}
	return pb.SandboxGetCommandRouterAccessResponse_builder{Jwt: a.GetJwt(), Url: a.GetUrl()}.Build(), nil
}
