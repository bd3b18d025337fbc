package modalcloud

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
)

type secret struct {
	id, name, env string
	values        map[string]string
	created       float64
}

type volume struct {
	id, name, env string
	dir           string
	version       pb.VolumeFsVersion
	created       float64
}

// SecretGetOrCreate finds a secret by name, or keeps the given values.
func (s *controlServer) SecretGetOrCreate(_ context.Context, r *pb.SecretGetOrCreateRequest) (*pb.SecretGetOrCreateResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, err := s.env(r.GetEnvironmentName())
	if err != nil {
		return nil, err
	}
	how := r.GetObjectCreationType()
	if how == ephemeral || how == ofApp {
		return s.addSecret(e.name, "", r.GetEnvDict()).answer(), nil
	}
	old := s.findSecret(e.name, r.GetDeploymentName())
	switch {
	case old == nil && how == pb.ObjectCreationType_OBJECT_CREATION_TYPE_UNSPECIFIED:
		return nil, notFound("Secret '%s' not found in environment '%s'", r.GetDeploymentName(), e.name)
	case old == nil:
		old = s.addSecret(e.name, r.GetDeploymentName(), r.GetEnvDict())
	case how == failIfExists:
		return nil, status.Errorf(codes.AlreadyExists, "Secret '%s' already exists", old.name)
	case how == overwrite:
		old.values = maps.Clone(r.GetEnvDict())
	}
	if missing := slices.DeleteFunc(slices.Clone(r.GetRequiredKeys()), func(k string) bool { _, ok := old.values[k]; return ok }); len(missing) > 0 {
		return nil, status.Errorf(codes.FailedPrecondition, "Secret is missing key(s): %s", strings.Join(missing, ", "))
	}
	return old.answer(), nil
}

func (c *Cloud) findSecret(env, name string) *secret {
	for _, s := range c.secrets {
		if s.env == env && s.name == name && name != "" {
			return s
		}
	}
	return nil
}

func (c *Cloud) addSecret(env, name string, values map[string]string) *secret {
	s := &secret{id: newID("st"), name: name, env: env, values: maps.Clone(values), created: c.now()}
	c.secrets[s.id] = s
	return s
}

func (s *secret) answer() *pb.SecretGetOrCreateResponse {
	return pb.SecretGetOrCreateResponse_builder{SecretId: s.id, Metadata: s.metadata()}.Build()
}

func (s *secret) metadata() *pb.SecretMetadata {
	return pb.SecretMetadata_builder{Name: s.name, Keys: slices.Sorted(maps.Keys(s.values)), EnvironmentName: s.env,
		CreationInfo: pb.CreationInfo_builder{CreatedAt: s.created, CreatedBy: workspaceName}.Build()}.Build()
}

// SecretList lists the secrets that have a name.
func (s *controlServer) SecretList(_ context.Context, r *pb.SecretListRequest) (*pb.SecretListResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, err := s.env(r.GetEnvironmentName())
	if err != nil {
		return nil, err
	}
	var items []*pb.SecretListItem
	for _, sec := range s.secrets {
		if sec.env == e.name && sec.name != "" && inPage(r.GetPagination(), sec.created) {
			items = append(items, pb.SecretListItem_builder{Label: sec.name, CreatedAt: sec.created, EnvironmentName: sec.env,
				SecretId: sec.id, Metadata: sec.metadata()}.Build())
		}
	}
	slices.SortFunc(items, func(a, b *pb.SecretListItem) int { return newestFirst(a.GetCreatedAt(), b.GetCreatedAt()) })
	return pb.SecretListResponse_builder{Items: limit(items, r.GetPagination()), EnvironmentName: e.name}.Build(), nil
}

// SecretDelete forgets a secret.
func (s *controlServer) SecretDelete(_ context.Context, r *pb.SecretDeleteRequest) (*emptypb.Empty, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.secrets[r.GetSecretId()]; !ok {
		return nil, notFound("Secret '%s' not found", r.GetSecretId())
	}
	delete(s.secrets, r.GetSecretId())
	return &emptypb.Empty{}, nil
}

// variables are the values of secrets, later ones first in rank. The caller holds mu.
func (c *Cloud) variables(ids []string, sources []*pb.SecretSource) (map[string]string, error) {
	out := map[string]string{}
	add := func(id string) error {
		s, ok := c.secrets[id]
		if !ok {
			return notFound("Secret '%s' not found", id)
		}
		maps.Copy(out, s.values)
		return nil
	}
	for _, id := range ids {
		if err := add(id); err != nil {
			return nil, err
		}
	}
	for _, source := range sources {
		if source.HasSecretId() {
			if err := add(source.GetSecretId()); err != nil {
				return nil, err
			}
		}
		maps.Copy(out, source.GetEnv().GetContents())
	}
	return out, nil
}

