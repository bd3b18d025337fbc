package fakemodal

import (
	"context"
	"errors"
	"io/fs"
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
	im := &image{id: newID("im"), config: sb.image.config, changed: make(chan struct{}), result: pb.GenericResult_builder{Status: pb.GenericResult_GENERIC_STATUS_SUCCESS}.Build()}
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
	c.record(Event{Kind: "snapshot", Machine: sb.id, Text: im.id})
	c.mu.Lock()
	c.images[im.id] = im
	c.mu.Unlock()
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
	id, err := sb.newSnapshot(r.GetSnapshotId(), r.GetTtlSeconds(), false, func(dir string) error { return container.Copy(ctx, dir, from) })
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

// mountPoint is the folder at a path of a machine, and where the folder below a mount waits.
func (s *routerServer) mountPoint(ctx context.Context, task string, path []byte) (at, under string, err error) {
	sb, err := s.running(ctx, task)
	if err == nil {
		err = checkPath(string(path))
	}
	if err != nil {
		return "", "", err
	}
	return sb.container.Folder(string(path)), hidden(sb.container, string(path)), nil
}

// TaskMountDirectory shows the files of an image, or none, at a path. They are a copy.
func (s *routerServer) TaskMountDirectory(ctx context.Context, r *pb.TaskMountDirectoryRequest) (*emptypb.Empty, error) {
	at, under, err := s.mountPoint(ctx, r.GetTaskId(), r.GetPath())
	if err != nil {
		return nil, err
	}
	from, err := s.imageFiles(r.GetImageId())
	if err != nil {
		return nil, err
	}
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
	return &emptypb.Empty{}, container.Copy(ctx, at, from)
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
	at, under, err := s.mountPoint(ctx, r.GetTaskId(), r.GetPath())
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(under); err != nil {
		return nil, notFound("Nothing is mounted at '%s'", r.GetPath())
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
