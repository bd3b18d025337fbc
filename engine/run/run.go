// Package run lets an agent work on an experiment: it makes the sandbox, serves the
// interfaces, fills the workspace, runs the agent apart from the rest of the
// computer, collects what it made and ends the sandbox.
//
// It stands above package engine, so that a program that runs no agents does not
// link it.
package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/inventory"
	"github.com/seer-engine/seer/engine/record"
	"github.com/seer-engine/seer/engine/remedy"
	"github.com/seer-engine/seer/engine/runs"
	"github.com/seer-engine/seer/engine/surface"
	"github.com/seer-engine/seer/sdk"
)

// heartbeat is how long the sandbox outlives a run whose program was killed.
const heartbeat = 60 * time.Second

// cleanupTimeout bounds each step that asks the sandbox after the run's context has ended.
const cleanupTimeout = time.Minute

// Options say how an experiment is run.
type Options struct {
	Name string // of the sandbox; empty = none
	// In is a sandbox that runs already, by its ID, an unambiguous beginning of it or its name: the
	// run uses it in place of a new one, and leaves it as it is. Of the experiment, serve, workspace,
	// agent, runs and outputs count.
	In    string
	Check engine.CheckOptions
	Keep  bool // leave the sandbox and the surfaces as they are
	// AskKeep is asked whether to keep the sandbox of a run that was stopped; nil = no. It
	// has until ctx ends.
	AskKeep        func(ctx context.Context, sandbox string) bool
	Stdout, Stderr io.Writer // of the agent; nil = discard
	Progress       engine.Progress
	Version        string        // of the program, for the log of the run
	Seer           string        // path of the seer program, for agents that use MCP; empty = those surfaces are refused
	Grace          time.Duration // between asking the agent to stop and killing it; default 10 seconds
	// Isolation replaces agent.isolation of the experiment in a replay. Empty = the
	// experiment's own, but never none: only the caller may choose none.
	Isolation string

	unguarded bool // of tests: a replay runs whatever the experiment says, modes stay, and hidden names are not searched
	through   bool // of tests: results are written through links
	// after calls a function after a while, in a goroutine of its own; nil = [time.AfterFunc]. Tests
	// need not wait for programs that do not end.
	after func(time.Duration, func())
	bound func(context.Context, time.Duration) (context.Context, context.CancelFunc) // nil = [context.WithTimeout]
}

// Result is what came of a run.
type Result struct {
	Run      string `json:"run"`              // ID, which its events have
	Folder   string `json:"folder,omitempty"` // of the run; empty = nothing was started
	Sandbox  string `json:"sandbox"`
	ExitCode int    `json:"exit_code"`        // of the agent
	Reason   string `json:"reason,omitempty"` // of its end, as [event.AgentTurnEnded] has it; empty = any program
	Outputs  string `json:"outputs"`          // folder of the results
	Files    int    `json:"files"`            // collected from the agent
	Calls    int    `json:"calls"`            // in the record
	Kept     bool   `json:"kept"`             // the sandbox still runs
	// HiddenNames are the places where names of hidden models were seen.
	HiddenNames []HiddenName  `json:"hidden_names,omitempty"`
	Duration    time.Duration `json:"-"`
	Seconds     float64       `json:"seconds"`
	Cost        float64       `json:"cost"`             // USD, of the sandbox
	Record      string        `json:"record,omitempty"` // folder of the record of calls; empty = no record
	ModelCost   float64       `json:"model_cost"`       // USD, of the agent's language model, as Seer measured it
}

// Run runs the experiment's agent and returns when everything is over: the outputs are
// collected and, unless it is to be kept, the sandbox has ended, also when the agent or the
// run failed. When ctx ends, Run first asks the agent to stop. An agent that ran and failed
// is not an error; see [Result.ExitCode].
func Run(ctx context.Context, e *engine.Engine, exp *experiment.Experiment, o Options) (Result, error) {
	if exp.Agent == nil {
		return Result{}, &engine.Error{Kind: engine.KindConfig, Err: remedy.For(
			fmt.Errorf("%s has no agent to run; add agent.command, or start the sandbox alone", exp.Name), remedy.Remedy{Action: remedy.StartSandbox})}
	}
	r := newRunner(e, exp, o)
	r.log = &runLog{to: o.Progress}
	r.report = event.NewReporter(r.result.Run, event.SourceEngine, time.Now, r.log.event)
	defer r.closeResults()
	err := r.run(ctx)
	err = once(err, r.cleanup(ctx))
	r.result.Duration = time.Since(r.started)
	r.result.Seconds = r.result.Duration.Seconds()
	r.result.Cost = r.cost(context.WithoutCancel(ctx))
	if r.recording != nil {
		r.result.Record = r.results.path(record.Name)
	}
	err = once(err, r.record(err))
	return r.result, once(err, r.closeLog(err))
}

