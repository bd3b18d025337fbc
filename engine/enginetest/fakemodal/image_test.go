package fakemodal_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	modal "github.com/modal-labs/modal-client/go"
	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seer-engine/seer/engine/enginetest/fakemodal"
)

func TestBuild(t *testing.T) {
	cloud, client := begin(t, fakemodal.Options{})
	app := newApp(t, client)
	image := client.Images.FromRegistry("python:3.12-slim", nil).DockerfileCommands([]string{"RUN pip install numpy"}, nil)
	built, err := image.Build(t.Context(), app, nil)
	if err != nil {
		t.Fatal(err)
	}
	again, err := client.Images.FromRegistry("python:3.12-slim", nil).DockerfileCommands([]string{"RUN pip install numpy"}, nil).Build(t.Context(), app, nil)
	if err != nil || again.ImageID != built.ImageID {
		t.Errorf("the second build is %v, not %v: %v", again, built, err)
	}
	if n := builds(cloud); n != 2 {
		t.Errorf("%d layers were built", n)
	}
	other, err := client.Images.FromRegistry("python:3.12-slim", nil).
		DockerfileCommands([]string{"RUN pip install numpy"}, &modal.ImageDockerfileCommandsParams{ForceBuild: true}).Build(t.Context(), app, nil)
	if err != nil || other.ImageID == built.ImageID {
		t.Errorf("a forced build is %v: %v", other, err)
	}
	if _, err := client.Images.FromID(t.Context(), built.ImageID, nil); err != nil {
		t.Error(err)
	}
	if err := client.Images.Delete(t.Context(), built.ImageID, nil); err != nil {
		t.Error(err)
	}
	if _, err := client.Images.FromID(t.Context(), built.ImageID, nil); !errors.As(err, new(modal.NotFoundError)) {
		t.Errorf("a deleted image: %v", err)
	}
}

func builds(cloud *fakemodal.Cloud) (n int) {
	for _, e := range cloud.Events() {
		if e.Kind == "build" {
			n++
		}
	}
	return n
}

func TestPublish(t *testing.T) {
	_, client := begin(t, fakemodal.Options{})
	image, err := client.Images.FromRegistry("debian", nil).Build(t.Context(), newApp(t, client), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := image.Publish(t.Context(), "mine:v1", nil); err != nil {
		t.Fatal(err)
	}
	found, err := client.Images.FromName(t.Context(), "mine:v1", nil)
	if err != nil || found.ImageID != image.ImageID {
		t.Errorf("%v: %v", found, err)
	}
	if _, err := client.Images.FromName(t.Context(), "other", nil); !errors.As(err, new(modal.NotFoundError)) {
		t.Errorf("an unknown name: %v", err)
	}
}

func TestBuildsThatFail(t *testing.T) {
	cloud, client := begin(t, fakemodal.Options{})
	app := newApp(t, client)
	build := func(from string, commands ...string) error {
		_, err := client.Images.FromRegistry(from, nil).DockerfileCommands(commands, nil).Build(t.Context(), app, nil)
		return err
	}
	for _, c := range []struct{ from, command, want string }{
		{"no-such-image:1", "RUN true", `failed to pull image "no-such-image:1"`},
		{"debian", "RUN python -m pip install numpy no-such-package==1.2", "no-such-package==1.2' returned a non-zero code: 1"},
		{"debian", "RUN uv pip install no-such-package", "non-zero code: 1"},
		{"debian", "RUN apt-get update && apt-get install -y no-such-package", "non-zero code: 100"},
		{"debian", "RUN no-such-command --all", "non-zero code: 127"},
		{"debian", "RUN echo begin; exit 3", "non-zero code: 3"},
		{"debian", "RUN false", "non-zero code: 1"},
		{"debian", "RUM true", "unknown instruction: RUM"},
	} {
		if err := build(c.from, c.command); !errors.As(err, new(modal.RemoteError)) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %s: %v", c.from, c.command, err)
		}
	}
	if err := cloud.SetFaults(fakemodal.Faults{Build: "disk full"}); err != nil {
		t.Fatal(err)
	}
	if err := build("debian", "RUN echo fault"); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("fault: %v", err)
	}
	if err := cloud.SetFaults(fakemodal.Faults{}); err != nil {
		t.Fatal(err)
	}
	if err := build("debian", "RUN echo fault"); err != nil {
		t.Errorf("the same layer again: %v", err)
	}
}

