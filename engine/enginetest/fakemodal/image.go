package fakemodal

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"path"
	"strconv"
	"strings"
	"time"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/emptypb"
)

// image is a layer, or a snapshot. The fields below the line are guarded by the
// cloud's mu.
type image struct {
	id, key string
	base    *image
	steps   []string // of the Dockerfile
	dir     string   // of a snapshot: what the container's folder starts with
	folder  string   // of a snapshot of one directory: its contents
	config  ImageConfig
	python  string // its interpreter, where a build has installed something; see [Options].Install
	expires time.Time

	log     []string
	result  *pb.GenericResult // nil while it is built
	changed chan struct{}     // closed by the next line or the result
}

func hash(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d %s\n", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// image finds an image by ID. The caller holds mu.
func (c *Cloud) image(id string) (*image, error) {
	im, ok := c.images[id]
	if !ok || !im.expires.IsZero() && time.Now().After(im.expires) {
		return nil, notFound("Image '%s' not found", id)
	}
	return im, nil
}

// ImageGetOrCreate answers with the result where the layer is there, and without one
// where it has to be built first.
func (s *controlServer) ImageGetOrCreate(_ context.Context, r *pb.ImageGetOrCreateRequest) (*pb.ImageGetOrCreateResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	im, err := s.layer(r)
	if err != nil {
		return nil, err
	}
	if im.result != nil && im.result.GetStatus() == pb.GenericResult_GENERIC_STATUS_SUCCESS {
		return pb.ImageGetOrCreateResponse_builder{ImageId: im.id, Result: im.result, Metadata: imageMetadata(r.GetBuilderVersion())}.Build(), nil
	}
	return pb.ImageGetOrCreateResponse_builder{ImageId: im.id}.Build(), nil
}

// layer finds what is asked for, or begins to build it. The caller holds mu.
func (c *Cloud) layer(r *pb.ImageGetOrCreateRequest) (*image, error) {
	if _, ok := c.apps[r.GetAppId()]; !ok {
		return nil, notFound("App '%s' not found", r.GetAppId())
	}
	def := r.GetImage()
	if len(def.GetDockerfileCommands()) == 0 {
		return nil, invalid("the fake Modal builds images from Dockerfile commands only")
	}
	if _, err := c.variables(def.GetSecretIds(), nil); err != nil {
		return nil, err
	}
	if err := checkGPU(def.GetGpuConfig()); err != nil {
		return nil, err
	}
	im := &image{steps: def.GetDockerfileCommands(), changed: make(chan struct{})}
	parts := append([]string{r.GetBuilderVersion(), def.GetGpuConfig().GetGpuType()}, im.steps...)
	for _, b := range def.GetBaseImages() {
		base, err := c.image(b.GetImageId())
		if err != nil {
			return nil, err
		}
		if base.result.GetStatus() != pb.GenericResult_GENERIC_STATUS_SUCCESS {
			return nil, invalid("Base image '%s' is not built", base.id)
		}
		im.base = base
		parts = append(parts, b.GetDockerTag(), base.id)
	}
	im.key = hash(parts...)
	if old, ok := c.layers[im.key]; ok && !r.GetForceBuild() && !r.GetIgnoreCache() && !old.failed() {
		return old, nil
	}
	im.config = c.configOf(im)
	im.id = newID("im")
	c.images[im.id], c.layers[im.key] = im, im
	c.work.Add(1)
	go c.build(im)
	return im, nil
}

func (im *image) failed() bool {
	return im.result != nil && im.result.GetStatus() != pb.GenericResult_GENERIC_STATUS_SUCCESS
}

func imageMetadata(builder string) *pb.ImageMetadata {
	python, libc := "3.12", "glibc 2.41"
	return pb.ImageMetadata_builder{PythonVersionInfo: &python, LibcVersionInfo: &libc, ImageBuilderVersion: &builder}.Build()
}

// ImageJoinStreaming follows a build until its result or the timeout.
func (s *controlServer) ImageJoinStreaming(r *pb.ImageJoinStreamingRequest, stream grpc.ServerStreamingServer[pb.ImageJoinStreamingResponse]) error {
	s.mu.Lock()
	im, err := s.image(r.GetImageId())
	s.mu.Unlock()
	if err != nil {
		return err
	}
	next := 0
	if text, _, ok := strings.Cut(r.GetLastEntryId(), "-"); ok {
		next, _ = strconv.Atoi(text) // another ID starts again
	}
	ctx, cancel := context.WithTimeout(stream.Context(), seconds(r.GetTimeout()))
	defer cancel()
	first := true
	for {
		s.mu.Lock()
		next = min(max(next, 0), len(im.log))
		lines, result, changed := im.log[next:], im.result, im.changed
		s.mu.Unlock()
		if first && result != nil && !r.GetIncludeLogsForFinished() && r.GetLastEntryId() == "" {
			lines = nil
		}
		first = false
		for _, line := range lines {
			next++
			if err := stream.Send(logEntry(line, next)); err != nil {
				return err
			}
		}
		if result != nil {
			return stream.Send(pb.ImageJoinStreamingResponse_builder{Result: result, Eof: true, Metadata: imageMetadata(builderVersion)}.Build())
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return stream.Context().Err()
		}
	}
}

func logEntry(line string, n int) *pb.ImageJoinStreamingResponse {
	now := time.Now()
	return pb.ImageJoinStreamingResponse_builder{
		EntryId: fmt.Sprintf("%d-0", n),
		TaskLogs: []*pb.TaskLogs{pb.TaskLogs_builder{
			Data: line, FileDescriptor: pb.FileDescriptor_FILE_DESCRIPTOR_STDOUT,
			Timestamp: float64(now.UnixNano()) / 1e9, TimestampNs: uint64(now.UnixNano()),
		}.Build()},
	}.Build()
}

func seconds(f float32) time.Duration { return time.Duration(float64(f) * float64(time.Second)) }

// ImageFromId checks that there is such an image.
func (s *controlServer) ImageFromId(_ context.Context, r *pb.ImageFromIdRequest) (*pb.ImageFromIdResponse, error) { //nolint:revive // the interface's name
	return among(s.Cloud, s.image, r.GetImageId(), func(im *image) (*pb.ImageFromIdResponse, error) {
		return pb.ImageFromIdResponse_builder{ImageId: im.id, Metadata: imageMetadata(builderVersion)}.Build(), nil
	})
}

// ImageDelete forgets an image; sandboxes that run from it go on.
func (s *controlServer) ImageDelete(_ context.Context, r *pb.ImageDeleteRequest) (*emptypb.Empty, error) {
	return among(s.Cloud, s.image, r.GetImageId(), func(im *image) (*emptypb.Empty, error) {
		delete(s.images, im.id)
		if s.layers[im.key] == im {
			delete(s.layers, im.key)
		}
		return &emptypb.Empty{}, nil
	})
}

// ImagePublish gives an image a name.
func (s *controlServer) ImagePublish(_ context.Context, r *pb.ImagePublishRequest) (*pb.ImagePublishResponse, error) {
	return among(s.Cloud, s.image, r.GetImageId(), func(im *image) (*pb.ImagePublishResponse, error) {
		s.tags[r.GetEnvironmentName()+"/"+r.GetTag()] = im.id
		return pb.ImagePublishResponse_builder{ImageId: im.id, RevisionId: newID("ir")}.Build(), nil
	})
}

// ImageGetByTag finds an image by its name.
func (s *controlServer) ImageGetByTag(_ context.Context, r *pb.ImageGetByTagRequest) (*pb.ImageGetByTagResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	im, err := s.image(s.tags[r.GetEnvironmentName()+"/"+r.GetTag()])
	if err != nil {
		return nil, notFound("Image '%s' not found", r.GetTag())
	}
	return pb.ImageGetByTagResponse_builder{ImageId: im.id}.Build(), nil
}

// configOf is what a layer inherits, and what its own steps add.
func (c *Cloud) configOf(im *image) ImageConfig {
	config := ImageConfig{Env: map[string]string{}}
	inherit := func(from ImageConfig) {
		maps.Copy(config.Env, from.Env)
		config.Workdir = from.Workdir
	}
	for _, step := range im.steps {
		verb, rest, _ := strings.Cut(strings.TrimSpace(step), " ")
		rest = strings.TrimSpace(rest)
		switch strings.ToUpper(verb) {
		case "FROM":
			if rest == "base" && im.base != nil {
				inherit(im.base.config)
			} else if from, ok := c.opts.Images(imageName(rest)); ok {
				inherit(from)
			}
		case "ENV":
			if name, value, ok := strings.Cut(rest, "="); ok {
				config.Env[name] = strings.Trim(value, `"`)
			}
		case "WORKDIR":
			if !path.IsAbs(rest) {
				rest = path.Join("/", config.Workdir, rest)
			}
			config.Workdir = rest
		}
	}
	return config
}

// imageName is the image of a FROM, without a platform or a name for the stage.
func imageName(from string) string {
	name, _, _ := strings.Cut(strings.TrimSpace(strings.TrimPrefix(from, "--platform=linux/amd64")), " ")
	return name
}
