package modalcloud

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/seer-engine/seer/engine/enginetest/container"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
)

// newSnapshot makes an image from what fill copies into a folder. A key makes it at
// most one.
func (sb *sandbox) newSnapshot(key string, ttl int64, whole bool, fill func(dir string) error) (string, error) {
	c := sb.cloud
	sb.copying.Lock() // one at a time: a repeated call finds the first one's
	defer sb.copying.Unlock()
	if id, ok := sb.snapshots[key]; ok && key != "" {
		return id, nil
	}
	im := &image{id: newID("im"), changed: make(chan struct{}), result: pb.GenericResult_builder{Status: pb.GenericResult_GENERIC_STATUS_SUCCESS}.Build()}
	if ttl > 0 {
		im.expires = time.Now().Add(time.Duration(ttl) * time.Second)
	}
	dir := filepath.Join(c.dir, "images", im.id)
	if err := fill(dir); err != nil {
		return "", errors.Join(status.Errorf(codes.Internal, "snapshot: %v", err), os.RemoveAll(dir))
	}
	if whole {
		im.dir = dir
	} else {
		im.folder = dir
	}
	sb.snapshots[key] = im.id
	c.mu.Lock()
	c.images[im.id] = im
	c.mu.Unlock()
	c.record(Event{Kind: "snapshot", Machine: sb.id, Text: im.id})
	return im.id, nil
}

// TaskSnapshotFilesystem makes an image of the machine's files.
func (s *routerServer) TaskSnapshotFilesystem(ctx context.Context, r *pb.TaskSnapshotFilesystemRequest) (*pb.TaskSnapshotFilesystemResponse, error) {
	sb, err := s.running(ctx, r.GetTaskId())
	if err != nil {
		return nil, err
	}
	id, err := sb.newSnapshot(r.GetSnapshotId(), r.GetTtlSeconds(), true, func(dir string) error { return sb.container.Snapshot(ctx, dir) })
	if err != nil {
		return nil, err
	}
	return pb.TaskSnapshotFilesystemResponse_builder{ImageId: id}.Build(), nil
}

// TaskSnapshotDirectory makes an image of one folder.
func (s *routerServer) TaskSnapshotDirectory(ctx context.Context, r *pb.TaskSnapshotDirectoryRequest) (*pb.TaskSnapshotDirectoryResponse, error) {
	sb, err := s.running(ctx, r.GetTaskId())
	if err != nil {
		return nil, err
	}
	if err := checkPath(string(r.GetPath())); err != nil {
		return nil, err
	}
	from := sb.container.Folder(string(r.GetPath()))
	if info, err := os.Stat(from); err != nil || !info.IsDir() {
		return nil, notFound("Directory '%s' not found", r.GetPath())
	}
	id, err := sb.newSnapshot(r.GetSnapshotId(), r.GetTtlSeconds(), false, func(dir string) error { return os.CopyFS(dir, os.DirFS(from)) })
	if err != nil {
		return nil, err
	}
	return pb.TaskSnapshotDirectoryResponse_builder{ImageId: id}.Build(), nil
}

// checkPath keeps to folders of a sandbox.
func checkPath(path string) error {
	if !filepath.IsAbs(path) || filepath.Clean(path) == "/" {
		return invalid("The path %q must be absolute and not the root", path)
	}
	return nil
}

// hidden is where the folder below a mount waits.
func hidden(c *container.Container, path string) string {
	return c.Folder(filepath.Join("/cache/.under", hash(filepath.Clean(path))))
}

// TaskMountDirectory shows the files of an image, or none, at a path. They are a copy.
func (s *routerServer) TaskMountDirectory(ctx context.Context, r *pb.TaskMountDirectoryRequest) (*emptypb.Empty, error) {
	sb, err := s.running(ctx, r.GetTaskId())
	if err != nil {
		return nil, err
	}
	path := string(r.GetPath())
	if err := checkPath(path); err != nil {
		return nil, err
	}
	from, err := s.imageFiles(r.GetImageId())
	if err != nil {
		return nil, err
	}
	at, under := sb.container.Folder(path), hidden(sb.container, path)
	if _, err := os.Lstat(under); err == nil {
		if err := os.RemoveAll(at); err != nil { // mounted before
			return nil, err
		}
	} else if err := hide(at, under); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(at, 0o755); err != nil || from == "" {
		return &emptypb.Empty{}, err
	}
	return &emptypb.Empty{}, os.CopyFS(at, os.DirFS(from))
}

