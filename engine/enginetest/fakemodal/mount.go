package fakemodal

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// mount is a set of files that a client brings, or one of Modal's own, which is empty
// here.
type mount struct {
	id    string
	files []*pb.MountFile
}

// mount finds a mount by ID. The caller holds mu.
func (c *Cloud) mount(id string) *mount {
	for _, m := range c.mounts {
		if m.id == id {
			return m
		}
	}
	return nil
}

// MountGetOrCreate finds a mount by name, or makes it of files that are here.
func (s *controlServer) MountGetOrCreate(_ context.Context, r *pb.MountGetOrCreateRequest) (*pb.MountGetOrCreateResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	parts := []string{r.GetDeploymentName()}
	for _, f := range r.GetFiles() {
		if !filepath.IsAbs(f.GetFilename()) {
			return nil, invalid("The file name %q of a mount must be absolute", f.GetFilename())
		}
		if !s.hasFile(f.GetSha256Hex()) {
			return nil, notFound("The file '%s' has not been uploaded", f.GetFilename())
		}
		parts = append(parts, f.GetFilename()+" "+f.GetSha256Hex())
	}
	slices.Sort(parts[1:])
	key := hash(parts...)
	if r.GetDeploymentName() != "" {
		key = r.GetDeploymentName()
	}
	m, ok := s.mounts[key]
	if !ok && r.GetObjectCreationType() == pb.ObjectCreationType_OBJECT_CREATION_TYPE_UNSPECIFIED &&
		r.GetNamespace() != pb.DeploymentNamespace_DEPLOYMENT_NAMESPACE_GLOBAL {
		return nil, notFound("Mount '%s' not found", r.GetDeploymentName())
	}
	if !ok || r.GetObjectCreationType() == overwrite {
		m = &mount{id: newID("mo"), files: r.GetFiles()}
		s.mounts[key] = m
	}
	return pb.MountGetOrCreateResponse_builder{MountId: m.id,
		HandleMetadata: pb.MountHandleMetadata_builder{ContentChecksumSha256Hex: hash(parts[1:]...)}.Build()}.Build(), nil
}

func (c *Cloud) blob(sha string) string { return filepath.Join(c.dir, "files", sha) }

func (c *Cloud) hasFile(sha string) bool {
	if _, err := hex.DecodeString(sha); err != nil || len(sha) != 2*sha256.Size {
		return false
	}
	_, err := os.Stat(c.blob(sha))
	return err == nil
}

// MountBatchedCheckExistence tells which files have to be uploaded.
func (s *controlServer) MountBatchedCheckExistence(_ context.Context, r *pb.MountBatchedCheckExistenceRequest) (*pb.MountBatchedCheckExistenceResponse, error) {
	lost := slices.DeleteFunc(slices.Clone(r.GetSha256HexHashes()), s.hasFile)
	return pb.MountBatchedCheckExistenceResponse_builder{MissingSha256HexHashes: lost, CheckedAt: timestamppb.Now()}.Build(), nil
}

// MountPutFile takes a file, or tells whether it is here.
func (s *controlServer) MountPutFile(_ context.Context, r *pb.MountPutFileRequest) (*pb.MountPutFileResponse, error) {
	answer := pb.MountPutFileResponse_builder{Exists: s.hasFile(r.GetSha256Hex()), CheckedAt: timestamppb.Now()}
	if answer.Exists || !r.HasData() && r.GetDataBlobId() == "" {
		return answer.Build(), nil
	}
	if r.GetDataBlobId() != "" {
		return nil, status.Error(codes.Unimplemented, "the fake Modal takes small files only")
	}
	sum := sha256.Sum256(r.GetData())
	if !strings.EqualFold(hex.EncodeToString(sum[:]), r.GetSha256Hex()) {
		return nil, invalid("The content is not that of %s", r.GetSha256Hex())
	}
	if err := os.WriteFile(s.blob(r.GetSha256Hex()), r.GetData(), 0o600); err != nil {
		return nil, err
	}
	answer.Exists = true
	return answer.Build(), nil
}

// placeFiles puts the files of the mounts where they belong.
func (sb *sandbox) placeFiles(dir string) error {
	c := sb.cloud
	c.mu.Lock()
	var files []*pb.MountFile
	for _, id := range sb.def.GetMountIds() {
		files = append(files, c.mount(id).files...)
	}
	c.mu.Unlock()
	folder := sb.folderIn(dir)
	for _, f := range files {
		data, err := os.ReadFile(c.blob(f.GetSha256Hex()))
		if err != nil {
			return err
		}
		to := folder(filepath.Clean(f.GetFilename()))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		mode := os.FileMode(0o644)
		if f.HasMode() {
			mode = os.FileMode(f.GetMode()).Perm()
		}
		if err := os.WriteFile(to, data, mode); err != nil {
			return err
		}
	}
	return nil
}
