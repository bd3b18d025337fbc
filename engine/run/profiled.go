package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/agent"
	"github.com/seer-engine/seer/engine/agent/driver"
	"github.com/seer-engine/seer/engine/agent/inside"
	"github.com/seer-engine/seer/engine/agent/meter"
	"github.com/seer-engine/seer/engine/agent/profile"
	"github.com/seer-engine/seer/engine/agent/program"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/sdk"
)

const (
	// insideModel is the agent's way to its language model.
	insideModel = "/run/seer/model.sock"
	// insideModelAddress is where its program finds it: an address of its private loopback.
	insideModelAddress = "127.0.0.1:8377"
	// insideServers is where its MCP servers report whether they come up.
	insideServers = "/run/seer/servers.sock"
)

// cancelling is how long a program has to end its turn before it gets a signal.
const cancelling = 2 * time.Second

// lingering is how long a program may go on after its turn has ended.
const lingering = 10 * time.Second

// profiled is an agent whose program Seer knows how to start and understands.
type profiled struct {
	setup   agent.Setup
	args    []string
	env     map[string]string
	task    driver.Task
	home    string // private; empty = not made yet
	outcome driver.Outcome

	proxy *meter.Proxy // nil = Seer measures no language model
	stop  func()       // ends the proxy
	// outOfTurns ends when the proxy refuses a request for one more turn.
	outOfTurns context.Context

	watcher *inside.Watcher // nil = no MCP server is watched
	stopped atomic.Bool     // the run, before the agent ended: its servers end with it
}

// resolve finds what the agent needs of this computer.
func (a *agentSetup) resolve(ctx context.Context, e *engine.Engine, exp *experiment.Experiment) error {
	sources, err := e.Agents(exp)
	if err != nil {
		return err
	}
	setup, problems := sources.Resolve(ctx, exp.Agent)
	var errs experiment.Errors
	for _, p := range problems {
		errs = append(errs, exp.Errorf(p.Field, p.Message, p.Hint))
	}
	if len(errs) > 0 {
		return &engine.Error{Kind: engine.KindConfig, Err: errs}
	}
	a.secrets, a.servers = setup.Secrets, setup.Servers
	if setup.Profile != nil {
		a.profiled = &profiled{setup: setup, stop: func() {}, outOfTurns: context.Background()}
	}
	return nil
}

// provision makes the agent's private home and its way to its language model, when its prompt and
// its MCP servers are known.
func (a *agentSetup) provision(r *runner, prompt string, servers map[string]sdk.MCPServer) (err error) {
	p := a.profiled
	if p == nil {
		return nil
	}
	if p.home, err = r.engine.RunDirs().Agent(); err != nil {
		return err
	}
	a.show(p.setup.Program)
	token := protocol.NewToken()
	address, err := p.openModel(a, r, token)
	if err != nil {
		return err
	}
	watched, err := p.watch(a, r, profileServers(servers))
	if err != nil {
		return fmt.Errorf("watch the agent's MCP servers: %w", err)
	}
	agent := r.exp.Agent
	data := profile.Data{
		Model: agent.Model, ModelURL: address, Upstream: p.setup.Upstream, Token: token, MCPFile: filepath.Join(a.home(), mcpName),
		Prompt: prompt, PromptFile: a.text(promptName), Workspace: a.workspace, Home: a.home(),
		MaxTurns: agent.MaxTurns, Tools: agent.Tools, AsRoot: !a.confined() && os.Geteuid() == 0, Servers: watched,
	}
	rendered, err := p.setup.Profile.Render(data)
	if err != nil {
		return &engine.Error{Kind: engine.KindConfig, Err: err}
	}
	p.args, p.env = slices.Concat(rendered.Args, agent.Args), rendered.Env
	p.task = driver.Task{Prompt: prompt, Dir: a.workspace, Servers: data.Servers, Model: agent.Model}
	a.mounts = append(a.mounts, sdk.Mount{Source: p.home, Target: isolation.Home, Writable: true})
	files := maps.Clone(rendered.Files)
	if files == nil {
		files = map[string]string{}
	}
	files[mcpName] = profile.MCPFile(data.Servers)
	return writeFiles(p.home, files)
}