// cost is what the sandbox has cost in this run.
func (r *runner) cost(ctx context.Context) float64 {
	infos, err := r.engine.Sandboxes(ctx, false)
	if err != nil {
		r.warn("the cost of the run is not known: %v", err)
	}
	for _, info := range infos {
		if info.ID == r.id {
			return info.Cost - r.costBefore
		}
	}
	return 0
}

func (o Options) withDefaults() Options {
	if o.Stdout == nil {
		o.Stdout = io.Discard
	}
	if o.Stderr == nil {
		o.Stderr = io.Discard
	}
	if o.Grace <= 0 {
		o.Grace = 10 * time.Second
	}
	if o.after == nil {
		o.after = func(d time.Duration, then func()) { time.AfterFunc(d, then) }
	}
	if o.bound == nil {
		o.bound = context.WithTimeout
	}
	return o
}

// served is a service as the agent is to get it.
type served interface {
	Name() string
	Interface() sdk.Interface
	Connection() client.Connection
	Expose(ctx context.Context, mode string, options map[string]any) (sdk.Surface, error)
}

// runner is one run.
type runner struct {
	engine   *engine.Engine
	exp      *experiment.Experiment
	opts     Options
	started  time.Time
	report   event.Reporter
	resolved json.RawMessage // the experiment, for the folder of the run; nil = that of exp
	log      *runLog         // nil = the run has none, as a replay
	folder   *runs.Folder    // nil = not made yet, or the run has none

	id        string // of the sandbox, or of the replay
	sandbox   *engine.Sandbox
	services  []served
	recording *recording // nil = there is none
	space     *workspace
	results   *results
	docs      string   // of the libraries, for the prompt
	prompt    string   // of the agent
	temporary []string // files of the workspace that mean nothing without the sandbox
	agent     agentSetup
	traces    traces
	result    Result

	origin     *origin           // what it is made of
	costBefore float64           // of a sandbox that was there before
	gpuUse     *inventory.GPUUse // of the sandbox until its end; nil = none, or not known
	finished   bool              // the agent has ended by itself: there is an exit code
}

func newRunner(e *engine.Engine, exp *experiment.Experiment, o Options) *runner {
	id := event.NewRun()
	r := &runner{
		engine: e, exp: exp, opts: o.withDefaults(), started: time.Now(), result: Result{Run: id},
		report: event.NewReporter(id, event.SourceEngine, time.Now, o.Progress),
	}
	r.origin = &origin{runner: r, Provenance: runs.NewProvenance(), manifests: map[string]manifestRecord{}}
	return r
}

// forward takes the events of an operation into the run; nil = nobody wants any.
func (r *runner) forward() engine.Progress {
	if !r.report.Active() {
		return nil
	}
	return r.report.Forward
}

func (r *runner) warn(format string, args ...any) {
	r.report.Send(event.AgentWarning{Message: fmt.Sprintf(format, args...)})
}

func (r *runner) run(ctx context.Context) error {
	// What is wrong with the agent's side is found before a machine is rented, and its
	// folders are made after they have been confirmed.
	if err := errors.Join(r.servable(), r.agent.prepare(ctx, r.engine, r.exp)); err != nil {
		return err
	}
	if r.agent.warning != "" {
		r.report.Send(r.agent.unconfined())
	}
	if err := r.open(ctx); err != nil {
		return err
	}
	r.id = r.sandbox.ID()
	r.result.Sandbox = r.id
	info, err := r.sandbox.Info(ctx)
	if err != nil {
		return err
	}
	if err := r.origin.of(ctx, info); err != nil {
		return err
	}
	if err := r.watchNames(r.sandbox); err != nil {
		return err
	}
	living, stop := r.sandbox.WithLifetime(ctx)
	defer stop()
	err = r.work(living)
	if err != nil && ctx.Err() == nil && living.Err() != nil {
		return context.Cause(living) // not what it led to
	}
	return err
}

// open makes the sandbox, or finds the one that the run is to use.
func (r *runner) open(ctx context.Context) (err error) {
	if r.opts.In != "" {
		return r.enter(ctx)
	}
	r.sandbox, err = r.engine.Up(ctx, r.exp, engine.UpOptions{Name: r.opts.Name, Attached: heartbeat, Agent: true, Confirmed: r.folders, CheckOptions: r.opts.Check, Progress: r.forward()})
	return err
}

