package plugintest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/sdk"
)

// scenarios plays each scenario to the provider, which has a host of its own for it.
func (r *run) scenarios(ctx context.Context) {
	for _, s := range r.config.Scenarios {
		check := "scenario/" + s.Name
		if why, skip := r.config.skipped(check); skip {
			r.skip(check, why)
			continue
		}
		if ctx.Err() != nil {
			r.skip(check, "the kit was stopped")
			continue
		}
		start := time.Now()
		wrong, err := r.play(ctx, s)
		if err != nil {
			wrong = append(wrong, err.Error())
		}
		r.add(check, start, strings.Join(wrong, "; "), nil)
	}
}

// play is one scenario. It stops at the first step that goes wrong: those after it would only
// show the consequences.
func (r *run) play(ctx context.Context, s Scenario) ([]string, error) {
	config := r.config
	config.Settings = maps.Clone(r.config.Settings)
	if config.Settings == nil {
		config.Settings = map[string]string{}
	}
	maps.Copy(config.Settings, s.Settings)
	env, err := config.values(r.plugin.Manifest, "", r.secrets)
	if err != nil {
		return nil, err
	}
	p := &pretended{s: s, given: map[string]int{}}
	h, err := r.hostWith(func(name string) (string, string, bool) { value, ok := env[name]; return value, ConfigFile, ok }, func(o *host.Options) {
		o.SSH, o.SSHHosts, o.Kube, o.KubeContexts = p, p, clusters{p}, usedContexts{p}
	})
	if err != nil {
		return nil, err
	}
	defer h.Close(context.WithoutCancel(ctx))
	provider, err := h.Provider(ctx, r.name())
	if err != nil {
		return nil, err
	}
	for i, step := range s.Steps {
		for range max(step.Times, 1) {
			if wrong := step.make(ctx, provider); wrong != "" {
				return append([]string{fmt.Sprintf("steps.%d (%s): %s", i, step.Call, wrong)}, p.unanswered()...), nil
			}
		}
	}
	return p.mistakes(), nil
}

// unanswered are what was asked in vain, which mostly is why a step goes wrong.
func (p *pretended) unanswered() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []string
	for _, what := range p.wrong {
		out = append(out, "no entry answers "+what)
	}
	return out
}

// make makes the call of a step, and says what is wrong with what comes of it.
func (s Step) make(ctx context.Context, p sdk.Provider) string {
	got, err := s.call(ctx, p)
	switch {
	case err != nil && s.Error == nil:
		return "it failed: " + err.Error()
	case err != nil:
		if sdk.CodeOf(err) != s.Error.Code || !fits(orAny(s.Error.Message), err.Error()) {
			return fmt.Sprintf("the error is %s: %q; wanted is %s: %q", sdk.CodeOf(err), err, s.Error.Code, orAny(s.Error.Message))
		}
		return ""
	case s.Error != nil:
		return fmt.Sprintf("it gave %s; wanted is the error %s", inWords(got), s.Error.Code)
	case s.Want == nil:
		return ""
	}
	want, err := plainJSON(s.Want)
	if err != nil {
		return err.Error()
	}
	have, err := plainJSON(got)
	if err != nil {
		return err.Error()
	}
	return differs(want, have, "the result")
}

// call makes the call. Its input is as the contract says.
func (s Step) call(ctx context.Context, p sdk.Provider) (any, error) {
	switch s.Call {
	case "describe":
		return p.Describe(ctx)
	case "offers":
		return ask(s, func(q sdk.OfferQuery) (any, error) { return p.Offers(ctx, q) })
	case "create":
		return ask(s, func(in sdk.CreateInput) (any, error) { return create(ctx, p, in) })
	case "observe":
		return ask(s, func(in sdk.ObserveInput) (any, error) { return p.Observe(ctx, in.Handles) })
	case "list":
		return ask(s, func(in sdk.ListInput) (any, error) { return p.List(ctx, in.Owner) })
	case "terminate":
		return ask(s, func(in sdk.TerminateInput) (any, error) { return struct{}{}, p.Terminate(ctx, in.Handle) })
	case "route":
		router, ok := p.(sdk.Router)
		if !ok {
			return nil, sdk.Errorf(sdk.Unsupported, "the provider has no routes")
		}
		return ask(s, func(in sdk.RouteInput) (any, error) { return router.Route(ctx, in.Handle, in.Port) })
	default:
		return nil, fmt.Errorf("there is no call %q", s.Call)
	}
}

// ask gives a call its input.
func ask[In any](s Step, call func(In) (any, error)) (any, error) {
	var in In
	raw, err := json.Marshal(s.Input)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return nil, fmt.Errorf("the input of the step is not what the contract says: %w", err)
	}
	return call(in)
}

// create takes the steps of a creation one after the other, without the pauses that the
// provider asks for: nothing happens meanwhile.
func create(ctx context.Context, p sdk.Provider, in sdk.CreateInput) (sdk.CreateStep, error) {
	var log []string
	for range maxTimes {
		step, err := p.Create(ctx, in.Spec, in.Cursor)
		log = append(log, step.Log...)
		if err != nil || step.Handle != "" {
			step.Log = log
			return step, err
		}
		in.Cursor = step.Cursor
	}
	return sdk.CreateStep{}, fmt.Errorf("there is no handle after %d steps", maxTimes)
}