// join reads a build's log from an entry on; it gives up after so many.
func join(t *testing.T, api pb.ModalClientClient, image, last string, most int) (lines []string, entry string, result *pb.GenericResult) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream, err := api.ImageJoinStreaming(ctx, pb.ImageJoinStreamingRequest_builder{ImageId: image, Timeout: 55, LastEntryId: last}.Build())
	if err != nil {
		t.Fatal(err)
	}
	entry = last
	for len(lines) < most {
		m, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if m.GetEntryId() != "" {
			entry = m.GetEntryId()
		}
		for _, l := range m.GetTaskLogs() {
			lines = append(lines, l.GetData())
		}
		if m.HasResult() {
			return lines, entry, m.GetResult()
		}
	}
	return lines, entry, nil
}

func TestBuildLogCanBeResumed(t *testing.T) {
	cloud, client := begin(t, fakemodal.Options{Pace: 10 * time.Millisecond})
	api, app := api(t, cloud), newApp(t, client)
	req := pb.ImageGetOrCreateRequest_builder{AppId: app.AppID, Image: pb.Image_builder{
		DockerfileCommands: []string{"FROM debian", "RUN pip install numpy no-such-a"}}.Build()}.Build()
	answer, err := api.ImageGetOrCreate(t.Context(), req)
	if err != nil || answer.HasResult() {
		t.Fatalf("%v: %v", answer, err)
	}
	first, entry, result := join(t, api, answer.GetImageId(), "", 3)
	if result != nil {
		t.Fatalf("it has ended after %q", first)
	}
	rest, _, result := join(t, api, answer.GetImageId(), entry, 1000)
	if result.GetStatus() != pb.GenericResult_GENERIC_STATUS_FAILURE {
		t.Errorf("result %v", result)
	}
	all := slices.Concat(first, rest)
	if !strings.HasPrefix(all[0], "Building image "+answer.GetImageId()) || !slices.Contains(all, "Collecting numpy\n") ||
		!slices.Contains(all, "ERROR: No matching distribution found for no-such-a\n") {
		t.Errorf("log %q", all)
	}
	for i, line := range all {
		if slices.Contains(all[i+1:], line) {
			t.Errorf("line %q comes twice", line)
		}
	}
	lines, _, result := join(t, api, answer.GetImageId(), "", 1000)
	if len(lines) != 0 || result == nil {
		t.Errorf("of an ended build: %q %v", lines, result)
	}
}

func TestImagesThatCannotBe(t *testing.T) {
	cloud, client := begin(t, fakemodal.Options{})
	api, app := api(t, cloud), newApp(t, client)
	for _, c := range []struct {
		req  *pb.ImageGetOrCreateRequest
		want codes.Code
	}{
		{pb.ImageGetOrCreateRequest_builder{AppId: "ap-none", Image: pb.Image_builder{DockerfileCommands: []string{"FROM a"}}.Build()}.Build(), codes.NotFound},
		{pb.ImageGetOrCreateRequest_builder{AppId: app.AppID}.Build(), codes.InvalidArgument},
		{pb.ImageGetOrCreateRequest_builder{AppId: app.AppID, Image: pb.Image_builder{DockerfileCommands: []string{"FROM base"},
			BaseImages: []*pb.BaseImage{pb.BaseImage_builder{DockerTag: "base", ImageId: "im-none"}.Build()}}.Build()}.Build(), codes.NotFound},
		{pb.ImageGetOrCreateRequest_builder{AppId: app.AppID, Image: pb.Image_builder{DockerfileCommands: []string{"FROM a"},
			SecretIds: []string{"st-none"}}.Build()}.Build(), codes.NotFound},
	} {
		if _, err := api.ImageGetOrCreate(t.Context(), c.req); status.Code(err) != c.want {
			t.Errorf("%v: %v", c.req, err)
		}
	}
}
