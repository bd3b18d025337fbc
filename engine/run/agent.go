package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/agent"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/isolation/cgroup"
	"github.com/seer-engine/seer/engine/remedy"
	"github.com/seer-engine/seer/engine/sanitize"
	"github.com/seer-engine/seer/sdk"
)

// What the agent finds, where it is confined.
const (
	insideWorkspace = "/workspace"
	insideSeer      = "/seer/seer"
	insideSocket    = "/run/seer/services.sock"

	mcpName    = "mcp.json"
	promptName = "prompt.md"
	agentLog   = "agent.log"
)

// runMark is the variable of an agent that is not confined: what it started and
// let go is found by it.
const runMark = "SEER_RUN"

// agentSetup is how the agent's process is run.
type agentSetup struct {
	isolation string
	warning   string
	remedies  []remedy.Remedy // of the warning
	places    []string        // where gVisor's program is
	limits    cgroup.Limits
	python    isolation.Interpreter
	workspace string            // as the agent sees it
	env       map[string]string // made by surfaces
	mounts    []sdk.Mount
	mark      string // a variable that tells the agent's processes, where no namespace holds them
	relays    []*relay
	reached   bool       // the runtime, by insideSocket
	seen      *sightings // nil = no model is hidden
	commands  *commands  // that it starts in a sandbox; nil = it cannot
	way       string     // to the runtime, of an agent that is not confined; empty = the runtime's own endpoint
	bridges   []func()   // each ends a way to an MCP server
	begun     bool       // its log is that of this run

	secrets   map[string]string // that it gets as variables
	servers   map[string]agent.Server
	profiled  *profiled // nil = any program
	edge      []string  // what starts its program, in its own network
	readOnly  []string  // of this computer, that it sees
	search    []string  // more for its PATH
	temporary []string  // folders for as long as it runs
	texts     string    // folder of its prompt and its MCP configuration; empty = its workspace
}

// text is the path of its prompt or its MCP configuration, as it sees it.
func (a *agentSetup) text(name string) string {
	return filepath.Join(cmp.Or(a.texts, a.workspace), name)
}

func (a *agentSetup) confined() bool { return a.isolation != isolation.None }

// unconfined is the warning that nothing keeps the agent apart.
func (a *agentSetup) unconfined() event.Data {
	return event.AgentUnconfined{Message: a.warning, Advice: event.Advice{Remedies: a.remedies}}
}

// prepare settles everything that needs no sandbox.
func (a *agentSetup) prepare(ctx context.Context, e *engine.Engine, exp *experiment.Experiment) error {
	a.places = e.ToolPlaces()
	choice, err := isolation.Choose(ctx, exp.Agent.Isolation, a.places...)
	if err != nil {
		return fmt.Errorf("agent.isolation: %w", err)
	}
	a.isolation, a.warning, a.remedies, a.env = choice.Kind, choice.Warning, choice.Remedies, map[string]string{}
	if err := a.resolve(ctx, e, exp); err != nil {
		return err
	}
	if !a.confined() && exp.Agent.Network == "none" {
		return &engine.Error{Kind: engine.KindUnsupported, Err: errors.New("the agent cannot be kept off the network without isolation; set agent.network: open, or remove agent.isolation: none")}
	}
	a.workspace = exp.Workspace.Dir
	if !a.confined() {
		return nil
	}
	a.workspace = insideWorkspace
	a.limits, err = limitsOf(a.isolation, exp.Agent)
	return err
}

// reach makes the services reachable for the agent: through one socket that
// carries nothing but requests with its own tokens.
func (a *agentSetup) reach(e *engine.Engine, sandbox string, services []served) error {
	if len(services) == 0 {
		return nil
	}
	connection := services[0].Connection()
	return a.reachRuntime(e, sandbox, connection.Endpoint, connection.Token)
}

