package modalcloud

import (
	"context"
	"slices"
	"time"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
)

// find finds a sandbox of one back end.
func (c *Cloud) find(id string, v2 bool) (*sandbox, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if sb, ok := c.sandboxes[id]; ok && sb.v2 == v2 {
		return sb, nil
	}
	return nil, notFound("Sandbox '%s' not found", id)
}

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
	sb, err := c.find(r.GetSandboxId(), v2)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	sb.end(endTerminated)
	return pb.SandboxTerminateResponse_builder{ExistingResult: sb.result}.Build(), nil
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
	sb, err := c.find(r.GetSandboxId(), v2)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	sb.tags = r.GetTags()
	return &emptypb.Empty{}, nil
}

func (c *Cloud) getTags(r *pb.SandboxTagsGetRequest, v2 bool) (*pb.SandboxTagsGetResponse, error) {
	sb, err := c.find(r.GetSandboxId(), v2)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return pb.SandboxTagsGetResponse_builder{Tags: sb.tags}.Build(), nil
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
	c.mu.Lock()
	defer c.mu.Unlock()
	e, err := c.env(r.GetEnvironmentName())
	if err != nil {
		return nil, err
	}
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

func (c *Cloud) list(r *pb.SandboxListRequest, v2 bool) (*pb.SandboxListResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, err := c.env(r.GetEnvironmentName())
	if err != nil {
		return nil, err
	}
	if id := r.GetAppId(); id != "" && c.apps[id] == nil {
		return nil, notFound("App '%s' not found", id)
	}
	var found []*sandbox
	for _, sb := range c.sandboxes {
		if id := r.GetAppId(); id != "" && sb.app.id != id || id == "" && sb.app.env != e.name {
			continue
		}
		if before := r.GetBeforeTimestamp(); before != 0 && sb.created >= before {
			continue
		}
		if sb.v2 && !v2 || sb.result != nil && !r.GetIncludeFinished() || !sb.hasTags(r.GetTags()) {
			continue
		}
		found = append(found, sb)
	}
	slices.SortFunc(found, func(a, b *sandbox) int { return newestFirst(a.created, b.created) })
	var out []*pb.SandboxInfo
	for _, sb := range found[:min(len(found), c.opts.PageSize)] {
		out = append(out, sb.info())
	}
	return pb.SandboxListResponse_builder{Sandboxes: out}.Build(), nil
}

// SandboxList lists the sandboxes of the first back end, newest first.
func (s *controlServer) SandboxList(_ context.Context, r *pb.SandboxListRequest) (*pb.SandboxListResponse, error) {
	return s.list(r, false)
}

// SandboxListV2 lists those of both.
func (s *controlServer) SandboxListV2(_ context.Context, r *pb.SandboxListRequest) (*pb.SandboxListResponse, error) {
	return s.list(r, true)
}

func (sb *sandbox) hasTags(want []*pb.SandboxTag) bool {
	for _, w := range want {
		if !slices.ContainsFunc(sb.tags, func(t *pb.SandboxTag) bool {
			return t.GetTagName() == w.GetTagName() && t.GetTagValue() == w.GetTagValue()
		}) {
			return false
		}
	}
	return true
}

// info describes a sandbox. The caller holds mu.
func (sb *sandbox) info() *pb.SandboxInfo {
	res := sb.def.GetResources()
	b := pb.SandboxInfo_builder{Id: sb.id, CreatedAt: sb.created, AppId: sb.app.id, Tags: sb.tags, Name: sb.name, ImageId: sb.image.id,
		TimeoutSecs: sb.def.GetTimeoutSecs(), Regions: sb.def.GetSchedulerPlacement().GetRegions(), ReadinessProbe: sb.def.GetReadinessProbe(),
		TaskInfo: sb.taskInfo(), Tunnels: sb.tunnelData(false), Metadata: sb.metadata(),
		ResourceInfo: pb.ResourceInfo_builder{GpuType: sb.gpu(),
			MemoryMb: resourceValue(res.GetMemoryMb(), 128), MilliCpu: resourceValue(res.GetMilliCpu(), 125)}.Build()}
	if sb.def.HasIdleTimeoutSecs() {
		idle := sb.def.GetIdleTimeoutSecs()
		b.IdleTimeoutSecs = &idle
	}
	if sb.ready != 0 {
		b.ReadyAt = &sb.ready
	}
	return b.Build()
}

func resourceValue(v, def uint32) *pb.ResourceInfo_ResourceValue {
	if v == 0 {
		return pb.ResourceInfo_ResourceValue_builder{Value: def, IsDefault: true}.Build()
	}
	return pb.ResourceInfo_ResourceValue_builder{Value: v}.Build()
}

// taskInfo describes the task. The caller holds mu.
func (sb *sandbox) taskInfo() *pb.TaskInfo {
	b := pb.TaskInfo_builder{StartedAt: sb.started, FinishedAt: sb.ended, Result: sb.result, EnqueuedAt: sb.created,
		GpuType: sb.gpu(), SandboxId: sb.id, GpuConfig: sb.def.GetResources().GetGpuConfig()}
	if sb.started != 0 {
		b.Id = sb.task
	}
	return b.Build()
}

// TaskGetInfo describes the task of a sandbox.
func (s *controlServer) TaskGetInfo(_ context.Context, r *pb.TaskGetInfoRequest) (*pb.TaskGetInfoResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sb, ok := s.tasks[r.GetTaskId()]
	if !ok || sb.started == 0 {
		return nil, notFound("Task '%s' not found", r.GetTaskId())
	}
	return pb.TaskGetInfoResponse_builder{AppId: sb.app.id, Info: sb.taskInfo()}.Build(), nil
}

// TaskList lists the tasks that run.
func (s *controlServer) TaskList(_ context.Context, r *pb.TaskListRequest) (*pb.TaskListResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*pb.TaskStats
	for _, sb := range s.sandboxes {
		if sb.started == 0 || sb.result != nil || r.GetAppId() != "" && sb.app.id != r.GetAppId() {
			continue
		}
		out = append(out, pb.TaskStats_builder{TaskId: sb.task, AppId: sb.app.id, AppDescription: sb.app.name,
			StartedAt: sb.started, EnqueuedAt: sb.created}.Build())
	}
	return pb.TaskListResponse_builder{Tasks: out}.Build(), nil
}

// SandboxGetResourceUsage counts what the sandbox asked for, for as long as it ran.
func (s *controlServer) SandboxGetResourceUsage(_ context.Context, r *pb.SandboxGetResourceUsageRequest) (*pb.SandboxGetResourceUsageResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sb, ok := s.sandboxes[r.GetSandboxId()]
	if !ok {
		return nil, notFound("Sandbox '%s' not found", r.GetSandboxId())
	}
	ran := sb.ran()
	info := sb.info().GetResourceInfo()
	b := pb.SandboxGetResourceUsageResponse_builder{
		CpuCoreNanosecs: uint64(ran * float64(info.GetMilliCpu().GetValue()) / 1000),
		MemGibNanosecs:  uint64(ran * float64(info.GetMemoryMb().GetValue()) / 1024),
		GpuNanosecs:     uint64(ran * float64(gpuCount(sb.def))),
	}
	if gpu := sb.gpu(); gpu != "" {
		b.GpuType = &gpu
	}
	return b.Build(), nil
}

// ran is how long the sandbox has cost money, in nanoseconds. The caller holds mu.
func (sb *sandbox) ran() float64 {
	end := sb.ended
	if end == 0 {
		end = float64(time.Now().UnixMicro()) / 1e6
	}
	if sb.started == 0 || end < sb.started {
		return 0
	}
	return (end - sb.started) * 1e9
}

// WorkspaceBillingRates lists Options.Rates.
func (s *controlServer) WorkspaceBillingRates(context.Context, *pb.WorkspaceBillingRatesRequest) (*pb.WorkspaceBillingRatesResponse, error) {
	return pb.WorkspaceBillingRatesResponse_builder{Rates: s.opts.Rates}.Build(), nil
}