// work is what needs the sandbox.
func (r *runner) work(ctx context.Context) error {
	packages := r.origin.packages(ctx, r.sandbox)
	defer packages()
	for _, s := range r.exp.Serve {
		if err := r.serve(ctx, s); err != nil {
			return err
		}
	}
	if r.exp.Sandbox.ExecutionMode == experiment.ModeCLI {
		r.agent.commands = r.traces.watchCommands(r.sandbox)
	}
	if err := r.fill(ctx); err != nil {
		return err
	}
	packages()
	r.report.Send(r.agent.started(r.exp.Agent))
	var err error
	r.result.ExitCode, err = r.agent.run(ctx, r)
	if err == nil {
		r.finished = true
		r.report.Send(event.AgentFinished{ExitCode: r.result.ExitCode})
	}
	return err
}

// serve makes the functions of one file callable, within the agent's limits.
func (r *runner) serve(ctx context.Context, s experiment.Serve) error {
	o := engine.ServeOptionsOf(s)
	o.Progress, o.Record = r.forward(), !r.exp.NoRecord
	served, before := r.found(ctx, s)
	if !before {
		var err error
		if served, err = r.sandbox.Serve(ctx, o); err != nil {
			return r.exp.Explain(err)
		}
	}
	var err error
	if o.Record && r.recording == nil {
		if r.recording, err = startRecording(r.results.root, r.warn); err != nil {
			return err
		}
	}
	if o.Record {
		if err := r.recording.service(r.sandbox, served, before); err != nil {
			return err
		}
	}
	held, token, err := served.Limited(ctx, s.Access)
	if err != nil {
		return err
	}
	r.origin.add(event.RunCode{Name: held.Name(), CodeHash: held.Interface().CodeHash})
	r.origin.plugin(ctx, sdk.KindExpose, s.ExposeAs)
	r.traces.tokens = append(r.traces.tokens, ownToken{served, token.ID})
	r.services = append(r.services, held)
	return nil
}

// fill puts everything the agent needs into its workspace.
func (r *runner) fill(ctx context.Context) error {
	if err := r.contents(); err != nil {
		return err
	}
	if err := r.space.save(); err != nil { // before the surfaces, so that a crash leaves no stranger's files
		return err
	}
	if err := r.agent.reach(r.engine, r.id, r.services); err != nil {
		return err
	}
	all := gathered{prompt: r.exp.Agent.Text(), servers: map[string]sdk.MCPServer{}, env: r.agent.env}
	if err := r.agent.addServers(r, &all); err != nil {
		return err
	}
	if err := r.session(ctx, &all); err != nil {
		return err
	}
	for i, s := range r.services {
		w, err := r.expose(ctx, s, r.exp.Serve[i])
		if err != nil {
			return err
		}
		if err := all.add(s.Name(), w); err != nil {
			return err
		}
	}
	cite(all.servers, r.agent.isSeer(r.opts.Seer))
	if err := r.texts(ctx, all.prompt, all.servers); err != nil {
		return err
	}
	if err := r.agent.provision(r, all.prompt, all.servers); err != nil {
		return err
	}
	return r.searchView(ctx)
}

func (r *runner) expose(ctx context.Context, s served, spec experiment.Serve) (surface.Written, error) {
	made, err := s.Expose(ctx, spec.ExposeAs, spec.Options)
	if err != nil {
		return surface.Written{}, err
	}
	connection := s.Connection()
	connection.Endpoint = r.agent.endpoint(connection.Endpoint)
	for _, f := range made.Files {
		if !fs.ValidPath(f.Path) {
			continue // refused below
		}
		if err := r.space.free(f.Path, s.Name()); err != nil {
			return surface.Written{}, err
		}
		if err := r.space.clear(f.Path); err != nil {
			return surface.Written{}, err
		}
	}
	w, err := surface.Write(ctx, r.exp.Workspace.Dir, made, surface.Target{
		Connection: connection, Seer: r.agent.seerPath(r.opts.Seer), Inside: r.agent.workspace,
	})
	if err != nil {
		return w, fmt.Errorf("write the %s surface of %s: %w", spec.ExposeAs, s.Name(), err)
	}
	r.temporary = append(r.temporary, w.Files...)
	return w, r.space.adopt(w.Files)
}

