package fakemodal

import (
	"context"
	"slices"
	"time"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
)

func (c *Cloud) list(r *pb.SandboxListRequest, v2 bool) (*pb.SandboxListResponse, error) {
	return among(c, c.env, r.GetEnvironmentName(), func(e *environment) (*pb.SandboxListResponse, error) {
		if r.GetAppId() == "" && c.faults.get().ListsByApp {
			return nil, invalid("Listing sandboxes without an app_id is deprecated and is not supported any more")
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
			if age := time.Duration((c.now() - sb.created) * float64(time.Second)); age < c.faults.get().ListDelay {
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
	})
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

func newestFirst(a, b float64) int {
	switch {
	case a > b:
		return -1
	case a < b:
		return 1
	}
	return 0
}

func inPage(p *pb.ListPagination, created float64) bool {
	return p.GetCreatedBefore() == 0 || created < p.GetCreatedBefore()
}

func limit[T any](items []T, p *pb.ListPagination) []T {
	if n := int(p.GetMaxObjects()); n > 0 && len(items) > n {
		return items[:n]
	}
	return items
}