// VolumeGetOrCreate finds a volume by name, or makes it.
func (s *controlServer) VolumeGetOrCreate(_ context.Context, r *pb.VolumeGetOrCreateRequest) (*pb.VolumeGetOrCreateResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, err := s.env(r.GetEnvironmentName())
	if err != nil {
		return nil, err
	}
	how, name := r.GetObjectCreationType(), r.GetDeploymentName()
	var v *volume
	if how != ephemeral && how != ofApp {
		v = s.findVolume(e.name, name)
	} else {
		name = ""
	}
	switch {
	case v == nil && how == pb.ObjectCreationType_OBJECT_CREATION_TYPE_UNSPECIFIED:
		return nil, notFound("Volume '%s' not found in environment '%s'", name, e.name)
	case v != nil && how == failIfExists:
		return nil, status.Errorf(codes.AlreadyExists, "Volume '%s' already exists", name)
	case v != nil && r.GetVersion() != 0 && r.GetVersion() != v.version:
		return nil, status.Errorf(codes.FailedPrecondition, "Volume '%s' has another version", name)
	case v == nil:
		if v, err = s.addVolume(e.name, name, r.GetVersion()); err != nil {
			return nil, err
		}
	}
	return pb.VolumeGetOrCreateResponse_builder{VolumeId: v.id, Version: v.version, Metadata: v.metadata()}.Build(), nil
}

func (c *Cloud) findVolume(env, name string) *volume {
	for _, v := range c.volumes {
		if v.env == env && v.name == name && name != "" {
			return v
		}
	}
	return nil
}

func (c *Cloud) addVolume(env, name string, version pb.VolumeFsVersion) (*volume, error) {
	v := &volume{id: newID("vo"), name: name, env: env, version: version, created: c.now()}
	if v.version == 0 {
		v.version = pb.VolumeFsVersion_VOLUME_FS_VERSION_V1
	}
	var err error
	if v.dir, err = c.newFolder("volumes", v.id); err != nil {
		return nil, fmt.Errorf("folder of a volume: %w", err)
	}
	c.volumes[v.id] = v
	return v, nil
}

func (v *volume) metadata() *pb.VolumeMetadata {
	return pb.VolumeMetadata_builder{Version: v.version, Name: v.name,
		CreationInfo: pb.CreationInfo_builder{CreatedAt: v.created, CreatedBy: workspaceName}.Build()}.Build()
}

// volume finds a volume by ID. The caller holds mu.
func (c *Cloud) volume(id string) (*volume, error) {
	if v, ok := c.volumes[id]; ok {
		return v, nil
	}
	return nil, notFound("Volume '%s' not found", id)
}

// VolumeGetById describes a volume.
func (s *controlServer) VolumeGetById(_ context.Context, r *pb.VolumeGetByIdRequest) (*pb.VolumeGetByIdResponse, error) { //nolint:revive // the interface's name
	s.mu.Lock()
	defer s.mu.Unlock()
	v, err := s.volume(r.GetVolumeId())
	if err != nil {
		return nil, err
	}
	return pb.VolumeGetByIdResponse_builder{VolumeId: v.id, Metadata: v.metadata()}.Build(), nil
}

// VolumeList lists the volumes that have a name, newest first.
func (s *controlServer) VolumeList(_ context.Context, r *pb.VolumeListRequest) (*pb.VolumeListResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, err := s.env(r.GetEnvironmentName())
	if err != nil {
		return nil, err
	}
	var items []*pb.VolumeListItem
	for _, v := range s.volumes {
		if v.env == e.name && v.name != "" && inPage(r.GetPagination(), v.created) {
			items = append(items, pb.VolumeListItem_builder{Label: v.name, VolumeId: v.id, CreatedAt: v.created, Metadata: v.metadata()}.Build())
		}
	}
	slices.SortFunc(items, func(a, b *pb.VolumeListItem) int { return newestFirst(a.GetCreatedAt(), b.GetCreatedAt()) })
	return pb.VolumeListResponse_builder{Items: limit(items, r.GetPagination()), EnvironmentName: e.name}.Build(), nil
}

// VolumeDelete removes a volume and its files.
func (s *controlServer) VolumeDelete(_ context.Context, r *pb.VolumeDeleteRequest) (*emptypb.Empty, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, err := s.volume(r.GetVolumeId())
	if err != nil {
		return nil, err
	}
	delete(s.volumes, v.id)
	return &emptypb.Empty{}, os.RemoveAll(v.dir)
}

// VolumeHeartbeat keeps a volume without a name; here they stay anyway.
func (s *controlServer) VolumeHeartbeat(_ context.Context, r *pb.VolumeHeartbeatRequest) (*emptypb.Empty, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.volume(r.GetVolumeId())
	return &emptypb.Empty{}, err
}

// VolumeCommit has nothing to do: machines write into the volume itself.
func (s *controlServer) VolumeCommit(_ context.Context, r *pb.VolumeCommitRequest) (*pb.VolumeCommitResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.volume(r.GetVolumeId())
	return &pb.VolumeCommitResponse{}, err
}

// VolumeReload has nothing to do either.
func (s *controlServer) VolumeReload(_ context.Context, r *pb.VolumeReloadRequest) (*emptypb.Empty, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.volume(r.GetVolumeId())
	return &emptypb.Empty{}, err
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