// reachRuntime makes the runtime reachable. The token opens the way; what it carries
// brings its own.
func (a *agentSetup) reachRuntime(e *engine.Engine, sandbox, endpoint, token string) error {
	if a.reached || !a.confined() && a.commands == nil {
		return nil
	}
	a.reached = true
	socket, direct := strings.CutPrefix(endpoint, "unix:")
	if !direct || a.seen != nil || a.commands != nil {
		dir, err := e.RunDirs().Relay(sandbox)
		if err != nil {
			return err
		}
		way, err := newRelay(dir, endpoint, token, a.seen.watch(fromSandbox), a.commands.watch())
		if err != nil {
			return fmt.Errorf("make the agent's way to its sandbox: %w", err)
		}
		a.relays, socket = append(a.relays, way), way.socket
	}
	if !a.confined() {
		a.way = "unix:" + socket
		return nil
	}
	a.mounts = append(a.mounts, sdk.Mount{Source: socket, Target: insideSocket, Writable: true})
	return nil
}

// endpoint is a service's endpoint as the agent sees it.
func (a *agentSetup) endpoint(outside string) string {
	if a.confined() {
		return "unix:" + insideSocket
	}
	return cmp.Or(a.way, outside)
}

func (a *agentSetup) seerPath(outside string) string {
	if outside == "" || !a.confined() {
		return outside
	}
	a.mounts = append(a.mounts, sdk.Mount{Source: outside, Target: insideSeer})
	return insideSeer
}

func (a *agentSetup) close(r *runner) {
	a.profiled.close(r)
	for _, end := range a.bridges {
		end()
	}
	for _, way := range a.relays {
		way.close()
	}
	for _, dir := range a.temporary {
		_ = os.RemoveAll(dir) // after a failure, the next sweep does
	}
}

// run starts the agent and waits for it. When ctx ends, it is asked to stop and,
// after the grace, killed with everything it started.
func (a *agentSetup) run(ctx context.Context, r *runner) (int, error) {
	python, err := r.engine.Python()
	if err != nil {
		return 0, err
	}
	a.python = python
	a.mark = runMark + "=" + r.id
	if err := r.space.vacate(outputsName + "/" + agentLog); err != nil {
		return 0, err
	}
	if err := r.space.root.MkdirAll(outputsName, 0o755); err != nil {
		return 0, err
	}
	log, err := openLog(r.results, r.warn)
	if err != nil {
		return 0, err
	}
	defer log.Close()
	a.begun = true
	if !a.confined() {
		defer endMarked(a.mark)
	}
	if err := a.init(ctx, r, log); err != nil {
		return 0, err
	}
	code, err := a.main(ctx, r, log, io.Discard)
	return code, errors.Join(err, a.strip(r))
}

// main runs the agent itself, no longer than it may.
func (a *agentSetup) main(ctx context.Context, r *runner, log, failures io.Writer) (int, error) {
	if limit := r.exp.Agent.Timeout; limit > 0 {
		late := &engine.Error{Kind: engine.KindTimeout, Err: fmt.Errorf("the agent did not end within agent.timeout (%s) and was stopped; its results so far were collected", limit)}
		bounded, cancel := context.WithTimeoutCause(ctx, limit, late)
		defer cancel()
		code, err := a.speak(bounded, r, log, failures)
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			err = late
		}
		return code, err
	}
	return a.speak(ctx, r, log, failures)
}

// speak runs the agent's program, and speaks with it where Seer understands it.
func (a *agentSetup) speak(ctx context.Context, r *runner, log, failures io.Writer) (int, error) {
	r.report.Send(a.profiled.described(r.exp.Agent))
	if a.profiled == nil {
		return a.start(ctx, r, streams{log: log, out: r.opts.Stdout, failures: io.MultiWriter(r.opts.Stderr, failures)}, a.spec(r.exp))
	}
	said := &lines{send: func(line string) { r.report.Send(event.AgentErrorOutput{Line: line}) }}
	defer said.flush()
	return a.profiled.converse(ctx, r, func(ctx context.Context, in io.Reader, out io.Writer) (int, error) {
		return a.start(ctx, r, streams{log: log, in: in, out: out, failures: io.MultiWriter(said, failures)}, a.spec(r.exp))
	})
}

// streams are where a program's input comes from, and where its output goes.
type streams struct {
	log      io.Writer // both outputs, for people
	in       io.Reader // nil = nothing
	out      io.Writer
	failures io.Writer // its standard error
}

