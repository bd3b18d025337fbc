// Package doctor tries the programs of agents on this computer against a scripted language model,
// before money is spent on a real one. It runs each program as engine/run runs it in an
// experiment: by its profile, confined, with an MCP server of functions in a local sandbox.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/agent"
	"github.com/seer-engine/seer/engine/agent/profile"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/sdk"
)

// State is the result of a check, or of all checks of a program.
type State string

// The states.
const (
	OK      State = "ok"
	Failed  State = "failed"
	Absent  State = "absent"  // the program is not installed
	Skipped State = "skipped" // it could not be checked, because an earlier check failed
)

// The checks, in the order in which a [Report] has them.
const (
	Found         = "found"
	Starts        = "starts"
	Prompt        = "prompt"
	Servers       = "servers"
	Tools         = "tools"
	Handles       = "handles"
	LongCall      = "long_call"
	Ends          = "ends"
	Configuration = "configuration"
	Stops         = "stops"
	Failure       = "failure"
	Processes     = "processes"
)

// Checks are all checks, in order.
func Checks() []string {
	return []string{Found, Starts, Prompt, Servers, Tools, Handles, LongCall, Ends, Configuration, Stops, Failure, Processes}
}

var titles = map[string]string{
	Found: "is installed", Starts: "starts without a terminal", Prompt: "reads its prompt", Servers: "sees its MCP servers",
	Tools: "may call their tools", Handles: "passes handles on", LongCall: "survives a long call", Ends: "ends its turn",
	Configuration: "sees none of your configuration", Stops: "stops on a signal", Failure: "reports a model that fails",
	Processes: "leaves no process",
}

// Title describes a check to people: it says what a program that passes does. It is empty for an
// unknown check.
func Title(check string) string { return titles[check] }

// Finding is the result of one check.
type Finding struct {
	Check  string `json:"check"` // one of [Checks]
	State  State  `json:"state"`
	Detail string `json:"detail,omitempty"` // what the check saw; not sanitized
	Remedy string `json:"remedy,omitempty"` // how the user can correct a failure
}

// Report is the result of all checks of one program.
type Report struct {
	Provider  string    `json:"provider"` // name of the program's profile
	Title     string    `json:"title"`
	State     State     `json:"state"` // failed = a check failed; skipped = the program cannot be tried
	Path      string    `json:"path,omitempty"`
	Version   string    `json:"version,omitempty"`
	Isolation string    `json:"isolation,omitempty"` // isolation of the program: bubblewrap, gvisor or none
	Seconds   float64   `json:"seconds"`
	Findings  []Finding `json:"findings"`
}

// Options are the options of [Check].
type Options struct {
	Providers []string // names of profiles; nil = all
	Seer      string   // path of the seer program, which is the MCP server
	// Isolation of the agents: auto (the default), bubblewrap, gvisor or none. Without isolation the
	// programs have the network of this computer.
	Isolation string
	Timeout   time.Duration // limit of one run; default 3 minutes. Check runs each program three times
	Grace     time.Duration // time between asking a program to stop and killing it; default 10 seconds
	// Progress receives the title of a program and the present trial; nil = not called.
	Progress func(title, what string)
}

func (o Options) withDefaults() Options {
	if o.Isolation == "" {
		o.Isolation = isolation.Auto
	}
	if o.Timeout <= 0 {
		o.Timeout = 3 * time.Minute
	}
	if o.Grace <= 0 {
		o.Grace = 10 * time.Second
	}
	if o.Progress == nil {
		o.Progress = func(string, string) {}
	}
	return o
}

