package modal

import (
	"context"
	"math"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"

	"github.com/seer-engine/seer/sdk"
)

const listPages = 200 // more is a server that never comes to an end

// List implements [sdk.Provider]. One question covers both back ends and all apps of
// the environment.
func (p *Provider) List(ctx context.Context, owner string) ([]sdk.Listed, error) {
	s, err := p.open()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	request := pb.SandboxListRequest_builder{
		EnvironmentName: s.environment,
		Tags:            tagList(map[string]string{tagOwner: tag(owner)}),
	}.Build()
	var out []sdk.Listed
	seen := map[string]bool{}
	for range listPages {
		answer, err := s.api.SandboxListV2(ctx, request)
		if err != nil {
			return nil, fault(ctx, "listing machines", err)
		}
		page := answer.GetSandboxes()
		fresh := 0
		for _, info := range page {
			if seen[info.GetId()] {
				continue
			}
			seen[info.GetId()] = true
			fresh++
			if l, ok := listed(info, owner); ok {
				out = append(out, l)
			}
		}
		if fresh == 0 {
			return out, nil
		}
		// Two may have been made at the same moment: ask for that moment again.
		request.SetBeforeTimestamp(math.Nextafter(page[len(page)-1].GetCreatedAt(), math.Inf(1)))
	}
	return nil, sdk.Errorf(sdk.Internal, "listing machines: Modal's list did not end after %d pages", listPages)
}

func listed(info *pb.SandboxInfo, owner string) (sdk.Listed, bool) {
	tags := tagMap(info.GetTags())
	if tags[tagOwner] != tag(owner) {
		return sdk.Listed{}, false
	}
	state := sdk.Pending
	task := info.GetTaskInfo()
	switch {
	case task.GetFinishedAt() > 0:
		state = sdk.Stopped
	case task.GetStartedAt() > 0 || !isV1(info.GetId()):
		state = sdk.Running
	}
	return sdk.Listed{Handle: info.GetId(), Key: tags[tagKey], Owner: owner, State: state, EndUnix: endOf(tags)}, true
}