// init runs workspace.init beside the agent, where there is no kernel or interpreter of
// the sandbox that it belongs to.
func (a *agentSetup) init(ctx context.Context, r *runner, log io.Writer) error {
	if r.exp.Workspace.Init == "" || r.exp.Sandbox.Whole() {
		return nil
	}
	spec := a.spec(r.exp)
	spec.Argv = []string{a.python.Executable, "-c", r.exp.Workspace.Init}
	var said ending // a traceback; what is printed has another way, and may overtake it
	code, err := a.start(ctx, r, streams{log: log, out: r.opts.Stdout, failures: io.MultiWriter(r.opts.Stderr, &said)}, spec)
	if err == nil && code != 0 {
		err = fmt.Errorf("workspace.init ended with exit code %d; its output is above", code)
		err = &engine.Error{Kind: engine.KindConfig, Err: r.exp.ExplainBeside(err, said.String(), a.python.Executable)}
	}
	return err
}

// start runs a program in the agent's place to its end.
func (a *agentSetup) start(ctx context.Context, r *runner, to streams, spec isolation.Spec) (int, error) {
	p := place{kind: a.isolation, grace: r.opts.Grace}
	if a.isolation == isolation.GVisor {
		dir, err := r.engine.RunDirs().Agent()
		if err != nil {
			return 0, err
		}
		defer func() { _ = r.engine.RunDirs().RemoveAgent(dir) }()
		spec.State, p.state = dir, dir
	}
	if a.confined() {
		p.group = a.group(r)
		defer a.lift(r, p.group)
	}
	cmd, err := isolation.Command(a.isolation, spec)
	if err != nil {
		return 0, err
	}
	defer isolation.Release(cmd)
	kept, keptErrors := sanitize.NewWriter(to.log), sanitize.NewWriter(to.log) // for cat
	defer func() { _ = errors.Join(kept.Flush(), keptErrors.Flush()) }()       // the log itself says what it lacks
	cmd.Stdin, cmd.Stdout, cmd.Stderr = to.in, io.MultiWriter(to.out, kept), io.MultiWriter(to.failures, keptErrors)
	cmd.WaitDelay = 2 * time.Second // for a grandchild that keeps the output open
	return p.await(ctx, cmd)
}

func (a *agentSetup) spec(exp *experiment.Experiment) isolation.Spec {
	spec := isolation.Spec{
		Argv: a.argv(exp), Dir: a.workspace, Env: a.variables(exp),
		Network: exp.Agent.Network == "open", Hostname: "agent", DieWithParent: true,
	}
	if a.confined() {
		spec.Mounts = append([]sdk.Mount{{Source: exp.Workspace.Dir, Target: a.workspace, Writable: true}}, a.mounts...)
		spec.ReadOnly, spec.Places, spec.HostSockets = slices.Concat(a.python.Paths, a.readOnly), a.places, true
		spec.Nested, spec.TmpfsSize = exp.Agent.Nested, a.limits.Memory/4
	}
	return spec
}

// variables is the agent's whole environment.
func (a *agentSetup) variables(exp *experiment.Experiment) map[string]string {
	env := map[string]string{
		"PATH":             strings.Join(append([]string{a.python.SearchPath()}, a.search...), ":"),
		"HOME":             a.home(),
		"LANG":             "C.UTF-8",
		"PYTHONPATH":       a.workspace,
		"PYTHONUNBUFFERED": "1",
		"SEER_PROMPT":      a.text(promptName),
		"SEER_MCP_CONFIG":  a.text(mcpName),
		"SEER_OUTPUTS":     filepath.Join(a.workspace, outputsName),
	}
	all := []map[string]string{a.env, a.secrets, exp.Agent.Env}
	if a.profiled != nil {
		all = append([]map[string]string{a.profiled.env}, all...)
	}
	for _, some := range all {
		maps.Copy(env, some)
	}
	if !a.confined() {
		env[runMark] = strings.TrimPrefix(a.mark, runMark+"=")
	}
	return env
}
