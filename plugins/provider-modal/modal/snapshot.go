package modal

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/url"
	"time"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/seer-engine/seer/sdk"
)

// copyTime is how long one call waits for a copy, as in Modal's SDK: a server may begin
// anew when nobody waits for it any more.
const copyTime = 55 * time.Second

// snapshotCursor is what Snapshot remembers between two calls.
type snapshotCursor struct {
	Task string `json:"task"`
}

// Snapshot implements [sdk.Snapshotter]. The copy is made on the machine's own host,
// which has an address and a token for itself.
func (p *Provider) Snapshot(ctx context.Context, handle, key string, raw json.RawMessage) (sdk.SnapshotStep, error) {
	var c snapshotCursor
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &c); err != nil {
			return sdk.SnapshotStep{}, sdk.Errorf(sdk.Invalid, "the cursor is not one of this plugin: %v", err)
		}
	}
	if !isSandbox(handle) {
		return sdk.SnapshotStep{}, sdk.Errorf(sdk.NotFound, "Modal has no machine %q", handle)
	}
	s, err := p.open()
	if err != nil {
		return sdk.SnapshotStep{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTime+copyTime)
	defer cancel()
	if c.Task == "" {
		if c.Task, err = s.task(ctx, handle); err != nil {
			return sdk.SnapshotStep{}, err
		}
	}
	image, err := s.copy(ctx, handle, c.Task, snapshotID(handle, key))
	if err != nil || image != "" {
		return sdk.SnapshotStep{Image: image}, err
	}
	next, err := json.Marshal(c)
	return sdk.SnapshotStep{Cursor: next, Log: []string{"Modal is still copying the files"}}, err
}

// task is the run of a sandbox.
func (s *session) task(ctx context.Context, handle string) (string, error) {
	request := pb.SandboxGetTaskIdRequest_builder{SandboxId: handle}.Build()
	ask := s.api.SandboxGetTaskIdV2
	if isV1(handle) {
		ask = s.api.SandboxGetTaskId
	}
	answer, err := ask(ctx, request)
	switch {
	case err != nil:
		return "", fault(ctx, "asking where the machine "+handle+" runs", err)
	case answer.GetTaskId() == "" || answer.HasTaskResult():
		return "", sdk.Errorf(sdk.Invalid, "the machine %s does not run, so its files cannot be copied", handle)
	default:
		return answer.GetTaskId(), nil
	}
}

// copy asks for a copy; the image is empty while it is not ready. Asking again with
// the same id gives the same one.
func (s *session) copy(ctx context.Context, handle, task, id string) (string, error) {
	target, token, err := s.router(ctx, handle, task)
	if err != nil {
		return "", err
	}
	conn, err := s.dial(target)
	if err != nil {
		return "", err
	}
	life := int64(-1) // for ever
	if s.snapshotDays > 0 {
		life = int64(s.snapshotDays) * 24 * 60 * 60
	}
	waiting, cancel := context.WithTimeout(metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token), copyTime)
	defer cancel()
	answer, err := pb.NewTaskCommandRouterClient(conn).TaskSnapshotFilesystem(waiting, pb.TaskSnapshotFilesystemRequest_builder{
		TaskId: task, SnapshotId: id, TtlSeconds: &life,
	}.Build())
	switch {
	case status.Code(err) == codes.DeadlineExceeded && ctx.Err() == nil:
		return "", nil
	case status.Code(err) == codes.Unauthenticated: // its token's time was over; there is a new one each time
		return "", sdk.Errorf(sdk.Unavailable, "copying the files of %s: its host wants a new token", handle)
	case err != nil:
		return "", fault(ctx, "copying the files of "+handle, err)
	case answer.GetImageId() == "":
		return "", sdk.Errorf(sdk.Internal, "copying the files of %s: Modal gave no image", handle)
	}
	return answer.GetImageId(), nil
}

// router is where the host of a machine is reached, and with what token.
func (s *session) router(ctx context.Context, handle, task string) (target, token string, err error) {
	var access interface {
		GetUrl() string
		GetJwt() string
	}
	if isV1(handle) {
		access, err = s.api.TaskGetCommandRouterAccess(ctx, pb.TaskGetCommandRouterAccessRequest_builder{TaskId: task}.Build())
	} else {
		access, err = s.api.SandboxGetCommandRouterAccess(ctx, pb.SandboxGetCommandRouterAccessRequest_builder{SandboxId: &handle}.Build())
	}
	if err != nil {
		return "", "", fault(ctx, "asking for the host of "+handle, err)
	}
	u, err := url.Parse(access.GetUrl())
	if err != nil || u.Scheme != "https" || u.Hostname() == "" {
		return "", "", sdk.Errorf(sdk.Internal, "the address of a machine's host is %q, which is not an https address", access.GetUrl())
	}
	return "https://" + u.Host, access.GetJwt(), nil
}

// snapshotID is a UUID made of the key, so that one key has one copy.
func snapshotID(handle, key string) string {
	sum := sha256.Sum256([]byte("snapshot\x00" + handle + "\x00" + key))
	sum[6] = sum[6]&0x0f | 0x80 // version 8: of one's own making
	sum[8] = sum[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}