// Check tries programs one after the other. The engine must have a LookupEnv that comes from
// [LookupEnv], so that no key of the user is used, and must confirm experiments (trust.All). The
// runs stay on this computer, leave no folder behind, and are in no list of runs.
//
// An error has a cause outside the programs: an unknown name (engine.KindNotFound), a sandbox that
// does not start, a context that has ended. Check returns the reports so far with it.
func Check(ctx context.Context, e *engine.Engine, o Options) ([]Report, error) {
	o = o.withDefaults()
	sources, err := e.Agents(&experiment.Experiment{Agent: &experiment.Agent{}})
	if err != nil {
		return nil, err
	}
	names := profile.Names(sources.Profiles...)
	for _, name := range o.Providers {
		if !slices.Contains(names, name) {
			return nil, &engine.Error{Kind: engine.KindNotFound, Err: unknown(name, names)}
		}
	}
	if len(o.Providers) > 0 {
		names = o.Providers
	}
	choice, err := isolation.Choose(ctx, o.Isolation, e.ToolPlaces()...)
	if err != nil {
		return nil, err
	}
	o.Isolation = choice.Kind
	var reports []Report
	for _, name := range names {
		p := &patient{engine: e, opts: o, sources: sources, report: Report{Provider: name, Title: name}}
		began := time.Now()
		if err := p.examine(ctx); err != nil {
			return reports, err
		}
		p.report.Seconds = time.Since(began).Seconds()
		reports = append(reports, p.report)
	}
	return reports, nil
}

func unknown(name string, known []string) error {
	if name == experiment.ProviderACP || name == experiment.ProviderCommand {
		return fmt.Errorf("the provider %s has no program of its own to try; write a profile for the program, and name that", name)
	}
	return fmt.Errorf("there is no agent %.100q; known are %s", name, strings.Join(known, ", "))
}

// patient is a program that Check tries.
type patient struct {
	engine  *engine.Engine
	opts    Options
	sources agent.Sources
	report  Report
	profile *profile.Profile
	left    []string // processes that outlived their runs
	// unwatched is the reason why this system cannot find such processes; nil = it can.
	unwatched error
}

func (p *patient) examine(ctx context.Context) error {
	tried, err := p.find(ctx)
	if err == nil && tried {
		err = p.try(ctx)
	}
	if err == nil {
		p.complete()
	}
	return err
}

func (p *patient) find(ctx context.Context) (bool, error) {
	var err error
	p.profile, err = profile.Load(p.report.Provider, p.sources.Profiles...)
	if err != nil {
		for _, text := range profile.Mistakes(err) {
			p.add(Found, Failed, text, "correct the profile")
		}
		return false, nil
	}
	p.report.Title = p.profile.Title
	p.opts.Progress(p.report.Title, "looking for the program")
	program, err := p.profile.Find(ctx, p.sources.Getenv)
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case sdk.CodeOf(err) == sdk.NotFound:
		detail := strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(err.Error(), p.profile.Title+": "), p.profile.Install), ". ")
		p.add(Found, Absent, detail, p.profile.Install)
		return false, nil
	case err != nil:
		p.add(Found, Failed, err.Error(), p.profile.Install)
		return false, nil
	}
	p.report.Path, p.report.Version = program.Path, program.Version
	version := program.Version
	if version == "" {
		version = "unknown"
	}
	p.add(Found, OK, fmt.Sprintf("%s, version %s", program.Path, version), "")
	if p.profile.API == "" {
		p.add(Starts, Skipped, "its profile names no api, so Seer cannot lead it to a scripted model", "add api to the profile")
		return false, nil
	}
	if _, key, _ := p.sources.Key(p.profile); len(p.profile.Keys) > 0 && key != Key {
		return false, &engine.Error{Kind: engine.KindInternal, Err: errors.New("the engine's LookupEnv has keys of the user; make it with doctor.LookupEnv")}
	}
	return true, nil
}

func (p *patient) add(check string, state State, detail, remedy string) {
	p.report.Findings = append(p.report.Findings, Finding{Check: check, State: state, Detail: detail, Remedy: remedy})
}

// complete sorts the findings, adds the missing ones, and sets the report's state.
func (p *patient) complete() {
	var all []Finding
	for _, check := range Checks() {
		before := len(all)
		for _, f := range p.report.Findings {
			if f.Check == check {
				all = append(all, f)
			}
		}
		if len(all) == before {
			all = append(all, Finding{Check: check, State: Skipped})
		}
	}
	p.report.Findings, p.report.State = all, OK
	switch has := func(s State) bool { return slices.ContainsFunc(all, func(f Finding) bool { return f.State == s }) }; {
	case has(Failed):
		p.report.State = Failed
	case has(Absent):
		p.report.State = Absent
	case !p.passed(Starts):
		p.report.State = Skipped
	}
}
