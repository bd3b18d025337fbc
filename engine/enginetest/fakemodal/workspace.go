package fakemodal

import (
	"context"
	"fmt"
	"maps"
	"slices"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
)

const (
	defaultEnvironment = "main"
	builderVersion     = "2025.06"
	defaultWorkspace   = "seer"
)

// The ways of getting an object.
const (
	createIfMissing = pb.ObjectCreationType_OBJECT_CREATION_TYPE_CREATE_IF_MISSING
	failIfExists    = pb.ObjectCreationType_OBJECT_CREATION_TYPE_CREATE_FAIL_IF_EXISTS
	overwrite       = pb.ObjectCreationType_OBJECT_CREATION_TYPE_CREATE_OVERWRITE_IF_EXISTS
	ephemeral       = pb.ObjectCreationType_OBJECT_CREATION_TYPE_EPHEMERAL
	ofApp           = pb.ObjectCreationType_OBJECT_CREATION_TYPE_ANONYMOUS_OWNED_BY_APP
)

type environment struct{ id, name string }

func newEnvironment(name string) *environment { return &environment{id: newID("en"), name: name} }

type app struct {
	id, name, env string
	created       float64
	stopped       float64
}

func notFound(format string, args ...any) error {
	return status.Errorf(codes.NotFound, format, args...)
}

func invalid(format string, args ...any) error {
	return status.Errorf(codes.InvalidArgument, format, args...)
}

// env finds an environment; the empty name is the default. The caller holds mu.
func (c *Cloud) env(name string) (*environment, error) {
	if name == "" {
		name = defaultEnvironment
	}
	if e, ok := c.envs[name]; ok {
		return e, nil
	}
	return nil, notFound("Environment '%s' not found", name)
}

// EnvironmentGetOrCreate also tells the version of the image builder.
func (s *controlServer) EnvironmentGetOrCreate(_ context.Context, r *pb.EnvironmentGetOrCreateRequest) (*pb.EnvironmentGetOrCreateResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, err := s.env(r.GetDeploymentName())
	if err != nil && r.GetObjectCreationType() == createIfMissing {
		e, err = newEnvironment(r.GetDeploymentName()), nil
		s.envs[e.name] = e
	}
	if err != nil {
		return nil, err
	}
	return pb.EnvironmentGetOrCreateResponse_builder{EnvironmentId: e.id, Metadata: pb.EnvironmentMetadata_builder{
		Name: e.name, Settings: pb.EnvironmentSettings_builder{ImageBuilderVersion: builderVersion}.Build()}.Build()}.Build(), nil
}

// EnvironmentCreate adds an environment.
func (s *controlServer) EnvironmentCreate(_ context.Context, r *pb.EnvironmentCreateRequest) (*emptypb.Empty, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.envs[r.GetName()]; ok {
		return nil, status.Errorf(codes.AlreadyExists, "Environment '%s' already exists", r.GetName())
	}
	s.envs[r.GetName()] = newEnvironment(r.GetName())
	return &emptypb.Empty{}, nil
}

// EnvironmentList lists the environments.
func (s *controlServer) EnvironmentList(context.Context, *emptypb.Empty) (*pb.EnvironmentListResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var items []*pb.EnvironmentListItem
	for _, name := range slices.Sorted(maps.Keys(s.envs)) {
		items = append(items, pb.EnvironmentListItem_builder{Name: name, EnvironmentId: s.envs[name].id, Default: name == defaultEnvironment}.Build())
	}
	return pb.EnvironmentListResponse_builder{Items: items}.Build(), nil
}

// ClientHello has no warning for any version.
func (s *controlServer) ClientHello(context.Context, *emptypb.Empty) (*pb.ClientHelloResponse, error) {
	return pb.ClientHelloResponse_builder{ImageBuilderVersion: builderVersion}.Build(), nil
}

// TokenInfoGet tells whose token it is.
func (s *controlServer) TokenInfoGet(ctx context.Context, _ *pb.TokenInfoGetRequest) (*pb.TokenInfoGetResponse, error) {
	return pb.TokenInfoGetResponse_builder{TokenId: tokenOf(ctx), WorkspaceId: "ws-" + s.opts.Workspace, WorkspaceName: s.opts.Workspace}.Build(), nil
}

// WorkspaceNameLookup names the workspace.
func (s *controlServer) WorkspaceNameLookup(context.Context, *emptypb.Empty) (*pb.WorkspaceNameLookupResponse, error) {
	return pb.WorkspaceNameLookupResponse_builder{Username: s.opts.Workspace}.Build(), nil
}

// findApp finds a running app by name. The caller holds mu.
func (c *Cloud) findApp(env, name string) *app {
	for _, a := range c.apps {
		if a.env == env && a.name == name && a.stopped == 0 {
			return a
		}
	}
	return nil
}

func (c *Cloud) addApp(env, name string) *app {
	a := &app{id: newID("ap"), name: name, env: env, created: c.now()}
	c.apps[a.id] = a
	return a
}

