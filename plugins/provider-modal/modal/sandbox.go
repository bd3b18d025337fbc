package modal

import (
	"context"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seer-engine/seer/sdk"
)

// askSandbox asks for the machine. Its name is its key, so that Modal itself refuses
// a second one; what is there already is taken. The machine may still wait for its
// place: Observe tells.
func (c *creation) askSandbox(ctx context.Context) (sdk.CreateStep, error) {
	life, err := c.life(c.now())
	if err != nil {
		return sdk.CreateStep{}, err
	}
	definition := c.definition(c.at.Image, c.at.Volumes, life)
	tags := c.tags(c.hourly(ctx))
	create := c.createV1
	if c.backend(c.settings) == 2 {
		create = c.createV2
	}
	id, err := create(ctx, definition, tags)
	if status.Code(err) == codes.AlreadyExists {
		id, err = c.adopt(ctx)
	}
	if err != nil {
		return sdk.CreateStep{}, fault(ctx, "renting the machine", err)
	}
	return sdk.CreateStep{Handle: id}, nil
}

// hourly is what the machine costs. A price that cannot be had now is no reason not
// to rent: the user has seen it in the offer.
func (c *creation) hourly(ctx context.Context) float64 {
	list, err := c.priceList(ctx)
	if err != nil {
		list, _ = builtIn()
	}
	var hour float64
	if c.gpu != nil {
		hour = c.gpu.Hour
		for _, k := range list.GPUs {
			if k.Name == c.gpu.Name {
				hour = k.Hour
			}
		}
	}
	return list.machine(hour, c.count, c.CPU, c.MemoryGB, c.Regions)
}

func (c *creation) createV2(ctx context.Context, definition *pb.Sandbox, tags []*pb.SandboxTag) (string, error) {
	request := pb.SandboxCreateV2Request_builder{AppId: c.at.App, Definition: definition, Tags: tags}
	if len(c.Env) > 0 {
		request.SecretSources = []*pb.SecretSource{
			pb.SecretSource_builder{Env: pb.StringMap_builder{Contents: c.Env}.Build()}.Build(),
		}
	}
	answer, err := c.api.SandboxCreateV2(ctx, request.Build())
	return answer.GetSandboxId(), err
}

func (c *creation) createV1(ctx context.Context, definition *pb.Sandbox, tags []*pb.SandboxTag) (string, error) {
	if len(c.Env) > 0 { // this back end takes an environment only as a secret of Modal's
		secret, err := c.api.SecretGetOrCreate(ctx, pb.SecretGetOrCreateRequest_builder{
			ObjectCreationType: pb.ObjectCreationType_OBJECT_CREATION_TYPE_EPHEMERAL,
			EnvDict:            c.Env, EnvironmentName: c.environment,
		}.Build())
		if err != nil {
			return "", err
		}
		definition.SetSecretIds([]string{secret.GetSecretId()})
	}
	answer, err := c.api.SandboxCreate(ctx, pb.SandboxCreateRequest_builder{
		AppId: c.at.App, Definition: definition, Tags: tags,
	}.Build())
	return answer.GetSandboxId(), err
}

// adopt finds the sandbox that has our name. It is ours if it says so: an answer was
// lost on the way.
func (c *creation) adopt(ctx context.Context) (string, error) {
	request := pb.SandboxGetFromNameRequest_builder{
		SandboxName: c.name, AppName: c.App, EnvironmentName: c.environment,
	}.Build()
	find := c.api.SandboxGetFromName
	if c.backend(c.settings) == 2 {
		find = c.api.SandboxGetFromNameV2
	}
	answer, err := find(ctx, request)
	if status.Code(err) == codes.NotFound {
		return "", sdk.Errorf(sdk.Unavailable, "the machine %s ended while it was looked for", c.name)
	}
	if err != nil {
		return "", err
	}
	tags, err := c.tagsOf(ctx, answer.GetSandboxId())
	if err != nil {
		return "", err
	}
	if tags[tagKey] != tag(c.Key) || tags[tagOwner] != tag(c.Owner) {
		return "", sdk.Errorf(sdk.Invalid, "the app %s already has a sandbox %s, which is not ours; choose another app in provider_options", c.App, c.name)
	}
	return answer.GetSandboxId(), nil
}