// profileServers are servers as profiles have them, in the order of their names.
func profileServers(servers map[string]sdk.MCPServer) (all []profile.Server) {
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		s := servers[name]
		all = append(all, profile.Server{Name: name, Command: s.Command, Args: s.Args, Env: s.Env})
	}
	return all
}

// addServers adds the MCP servers of the experiment, and shows their programs to the agent.
func (a *agentSetup) addServers(r *runner, all *gathered) error {
	for name, s := range a.servers {
		if s.URL != "" {
			server, err := a.bridge(r, name, s)
			if err != nil {
				return err
			}
			all.servers[name] = server
			continue
		}
		a.show(s.Program)
		for _, word := range absolute(s.Argv) {
			if _, err := os.Stat(word); err == nil && a.confined() && !ofSystem(word) {
				a.mounts = append(a.mounts, sdk.Mount{Source: word, Target: word})
			}
		}
		all.servers[name] = sdk.MCPServer{Command: s.Argv[0], Args: s.Argv[1:], Env: s.Env}
	}
	return nil
}

// ofSystem reports whether a confined agent sees a file with the system anyway. In gVisor nothing
// can be put into /bin, which is a link there.
func ofSystem(path string) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	top, err := filepath.EvalSymlinks("/" + first) // /bin is /usr/bin
	dir, err2 := filepath.EvalSymlinks(filepath.Dir(path))
	return errors.Join(err, err2) == nil && within("/usr", top) && within("/usr", dir)
}

// show makes a program visible for the agent.
func (a *agentSetup) show(p program.Program) {
	a.readOnly = append(a.readOnly, p.ReadOnly...)
	if p.Search != "" {
		a.search = append(a.search, p.Search)
	}
}

// home is the agent's private home, as it sees it.
func (a *agentSetup) home() string {
	if p := a.profiled; p != nil && !a.confined() {
		return p.home
	}
	if !a.confined() {
		return a.workspace
	}
	return isolation.Home
}

func writeFiles(dir string, files map[string]string) error {
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// openModel starts the proxy to the agent's language model, and returns its address for the agent.
func (p *profiled) openModel(a *agentSetup, r *runner, token string) (address string, err error) {
	if p.setup.Upstream == "" {
		return "", nil
	}
	spent := sync.OnceFunc(func() {
		t := p.proxy.Total()
		r.report.Send(event.AgentBudgetSpent{Budget: t.Budget, Total: t.Cost})
	})
	late, outOfTurns := context.WithCancel(context.Background())
	p.outOfTurns = late
	p.proxy, err = meter.New(meter.Config{
		API: p.setup.Profile.API, Upstream: p.setup.Upstream, Key: p.setup.Key, Header: p.setup.Profile.Header, Token: token,
		Budget: r.exp.Agent.Budget, Prices: p.setup.Prices, MaxTurns: p.counted(r.exp.Agent), OutOfTurns: outOfTurns,
		Report: func(m event.ModelRequest) {
			r.report.Send(m)
			if p.proxy.Total().Spent {
				spent()
			}
		},
	})
	if err != nil {
		return "", &engine.Error{Kind: engine.KindConfig, Err: err}
	}
	l, address, err := p.listen(a, r)
	if err != nil {
		return "", fmt.Errorf("make the agent's way to its language model: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := meter.Serve(ctx, l, p.proxy); err != nil {
			r.warn("the agent cannot reach its language model any more: %v", err)
		}
	})
	p.stop = sync.OnceFunc(func() {
		cancel()
		serving.Wait()
		r.result.ModelCost = p.proxy.Total().Cost
	})
	return address, nil
}

// counted is the limit of the turns that the proxy counts; 0 = none, or the program counts itself.
func (p *profiled) counted(agent *experiment.Agent) int {
	if p.setup.Profile.Uses("MaxTurns") {
		return 0
	}
	return agent.MaxTurns
}

