package modal

import (
	"context"
	"math"
	"slices"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"golang.org/x/sync/errgroup"

	"github.com/seer-engine/seer/sdk"
)

const listPages = 200 // more is a server that never comes to an end

// List implements [sdk.Provider]. One question covers both back ends, but not several
// apps: Modal gives up lists that name none.
func (p *Provider) List(ctx context.Context, owner string) ([]sdk.Listed, error) {
	s, err := p.open()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	apps, err := s.apps(ctx)
	if err != nil {
		return nil, err
	}
	found := make([][]sdk.Listed, len(apps))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i, app := range apps {
		group.Go(func() (err error) {
			found[i], err = s.listApp(ctx, app, owner)
			return err
		})
	}
	err = group.Wait()
	return slices.Concat(found...), err
}

// apps are those of the environment that may have a machine: any of them, as a user may
// name any in provider_options.
func (s *session) apps(ctx context.Context) ([]string, error) {
	answer, err := s.api.AppList(ctx, pb.AppListRequest_builder{EnvironmentName: s.environment}.Build())
	if err != nil {
		return nil, fault(ctx, "asking Modal for the apps", err)
	}
	var ids []string
	for _, app := range answer.GetApps() {
		if app.GetState() != pb.AppState_APP_STATE_STOPPED {
			ids = append(ids, app.GetAppId())
		}
	}
	return ids, nil
}

// listApp follows the pages of one app's list.
func (s *session) listApp(ctx context.Context, app, owner string) ([]sdk.Listed, error) {
	request := pb.SandboxListRequest_builder{
		AppId: app, EnvironmentName: s.environment,
		Tags: tagList(map[string]string{tagOwner: tag(owner)}),
	}.Build()
	var out []sdk.Listed
	seen := map[string]bool{}
	for range listPages {
		answer, err := s.api.SandboxListV2(ctx, request)
		if err = fault(ctx, "listing machines", err); sdk.CodeOf(err) == sdk.NotFound {
			return out, nil // the app has been stopped since
		}
		if err != nil {
			return nil, err
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
