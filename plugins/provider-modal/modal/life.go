package modal

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"golang.org/x/sync/errgroup"

	"github.com/seer-engine/seer/sdk"
)

// Modal tells by an id which of its back ends has a sandbox.
var v1ID = regexp.MustCompile(`^sb-[0-9A-Za-z]{22}$`)

func isV1(id string) bool      { return v1ID.MatchString(id) }
func isSandbox(id string) bool { return strings.HasPrefix(id, "sb-") }

// What is asked at once.
const atOnce = 8

// Observe implements [sdk.Provider].
func (p *Provider) Observe(ctx context.Context, handles []string) ([]sdk.Observation, error) {
	if len(handles) == 0 {
		return nil, nil
	}
	s, err := p.open()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	out := make([]sdk.Observation, len(handles))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i, handle := range handles {
		group.Go(func() (err error) {
			out[i], err = s.observe(ctx, handle)
			return err
		})
	}
	return out, group.Wait()
}

func (s *session) observe(ctx context.Context, handle string) (sdk.Observation, error) {
	o := sdk.Observation{Handle: handle, State: sdk.Stopped, Message: "Modal does not know it"}
	if !isSandbox(handle) {
		return o, nil
	}
	for last := false; ; last = true {
		result, err := s.result(ctx, handle)
		switch {
		case err != nil && gone(err):
			return o, nil
		case err != nil:
			return o, err
		case result.GetStatus() != pb.GenericResult_GENERIC_STATUS_UNSPECIFIED:
			s.known.forget(handle)
			o.State, o.Message = endState(result)
			if o.State == sdk.Failed && saysCapacity.MatchString(o.Message) {
				o.Code = sdk.NoCapacity // it was given up in the queue
			}
			return o, nil
		}
		living, err := s.living(ctx, handle)
		if err == nil || last || !gone(err) {
			return living, err
		} // it has ended between two questions
	}
}

// result is what a sandbox came to; its status is unspecified while it lives.
func (s *session) result(ctx context.Context, handle string) (*pb.GenericResult, error) {
	request := pb.SandboxWaitRequest_builder{SandboxId: handle}.Build()
	wait := s.api.SandboxWaitV2
	if isV1(handle) {
		wait = s.api.SandboxWait
	}
	answer, err := wait(ctx, request)
	return answer.GetResult(), fault(ctx, "asking for the state of "+handle, err)
}

// endState is the state of a sandbox that has ended, and why.
func endState(r *pb.GenericResult) (sdk.State, string) {
	why := tidy(r.GetException())
	switch r.GetStatus() {
	case pb.GenericResult_GENERIC_STATUS_SUCCESS, pb.GenericResult_GENERIC_STATUS_FAILURE:
		if r.GetExitcode() == 0 && r.GetStatus() == pb.GenericResult_GENERIC_STATUS_SUCCESS {
			return sdk.Stopped, "its program has ended"
		}
		return sdk.Failed, fmt.Sprintf("its program ended with exit code %d%s", r.GetExitcode(), because(why))
	case pb.GenericResult_GENERIC_STATUS_TIMEOUT:
		return sdk.Stopped, "its time was over"
	case pb.GenericResult_GENERIC_STATUS_IDLE_TIMEOUT:
		return sdk.Stopped, "Modal ended it because it was idle"
	case pb.GenericResult_GENERIC_STATUS_TERMINATED:
		return sdk.Stopped, "it was terminated" + because(why)
	default:
		return sdk.Failed, "Modal could not run it" + because(why)
	}
}