func hide(at, under string) error {
	if err := os.MkdirAll(filepath.Dir(under), 0o755); err != nil {
		return err
	}
	err := os.Rename(at, under)
	if errors.Is(err, fs.ErrNotExist) {
		return os.Mkdir(under, 0o755)
	}
	return err
}

func (c *Cloud) imageFiles(id string) (string, error) {
	if id == "" {
		return "", nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	im, err := c.image(id)
	if err != nil {
		return "", err
	}
	if im.folder != "" {
		return im.folder, nil
	}
	return im.dir, nil
}

// TaskUnmountDirectory shows what was there before.
func (s *routerServer) TaskUnmountDirectory(ctx context.Context, r *pb.TaskUnmountDirectoryRequest) (*emptypb.Empty, error) {
	sb, err := s.running(ctx, r.GetTaskId())
	if err != nil {
		return nil, err
	}
	path := string(r.GetPath())
	if err := checkPath(path); err != nil {
		return nil, err
	}
	at, under := sb.container.Folder(path), hidden(sb.container, path)
	if _, err := os.Lstat(under); err != nil {
		return nil, notFound("Nothing is mounted at '%s'", path)
	}
	if err := os.RemoveAll(at); err != nil {
		return nil, err
	}
	return &emptypb.Empty{}, os.Rename(under, at)
}

// TaskReloadVolumes has nothing to do: machines see the volume itself.
func (s *routerServer) TaskReloadVolumes(ctx context.Context, r *pb.TaskReloadVolumesRequest) (*pb.TaskReloadVolumesResponse, error) {
	_, err := s.running(ctx, r.GetTaskId())
	return &pb.TaskReloadVolumesResponse{}, err
}

// TaskSetNetworkAccess is accepted; nothing here is kept from the network.
func (s *routerServer) TaskSetNetworkAccess(ctx context.Context, r *pb.TaskSetNetworkAccessRequest) (*pb.TaskSetNetworkAccessResponse, error) {
	_, err := s.running(ctx, r.GetTaskId())
	return &pb.TaskSetNetworkAccessResponse{}, err
}

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

const exitSnapshot = "enable_exit_snapshot"

// saveExit makes the snapshot of a sandbox that asked for one at its end.
func (sb *sandbox) saveExit() {
	if sb.def.GetExperimentalOptionsV2()[exitSnapshot] != "true" || sb.cloud.ctx.Err() != nil {
		return
	}
	id, err := sb.newSnapshot("exit", 0, true, func(dir string) error { return sb.container.Snapshot(context.Background(), dir) })
	if err != nil {
		sb.cloud.logf("%s: %v", sb.id, err)
	}
	sb.cloud.mu.Lock()
	defer sb.cloud.mu.Unlock()
	sb.exitImage = id
}

func (c *Cloud) exitSnapshotOf(ctx context.Context, r *pb.SandboxGetExitSnapshotRequest, v2 bool) (*pb.SandboxGetExitSnapshotResponse, error) {
	sb, err := c.find(r.GetSandboxId(), v2)
	if err != nil {
		return nil, err
	}
	if sb.def.GetExperimentalOptionsV2()[exitSnapshot] != "true" {
		return nil, invalid("Exit snapshots were not enabled when Sandbox '%s' was created", sb.id)
	}
	if !wait(ctx, sb.done, seconds(r.GetTimeout())) {
		return pb.SandboxGetExitSnapshotResponse_builder{Pending: &pb.SandboxGetExitSnapshotResponse_Pending{}}.Build(), nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if sb.exitImage == "" {
		return pb.SandboxGetExitSnapshotResponse_builder{Error: pb.SandboxGetExitSnapshotResponse_Error_builder{
			ErrorCode: pb.SandboxGetExitSnapshotResponse_ERROR_CODE_INTERNAL, Message: "The snapshot could not be made"}.Build()}.Build(), nil
	}
	return pb.SandboxGetExitSnapshotResponse_builder{Success: pb.SandboxGetExitSnapshotResponse_Success_builder{ImageId: sb.exitImage}.Build()}.Build(), nil
}

// SandboxGetExitSnapshot waits for the image made at the end.
func (s *controlServer) SandboxGetExitSnapshot(ctx context.Context, r *pb.SandboxGetExitSnapshotRequest) (*pb.SandboxGetExitSnapshotResponse, error) {
	return s.exitSnapshotOf(ctx, r, false)
}

// SandboxGetExitSnapshotV2 is SandboxGetExitSnapshot of the second back end.
func (s *controlServer) SandboxGetExitSnapshotV2(ctx context.Context, r *pb.SandboxGetExitSnapshotRequest) (*pb.SandboxGetExitSnapshotResponse, error) {
	return s.exitSnapshotOf(ctx, r, true)
}