// texts writes what agents read beside their libraries: the MCP configuration and
// the prompt.
func (r *runner) texts(ctx context.Context, prompt string, servers map[string]sdk.MCPServer) error {
	// Servers that an agent has written there would be started by the next one, or by
	// the user's own programs. Only a file that the experiment brings is added to.
	if _, brought := r.space.written[mcpName]; !brought {
		if err := r.space.write(mcpName, []byte("{}\n"), 0o600); err != nil {
			return err
		}
	}
	mcp := filepath.Join(r.exp.Workspace.Dir, mcpName)
	if err := surface.WriteMCPConfig(ctx, mcp, servers, surface.Records{}); err != nil {
		return err
	}
	if err := r.space.adopt([]string{mcp}); err != nil {
		return err
	}
	r.temporary = append(r.temporary, mcp)
	if err := r.space.write(promptName, []byte(prompt+"\n"), 0o644); err != nil {
		return err
	}
	if err := r.keepPrompt(prompt); err != nil {
		return err
	}
	r.space.sweep()
	if err := r.space.save(); err != nil || !r.agent.confined() { // others could do as they like elsewhere
		return err
	}
	return r.space.watch(ctx)
}

// keepPrompt notes the prompt of the agent, and writes it into the folder of the run.
func (r *runner) keepPrompt(prompt string) error {
	r.prompt = prompt
	if r.folder == nil {
		return nil
	}
	if err := r.results.write(runs.PromptName, []byte(prompt+"\n")); err != nil {
		return err
	}
	r.artifact(runs.PromptName, "prompt")
	return nil
}

// cleanup collects the outputs and ends the sandbox. The run's context may have
// ended, so nothing here ends with it.
func (r *runner) cleanup(ctx context.Context) error {
	var errs []error
	r.agent.close(r)
	stopped := ctx.Err() != nil
	ctx = context.WithoutCancel(ctx)
	if r.sandbox != nil && r.agent.begun && !r.finished {
		living, stop := r.opts.living(ctx, r.sandbox)
		r.interrupt(living)
		stop()
	}
	r.reportNames(ctx)
	if r.space != nil {
		errs = append(errs, r.unsaved(), r.space.closeToOthers())
		n, err := gatherOutputs(ctx, r.space.root, r.results, r.warn)
		r.result.Files, r.space.uncollected = n, err != nil
		errs = append(errs, err, r.space.refuseObeyed(ctx))
	}
	if r.recording != nil {
		living, stop := r.opts.living(ctx, r.sandbox)
		r.result.Calls = r.recording.finish(living)
		stop()
	}
	if r.sandbox != nil {
		if stopped && !r.opts.Keep && r.opts.In == "" && r.opts.AskKeep != nil {
			r.opts.Keep = r.asked(ctx)
		}
		ending, stop := r.opts.bound(ctx, cleanupTimeout)
		errs = append(errs, r.endSandbox(ending))
		stop()
	}
	if r.space != nil {
		if !r.opts.Keep {
			r.space.remove(r.temporary)
		}
		errs = append(errs, r.space.save(), r.space.close())
	}
	if r.folder != nil && r.space != nil {
		r.keepResults()
	}
	return once(errs...)
}

// living bounds one step of cleanup: the collection may have taken any time before it. A machine
// that is lost is not asked.
func (o Options) living(ctx context.Context, s *engine.Sandbox) (context.Context, context.CancelFunc) {
	ctx, cancel := o.bound(ctx, cleanupTimeout)
	living, stop := s.WithLifetime(ctx)
	return living, func() {
		stop()
		cancel()
	}
}

// keepTimeout is how long a run that was stopped waits for an answer.
const keepTimeout = 15 * time.Second

func (r *runner) asked(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, keepTimeout)
	defer cancel()
	return r.opts.AskKeep(ctx, r.id)
}

func (r *runner) endSandbox(ctx context.Context) error {
	id := r.sandbox.ID()
	if info, err := r.sandbox.Info(ctx); err == nil {
		if r.gpuUse = info.GPUUse; r.gpuUse != nil {
			r.report.Send(event.RunGPUs{Memory: r.gpuUse.Memory, Peak: r.gpuUse.Peak, Seconds: r.gpuUse.Seconds})
		}
	}
	r.result.Kept = r.opts.In != ""
	if r.opts.In != "" {
		if !r.opts.Keep {
			r.traces.revoke(ctx, r.warn)
		}
		return r.sandbox.Close()
	}
	if r.opts.Keep {
		err := r.sandbox.Detach(ctx, r.exp.Sandbox.Timeout)
		if r.result.Kept = err == nil; !r.result.Kept {
			return errors.Join(fmt.Errorf("keep the sandbox %s: %w", id, err), r.sandbox.Close())
		}
		r.report.Send(event.SandboxKept{Sandbox: id, Advice: event.Advice{Remedies: []remedy.Remedy{{Action: remedy.EndSandbox, Sandbox: id}}}})
		return r.sandbox.Close()
	}
	r.report.Send(event.SandboxEnding{Sandbox: id})
	if err := r.sandbox.Terminate(ctx); err != nil {
		return err
	}
	r.report.Send(event.SandboxEnded{Sandbox: id})
	return r.sandbox.Close()
}