// living is the observation of a sandbox that has not ended.
func (s *session) living(ctx context.Context, handle string) (sdk.Observation, error) {
	if o, ok := s.known.get(handle); ok {
		return o, nil
	}
	o := sdk.Observation{Handle: handle, State: sdk.Starting}
	if isV1(handle) { // the other back end queues nothing
		answer, err := s.api.SandboxGetTaskId(ctx, pb.SandboxGetTaskIdRequest_builder{SandboxId: handle}.Build())
		if err != nil {
			return o, fault(ctx, "asking whether "+handle+" has a place", err)
		}
		if answer.GetTaskId() == "" {
			o.State, o.Message = sdk.Pending, "Modal has no free machine of this kind yet"
			return o, nil
		}
	}
	var err error
	var failure string
	if o.Endpoints, failure, err = s.endpoints(ctx, handle); failure != "" {
		o.State, o.Message = sdk.Failed, "Modal could not make its tunnels: "+failure
		return o, nil
	}
	if err != nil || len(o.Endpoints) == 0 {
		return o, err
	}
	o.State = sdk.Running
	tags, err := s.tagsOf(ctx, handle)
	o.CostPerHour = costOf(tags)
	if err == nil {
		s.known.put(o)
	}
	return o, nil // a machine that runs is no fault for its price
}

// endpoints are a machine's tunnels; none while they are made, and a failure where they
// never will be.
func (s *session) endpoints(ctx context.Context, handle string) (out []sdk.Endpoint, failure string, err error) {
	request := pb.SandboxGetTunnelsRequest_builder{SandboxId: handle, Timeout: tunnelSeconds}.Build()
	ask := s.api.SandboxGetTunnelsV2
	if isV1(handle) {
		ask = s.api.SandboxGetTunnels
	}
	answer, err := ask(ctx, request)
	if err != nil {
		return nil, "", fault(ctx, "asking for the tunnels of "+handle, err)
	}
	switch result := answer.GetResult(); result.GetStatus() {
	case pb.GenericResult_GENERIC_STATUS_UNSPECIFIED, pb.GenericResult_GENERIC_STATUS_SUCCESS, pb.GenericResult_GENERIC_STATUS_TIMEOUT:
	default:
		return nil, cmp.Or(tidy(result.GetException()), "it gives no reason"), nil
	}
	for _, t := range answer.GetTunnels() {
		out = append(out, sdk.Endpoint{Port: int(t.GetContainerPort()), URL: s.tunnelURL(t)})
	}
	return out, "", nil
}

const tunnelSeconds = 0.5 // that the server may keep us waiting for tunnels

func (s *session) tunnelURL(t *pb.TunnelData) string {
	port := t.GetPort()
	if port == 0 || port == 443 && s.scheme() == "https" {
		return s.scheme() + "://" + t.GetHost()
	}
	return fmt.Sprintf("%s://%s:%d", s.scheme(), t.GetHost(), port)
}

// tagsOf are the tags of a sandbox.
func (s *session) tagsOf(ctx context.Context, handle string) (map[string]string, error) {
	box, err := s.sdk.Sandboxes.FromID(ctx, handle, nil) // asks nobody
	if err != nil {
		return nil, err
	}
	tags, err := box.GetTags(ctx, nil)
	return tags, fault(ctx, "asking for the tags of "+handle, err)
}

// Terminate implements [sdk.Provider].
func (p *Provider) Terminate(ctx context.Context, handle string) error {
	if !isSandbox(handle) {
		return nil
	}
	s, err := p.open()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	s.known.forget(handle)
	box, err := s.sdk.Sandboxes.FromID(ctx, handle, nil)
	if err == nil {
		_, err = box.Terminate(ctx, nil)
	}
	err = fault(ctx, "terminating "+handle, err)
	switch sdk.CodeOf(err) {
	case sdk.NotFound:
		return nil
	case sdk.Invalid: // it has ended, or the refusal is another
		if o, lost := s.observe(ctx, handle); lost == nil && !o.State.Live() {
			return nil
		}
	}
	return err
}

// memory keeps what does not change while a machine runs, so that observing it is
// one question.
type memory struct {
	mu  sync.Mutex
	all map[string]sdk.Observation
}

const memoryMax = 256

func (m *memory) get(handle string) (sdk.Observation, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	o, ok := m.all[handle]
	return o, ok
}

func (m *memory) put(o sdk.Observation) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.all == nil || len(m.all) >= memoryMax {
		m.all = map[string]sdk.Observation{}
	}
	m.all[o.Handle] = o
}

func (m *memory) forget(handle string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.all, handle)
}
