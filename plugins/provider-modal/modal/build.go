package modal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"

	"github.com/seer-engine/seer/sdk"
)

const (
	listenTime = 2 * time.Second // that the server may keep us waiting for a log
	listenMax  = 6 * time.Second // for the whole of it
	logMax     = 512 << 10       // bytes of a log in one call
	buildTries = 3               // of a build that Modal gave up
)

// askImage asks for the layer at hand. Modal has it, is building it, or begins to.
func (c *creation) askImage(ctx context.Context) (sdk.CreateStep, error) {
	if err := c.findBuilder(ctx); err != nil {
		return sdk.CreateStep{}, err
	}
	l := c.layers[c.at.Layer]
	image := pb.Image_builder{DockerfileCommands: l.instructions()}
	if l.from == "" {
		image.BaseImages = []*pb.BaseImage{pb.BaseImage_builder{DockerTag: "base", ImageId: c.at.Image}.Build()}
	}
	answer, err := c.api.ImageGetOrCreate(ctx, pb.ImageGetOrCreateRequest_builder{
		AppId: c.at.App, BuilderVersion: c.at.Builder, Image: image.Build(),
	}.Build())
	if err != nil {
		return sdk.CreateStep{}, fault(ctx, "asking Modal for the image "+l.String(), err)
	}
	c.at.Build, c.at.Entry, c.at.Rest = answer.GetImageId(), "", ""
	if answer.GetResult().GetStatus() == pb.GenericResult_GENERIC_STATUS_SUCCESS {
		return c.built()
	}
	// A build that has failed before has a log, too.
	return c.next(stepBuild, 0, fmt.Sprintf("building image layer %d of %d: %s", c.at.Layer+1, len(c.layers), l))
}

func (c *creation) findBuilder(ctx context.Context) error {
	if c.at.Builder != "" {
		return nil
	}
	if c.at.Builder = c.builder; c.at.Builder != "" {
		return nil
	}
	version, err := c.environmentBuilder(ctx)
	c.at.Builder = version
	return err
}

// built goes on to the next layer.
func (c *creation) built(log ...string) (sdk.CreateStep, error) {
	c.at.Image, c.at.Build, c.at.Entry, c.at.Rest, c.at.Tries = c.at.Build, "", "", "", 0
	if c.at.Layer++; c.at.Layer < len(c.layers) {
		return c.next(stepImage, 0, log...)
	}
	return c.next(stepSandbox, 0, log...)
}

// listen reads the log of a build for a while.
func (c *creation) listen(ctx context.Context) (sdk.CreateStep, error) {
	log := &buildLog{rest: c.at.Rest}
	result, err := c.read(ctx, log)
	switch {
	case err != nil && len(log.lines) == 0:
		return sdk.CreateStep{}, fault(ctx, "following the build of "+c.layers[c.at.Layer].String(), err)
	case result == nil: // also after an error: what was read is told, and asked for no more
		c.at.Rest = log.rest
		return c.next(stepBuild, 0.2, log.lines...)
	}
	log.flush()
	return c.ended(result, log.lines)
}

// read takes pieces of the log until the build ends, or it has been long enough.
func (c *creation) read(ctx context.Context, log *buildLog) (*pb.GenericResult, error) {
	ctx, cancel := context.WithTimeout(ctx, listenMax)
	defer cancel()
	stream, err := c.api.ImageJoinStreaming(ctx, pb.ImageJoinStreamingRequest_builder{
		ImageId: c.at.Build, Timeout: float32(listenTime.Seconds()), LastEntryId: c.at.Entry,
		IncludeLogsForFinished: true, // a build may end between two calls
	}.Build())
	if err != nil {
		return nil, err
	}
	for size := 0; size < logMax; {
		piece, err := stream.Recv()
		if errors.Is(err, io.EOF) || errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return nil, nil // a build that says nothing is not one that fails
		}
		if err != nil {
			return nil, err
		}
		for _, entry := range piece.GetTaskLogs() {
			log.add(entry.GetData())
			size += len(entry.GetData())
		}
		if id := piece.GetEntryId(); id != "" {
			c.at.Entry = id
		}
		if result := piece.GetResult(); result.GetStatus() != pb.GenericResult_GENERIC_STATUS_UNSPECIFIED {
			return result, nil
		}
	}
	return nil, nil
}

// ended says what came of a build.
func (c *creation) ended(result *pb.GenericResult, log []string) (sdk.CreateStep, error) {
	what := c.layers[c.at.Layer].String()
	why := tidy(result.GetException())
	if why == "" {
		why = "Modal gives no reason"
	}
	switch result.GetStatus() {
	case pb.GenericResult_GENERIC_STATUS_SUCCESS:
		return c.built(log...)
	case pb.GenericResult_GENERIC_STATUS_FAILURE:
		return c.fail(sdk.Errorf(sdk.Invalid, "the image could not be built: %s: %s; the lines above say more", what, why), log)
	case pb.GenericResult_GENERIC_STATUS_TIMEOUT:
		return c.fail(sdk.Errorf(sdk.Invalid, "the image was not built in the time that Modal allows: %s: %s; take less into the image", what, why), log)
	default: // the builder's own matter
		if c.at.Tries++; c.at.Tries >= buildTries {
			return c.fail(sdk.Errorf(sdk.Internal, "Modal gave up building the image %d times: %s: %s", c.at.Tries, what, why), log)
		}
		return c.next(stepImage, 2, append(log, "Modal gave up building the image and is asked again: "+why)...)
	}
}