// AppGetOrCreate finds an app by name, or makes it.
func (s *controlServer) AppGetOrCreate(_ context.Context, r *pb.AppGetOrCreateRequest) (*pb.AppGetOrCreateResponse, error) {
	return among(s.Cloud, s.env, r.GetEnvironmentName(), func(e *environment) (*pb.AppGetOrCreateResponse, error) {
		if r.GetAppName() == "" {
			return nil, invalid("App name must not be empty")
		}
		a := s.findApp(e.name, r.GetAppName())
		if a == nil {
			if r.GetObjectCreationType() != createIfMissing {
				return nil, notFound("App '%s' not found in environment '%s'", r.GetAppName(), e.name)
			}
			a = s.addApp(e.name, r.GetAppName())
		}
		return pb.AppGetOrCreateResponse_builder{AppId: a.id, HandleMetadata: a.metadata()}.Build(), nil
	})
}

func (a *app) metadata() *pb.AppHandleMetadata {
	return pb.AppHandleMetadata_builder{Description: a.name, AppId: a.id, EnvironmentName: a.env,
		Lifecycle: pb.AppLifecycle_builder{AppState: a.state(), CreatedAt: a.created, CreatedBy: defaultWorkspace}.Build()}.Build()
}

func (a *app) state() pb.AppState {
	switch {
	case a.stopped != 0:
		return pb.AppState_APP_STATE_STOPPED
	case a.name == "":
		return pb.AppState_APP_STATE_EPHEMERAL
	}
	return pb.AppState_APP_STATE_DEPLOYED
}

// AppCreate makes an app without a name.
func (s *controlServer) AppCreate(_ context.Context, r *pb.AppCreateRequest) (*pb.AppCreateResponse, error) {
	return among(s.Cloud, s.env, r.GetEnvironmentName(), func(e *environment) (*pb.AppCreateResponse, error) {
		a := s.addApp(e.name, "")
		return pb.AppCreateResponse_builder{AppId: a.id, AppPageUrl: fmt.Sprintf("https://modal.com/apps/%s", a.id)}.Build(), nil
	})
}

// apps finds the apps of all environments. The caller holds mu.
func apps(c *Cloud) func(id string) (*app, error) {
	return func(id string) (*app, error) {
		if a, ok := c.apps[id]; ok {
			return a, nil
		}
		return nil, notFound("App '%s' not found", id)
	}
}

// AppPublish has nothing to publish: there are no functions here.
func (s *controlServer) AppPublish(_ context.Context, r *pb.AppPublishRequest) (*pb.AppPublishResponse, error) {
	return among(s.Cloud, apps(s.Cloud), r.GetAppId(), func(a *app) (*pb.AppPublishResponse, error) {
		if len(r.GetFunctionIds()) > 0 || len(r.GetClassIds()) > 0 {
			return nil, status.Error(codes.Unimplemented, "the fake Modal runs no functions")
		}
		if r.GetName() != "" {
			a.name = r.GetName()
		}
		return pb.AppPublishResponse_builder{DeployedAt: s.now()}.Build(), nil
	})
}

// AppHeartbeat keeps an app without a name; here they stay anyway.
func (s *controlServer) AppHeartbeat(_ context.Context, r *pb.AppHeartbeatRequest) (*emptypb.Empty, error) {
	return among(s.Cloud, apps(s.Cloud), r.GetAppId(), func(*app) (*emptypb.Empty, error) { return &emptypb.Empty{}, nil })
}

// AppList lists the apps of an environment.
func (s *controlServer) AppList(_ context.Context, r *pb.AppListRequest) (*pb.AppListResponse, error) {
	return among(s.Cloud, s.env, r.GetEnvironmentName(), func(e *environment) (*pb.AppListResponse, error) {
		var items []*pb.AppListResponse_AppListItem
		for _, id := range slices.Sorted(maps.Keys(s.apps)) {
			if a := s.apps[id]; a.env == e.name {
				items = append(items, pb.AppListResponse_AppListItem_builder{AppId: id, Name: a.name, Description: a.name, State: a.state(),
					CreatedAt: a.created, StoppedAt: a.stopped, NRunningTasks: s.runningIn(id), Metadata: a.metadata()}.Build())
			}
		}
		return pb.AppListResponse_builder{Apps: items}.Build(), nil
	})
}

// AppStop ends an app and its sandboxes.
func (s *controlServer) AppStop(_ context.Context, r *pb.AppStopRequest) (*emptypb.Empty, error) {
	if err := s.endApp(r.GetAppId()); err != nil {
		return nil, err
	}
	return &emptypb.Empty{}, nil
}

// AppClientDisconnect ends an app without a name.
func (s *controlServer) AppClientDisconnect(_ context.Context, r *pb.AppClientDisconnectRequest) (*emptypb.Empty, error) {
	s.mu.Lock()
	a := s.apps[r.GetAppId()]
	s.mu.Unlock()
	if a != nil && a.name != "" {
		return &emptypb.Empty{}, nil
	}
	if err := s.endApp(r.GetAppId()); err != nil {
		return nil, err
	}
	return &emptypb.Empty{}, nil
}

func (c *Cloud) endApp(id string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	a, err := apps(c)(id)
	if err != nil {
		return err
	}
	if a.stopped == 0 {
		a.stopped = c.now()
	}
	for _, sb := range c.sandboxes {
		if sb.app == a {
			sb.end(endTerminated)
		}
	}
	return nil
}

// among answers a request about what find knows by a name or id, with the cloud locked.
func among[Thing, Answer any](c *Cloud, find func(key string) (Thing, error), key string, answer func(Thing) (*Answer, error)) (*Answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	thing, err := find(key)
	if err != nil {
		return nil, err
	}
	return answer(thing)
}