// listen opens what the proxy is reached by: a socket that leads into the agent's own network, or
// a port where it shares this computer's.
func (p *profiled) listen(a *agentSetup, r *runner) (net.Listener, string, error) {
	if !a.confined() || r.exp.Agent.Network == "open" {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, "", err
		}
		return l, "http://" + l.Addr().String(), nil
	}
	l, _, err := a.socket(r, insideModel)
	if err != nil {
		return nil, "", err
	}
	a.edge = []string{a.seerPath(r.opts.Seer), inside.Command, "--forward", insideModelAddress + "=" + insideModel, "--"}
	return l, "http://" + insideModelAddress, nil
}

// argv is what runs in the agent's place.
func (a *agentSetup) argv(exp *experiment.Experiment) []string {
	p := a.profiled
	if p == nil {
		return slices.Concat(exp.Agent.Command, exp.Agent.Args)
	}
	return slices.Concat(a.edge, p.setup.Argv, p.args)
}

// described names the program in the log.
func (p *profiled) described(agent *experiment.Agent) event.AgentProgram {
	e := event.AgentProgram{Provider: agent.Provider, Path: strings.Join(agent.Command, " "), Model: agent.Model}
	if p == nil {
		return e
	}
	found := p.setup.Program
	e.Path, e.Version, e.SHA256 = cmp.Or(found.Path, e.Path), found.Version, found.SHA256
	return e
}

// converse speaks with the agent's program while run runs it. What the program prints also goes
// to log.
func (p *profiled) converse(ctx context.Context, r *runner, run func(ctx context.Context, stdin io.Reader, stdout io.Writer) (int, error)) (int, error) {
	living, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	defer context.AfterFunc(ctx, func() {
		p.stopped.Store(true)
		if p.setup.Profile.Driver != driver.ACP {
			end()
			return
		}
		r.opts.after(cancelling, end) // it is asked by the protocol first
	})()
	defer context.AfterFunc(p.outOfTurns, func() { r.opts.after(lingering, end) })() // most programs end by themselves
	fromAgent, printed := io.Pipe()
	stdin, toAgent, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	task := p.task
	task.Ended = func() { r.opts.after(lingering, end) }
	var talking sync.WaitGroup
	var wrong error
	talking.Go(func() {
		defer fromAgent.Close()
		p.outcome, wrong = driver.Run(ctx, p.setup.Profile.Driver, toAgent, fromAgent, task, func(u driver.Update) {
			r.agent.seen.hears(u.Update)
			r.report.Send(event.AgentUpdate{Update: u.Update, Native: u.Native})
		})
	})
	code, err := run(living, stdin, printed)
	_ = printed.Close()
	talking.Wait()
	_ = errors.Join(stdin.Close(), toAgent.Close()) // perhaps closed before
	switch {
	case ctx.Err() != nil:
		code, err = 0, ctx.Err()
	case living.Err() != nil && errors.Is(err, context.Canceled):
		code, err = 0, nil // its turn was over, and only its program went on
	}
	p.conclude(ctx, r.exp.Agent.MaxTurns)
	p.missServers(r)
	r.result.Reason = p.outcome.Reason
	r.report.Send(event.AgentTurnEnded{Reason: p.outcome.Reason, Error: p.outcome.Error})
	if code == 0 && (p.outcome.Reason == driver.Failed || p.outcome.Reason == driver.MaxTurnRequests) {
		code = 1 // some programs end well after they have failed
	}
	return code, errors.Join(err, wrong)
}

// conclude has the limit of turns read the same for all programs: one of which the proxy counts
// the turns takes the limit for a failure of its model.
func (p *profiled) conclude(ctx context.Context, limit int) {
	if p.outOfTurns.Err() != nil && ctx.Err() == nil {
		p.outcome.Reason = driver.MaxTurnRequests
	}
	if p.outcome.Reason == driver.MaxTurnRequests && limit > 0 {
		p.outcome.Error = fmt.Sprintf("reached max_turns %d", limit)
	}
}

// close ends the way to the language model and removes the home.
func (p *profiled) close(r *runner) {
	if p == nil {
		return
	}
	p.stop()
	if p.watcher != nil {
		p.watcher.Close()
	}
	if p.home != "" {
		_ = r.engine.RunDirs().RemoveAgent(p.home) // after a failure, a later run does
	}
}
