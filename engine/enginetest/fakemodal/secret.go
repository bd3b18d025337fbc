package fakemodal

import (
	"context"
	"maps"
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

// SecretGetOrCreate finds a secret by name, or keeps the given values.
func (s *controlServer) SecretGetOrCreate(_ context.Context, r *pb.SecretGetOrCreateRequest) (*pb.SecretGetOrCreateResponse, error) {
	return among(s.Cloud, s.env, r.GetEnvironmentName(), func(e *environment) (*pb.SecretGetOrCreateResponse, error) {
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
	})
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
		CreationInfo: pb.CreationInfo_builder{CreatedAt: s.created, CreatedBy: defaultWorkspace}.Build()}.Build()
}

// SecretList lists the secrets that have a name.
func (s *controlServer) SecretList(_ context.Context, r *pb.SecretListRequest) (*pb.SecretListResponse, error) {
	return among(s.Cloud, s.env, r.GetEnvironmentName(), func(e *environment) (*pb.SecretListResponse, error) {
		var items []*pb.SecretListItem
		for _, sec := range s.secrets {
			if sec.env == e.name && sec.name != "" && inPage(r.GetPagination(), sec.created) {
				items = append(items, pb.SecretListItem_builder{Label: sec.name, CreatedAt: sec.created, EnvironmentName: sec.env,
					SecretId: sec.id, Metadata: sec.metadata()}.Build())
			}
		}
		slices.SortFunc(items, func(a, b *pb.SecretListItem) int { return newestFirst(a.GetCreatedAt(), b.GetCreatedAt()) })
		return pb.SecretListResponse_builder{Items: limit(items, r.GetPagination()), EnvironmentName: e.name}.Build(), nil
	})
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
