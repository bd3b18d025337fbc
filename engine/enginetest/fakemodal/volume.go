package fakemodal

import (
	"context"
	"fmt"
	"os"
	"slices"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
)

type volume struct {
	id, name, env string
	dir           string
	version       pb.VolumeFsVersion
	created       float64
}

// VolumeGetOrCreate finds a volume by name, or makes it.
func (s *controlServer) VolumeGetOrCreate(_ context.Context, r *pb.VolumeGetOrCreateRequest) (*pb.VolumeGetOrCreateResponse, error) {
	return among(s.Cloud, s.env, r.GetEnvironmentName(), func(e *environment) (*pb.VolumeGetOrCreateResponse, error) {
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
			made, err := s.addVolume(e.name, name, r.GetVersion())
			if err != nil {
				return nil, err
			}
			v = made
		}
		return pb.VolumeGetOrCreateResponse_builder{VolumeId: v.id, Version: v.version, Metadata: v.metadata()}.Build(), nil
	})
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
		CreationInfo: pb.CreationInfo_builder{CreatedAt: v.created, CreatedBy: defaultWorkspace}.Build()}.Build()
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
	return among(s.Cloud, s.volume, r.GetVolumeId(), func(v *volume) (*pb.VolumeGetByIdResponse, error) {
		return pb.VolumeGetByIdResponse_builder{VolumeId: v.id, Metadata: v.metadata()}.Build(), nil
	})
}

// VolumeList lists the volumes that have a name, newest first.
func (s *controlServer) VolumeList(_ context.Context, r *pb.VolumeListRequest) (*pb.VolumeListResponse, error) {
	return among(s.Cloud, s.env, r.GetEnvironmentName(), func(e *environment) (*pb.VolumeListResponse, error) {
		var items []*pb.VolumeListItem
		for _, v := range s.volumes {
			if v.env == e.name && v.name != "" && inPage(r.GetPagination(), v.created) {
				items = append(items, pb.VolumeListItem_builder{Label: v.name, VolumeId: v.id, CreatedAt: v.created, Metadata: v.metadata()}.Build())
			}
		}
		slices.SortFunc(items, func(a, b *pb.VolumeListItem) int { return newestFirst(a.GetCreatedAt(), b.GetCreatedAt()) })
		return pb.VolumeListResponse_builder{Items: limit(items, r.GetPagination()), EnvironmentName: e.name}.Build(), nil
	})
}

// VolumeDelete removes a volume and its files.
func (s *controlServer) VolumeDelete(_ context.Context, r *pb.VolumeDeleteRequest) (*emptypb.Empty, error) {
	return among(s.Cloud, s.volume, r.GetVolumeId(), func(v *volume) (*emptypb.Empty, error) {
		delete(s.volumes, v.id)
		return &emptypb.Empty{}, os.RemoveAll(v.dir)
	})
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
