package fakemodal

import (
	"context"
	"os"
	"path/filepath"
	"time"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// SandboxCreate is the first back end: the machine comes later.
func (s *controlServer) SandboxCreate(_ context.Context, r *pb.SandboxCreateRequest) (*pb.SandboxCreateResponse, error) {
	sb, err := s.create(r.GetAppId(), r.GetDefinition(), r.GetTags(), nil, false)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return pb.SandboxCreateResponse_builder{SandboxId: sb.id, Metadata: sb.metadata()}.Build(), nil
}

// SandboxCreateV2 is the second: the answer has the machine, but no GPU.
func (s *controlServer) SandboxCreateV2(ctx context.Context, r *pb.SandboxCreateV2Request) (*pb.SandboxCreateV2Response, error) {
	if f := s.faults.get(); f.noCapacity("") {
		return nil, status.Error(codes.ResourceExhausted, "Insufficient capacity to create sandbox.")
	}
	sources := r.GetSecretSources()
	if len(r.GetEphemeralSecrets().GetContents()) > 0 {
		sources = append(sources, pb.SecretSource_builder{Env: r.GetEphemeralSecrets()}.Build())
	}
	sb, err := s.create(r.GetAppId(), r.GetDefinition(), r.GetTags(), sources, true)
	if err != nil {
		return nil, err
	}
	select {
	case <-sb.tasked:
	case <-ctx.Done():
		if s.faults.get().DropsLeft {
			sb.endNow(endTerminated)
		}
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	if f := s.faults.get(); !f.TunnelNever && f.TunnelDelay+s.opts.TunnelTime == 0 {
		wait(ctx, sb.up, time.Minute) // at once
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if sb.started == 0 {
		return nil, status.Error(codes.FailedPrecondition, sb.result.GetException())
	}
	return pb.SandboxCreateV2Response_builder{SandboxId: sb.id, TaskId: sb.task, CommandRouterAccess: s.routerAccess(sb.task),
		Tunnels: sb.tunnelData(true), Metadata: sb.metadata()}.Build(), nil
}

// create checks what is asked for, and begins it.
func (c *Cloud) create(appID string, def *pb.Sandbox, tags []*pb.SandboxTag, sources []*pb.SecretSource, v2 bool) (*sandbox, error) {
	if err := checkDefinition(def, v2); err != nil {
		return nil, err
	}
	if text := c.faults.get().Exhausted; text != "" {
		return nil, status.Error(codes.ResourceExhausted, text)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() != nil {
		return nil, status.Error(codes.Unavailable, "the cloud is closed")
	}
	a, ok := c.apps[appID]
	if !ok || a.stopped != 0 {
		return nil, notFound("App '%s' not found", appID)
	}
	im, err := c.usable(def)
	if err != nil {
		return nil, err
	}
	for _, id := range def.GetMountIds() {
		if c.mount(id) == nil {
			return nil, notFound("Mount '%s' not found", id)
		}
	}
	ids := def.GetSecretIds()
	if v2 && len(sources) > 0 {
		ids = nil // they are among the sources too, in their order
	}
	vars, err := c.variables(ids, sources)
	if err != nil {
		return nil, err
	}
	if err := c.checkRoom(a, def); err != nil {
		return nil, err
	}
	sb, err := c.newSandbox(a, im, def, vars, v2)
	if err != nil {
		return nil, err
	}
	sb.tags = tags
	c.sandboxes[sb.id], c.tasks[sb.task] = sb, sb
	c.record(Event{Kind: "create", Machine: sb.id})
	c.work.Add(1)
	go sb.live()
	return sb, nil
}

// usable finds the image, when it and the volumes can be used. The caller holds mu.
func (c *Cloud) usable(def *pb.Sandbox) (*image, error) {
	im, err := c.image(def.GetImageId())
	if err != nil {
		return nil, err
	}
	if im.result.GetStatus() != pb.GenericResult_GENERIC_STATUS_SUCCESS || im.folder != "" {
		return nil, status.Errorf(codes.FailedPrecondition, "Image '%s' is not built", im.id)
	}
	for _, m := range def.GetVolumeMounts() {
		v, err := c.volume(m.GetVolumeId())
		if err != nil {
			return nil, err
		}
		if !filepath.IsAbs(m.GetMountPath()) || filepath.Clean(m.GetMountPath()) == "/" || !filepath.IsLocal(filepath.Join(".", m.GetSubPath())) {
			return nil, invalid("Volume mount path %q must be absolute and not the root", m.GetMountPath())
		}
		if err := os.MkdirAll(filepath.Join(v.dir, m.GetSubPath()), 0o755); err != nil {
			return nil, err
		}
	}
	return im, nil
}

// checkRoom looks at the name and the limits of the workspace. The caller holds mu.
func (c *Cloud) checkRoom(a *app, def *pb.Sandbox) error {
	machines, gpus := 1, gpuCount(def)
	for _, sb := range c.sandboxes {
		if sb.result != nil {
			continue
		}
		if sb.app == a && sb.name == def.GetName() && sb.name != "" {
			return status.Errorf(codes.AlreadyExists, "Sandbox with name '%s' already exists in App '%s'", sb.name, a.name)
		}
		machines++
		gpus += gpuCount(sb.def)
	}
	if machines > c.opts.MaxMachines {
		return status.Errorf(codes.ResourceExhausted, "Workspace limit of %d concurrent containers reached", c.opts.MaxMachines)
	}
	if gpuCount(def) > 0 && gpus > c.opts.MaxGPUs {
		return status.Errorf(codes.ResourceExhausted, "Workspace limit of %d concurrent GPUs reached", c.opts.MaxGPUs)
	}
	return nil
}

func gpuCount(def *pb.Sandbox) int {
	g := def.GetResources().GetGpuConfig()
	if g.GetGpuType() == "" {
		return 0
	}
	return int(g.GetCount())
}

// runningIn counts the tasks of an app. The caller holds mu.
func (c *Cloud) runningIn(app string) (n int32) {
	for _, sb := range c.sandboxes {
		if sb.app.id == app && sb.started != 0 && sb.result == nil {
			n++
		}
	}
	return n
}
