package run

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/record"
	"github.com/seer-engine/seer/engine/remedy"
	"github.com/seer-engine/seer/engine/trust"
	"github.com/seer-engine/seer/sdk"
)

// Replay runs the experiment's agent once more, and answers its calls from the record
// of a run: no machine, no model. A call that the run did not make fails; see
// [record.Player]. Of the experiment, only serve, workspace, agent and outputs count; without
// outputs, the results are in replay beside the record.
func Replay(ctx context.Context, e *engine.Engine, exp *experiment.Experiment, folder *record.Folder, o Options) (Result, error) {
	if exp.Agent == nil {
		return Result{}, &engine.Error{Kind: engine.KindConfig, Err: fmt.Errorf("%s has no agent to run again", exp.Name)}
	}
	if exp.Sandbox.Whole() {
		return Result{}, &engine.Error{Kind: engine.KindUnsupported, Err: remedy.For(fmt.Errorf("%s has execution_mode %s: only calls are recorded, and its agent used the whole sandbox; run it again",
			exp.Name, exp.Sandbox.ExecutionMode), remedy.Remedy{Action: remedy.RunExperiment})}
	}
	if exp.Outputs == "" {
		own := *exp // the caller's stays as it is
		own.Outputs = filepath.Join(filepath.Dir(folder.Dir()), "replay")
		exp = &own
	}
	r := newRunner(e, exp, o)
	if err := r.linked(); err != nil {
		return Result{}, err
	}
	if err := r.confine(ctx); err != nil {
		return Result{}, err
	}
	defer r.closeResults()
	r.result.Outputs = exp.Outputs
	stage, err := OpenStage(e, folder)
	if err != nil {
		return r.result, err
	}
	err = r.replay(ctx, stage)
	err = once(err, r.cleanup(ctx), stage.Close())
	r.result.Duration = time.Since(r.started)
	r.result.Seconds = r.result.Duration.Seconds()
	return r.result, err
}

// linked refuses a link in the place of the results' folder: it may have come with the
// record, and nobody has confirmed where it leads.
func (r *runner) linked() error {
	dir := r.exp.Outputs
	target, err := os.Readlink(dir)
	if err != nil || r.opts.through {
		return nil
	}
	return &engine.Error{Kind: engine.KindConfig, Err: fmt.Errorf("the folder of the results %s is a link to %q: the agent would write there; remove the link, or name another folder", dir, target)}
}

// confine decides how the agent is confined, shows what will run, and has the user confirm
// what reaches beyond that.
func (r *runner) confine(ctx context.Context) error {
	exp, agent := *r.exp, *r.exp.Agent // the caller's stays as it is
	agent.Isolation = cmp.Or(r.opts.Isolation, agent.Isolation)
	exp.Agent, r.exp = &agent, &exp
	r.report.Send(event.AgentCommand{Command: agent.Command})
	if r.opts.unguarded {
		return nil
	}
	choice, err := isolation.Choose(ctx, agent.Isolation, r.engine.ToolPlaces()...)
	if err != nil {
		return fmt.Errorf("agent.isolation: %w", err)
	}
	if choice.Kind == isolation.None && r.opts.Isolation != isolation.None {
		return unconfined(&exp, choice)
	}
	return r.engine.Replays().ConfirmReplay(ctx, &exp, choice.Kind)
}

// unconfined refuses an agent that nothing would confine.
func unconfined(exp *experiment.Experiment, choice isolation.Choice) error {
	effects := trust.Of(trust.Facts{Subject: exp.File, Unconfined: []trust.Program{{Name: "the agent", Command: strings.Join(exp.Agent.Command, " ")}}})
	return &engine.Error{Kind: engine.KindUntrusted, Err: &trust.Error{
		Effects: effects,
		Reason:  fmt.Sprintf("the agent %q is not run again: nothing would confine it (%s)", exp.Agent.Command, choice.Warning),
		Advice:  "replay it with the isolation bubblewrap or gvisor, or explicitly with none if you trust its code",
	}}
}

func (r *runner) replay(ctx context.Context, stage *Stage) error {
	if err := r.agent.prepare(ctx, r.engine, r.exp); err != nil {
		return err
	}
	if r.agent.warning != "" {
		r.report.Send(r.agent.unconfined())
	}
	var err error
	if r.results, err = openResults(r.exp.Outputs, r.opts.through); err != nil {
		return err
	}
	if err := r.openSpace(); err != nil {
		return err
	}
	r.id = filepath.Base(stage.dir)
	for _, s := range r.exp.Serve {
		v, err := stage.Service(s.Name)
		if err != nil {
			return err
		}
		if s.Access != nil && len(s.Access.Functions) > 0 {
			v.face.Functions = slices.DeleteFunc(slices.Clone(v.face.Functions), func(f sdk.Function) bool {
				return !slices.Contains(s.Access.Functions, f.Name)
			})
		}
		r.services = append(r.services, v)
	}
	if err := r.fill(ctx); err != nil {
		return err
	}
	r.report.Send(event.ReplayStarted{Folder: stage.folder.Dir(), Isolation: r.agent.isolation})
	r.result.ExitCode, err = r.agent.run(ctx, r)
	return err
}

// Stage answers calls from a record on a socket of this computer.
type Stage struct {
	engine *engine.Engine
	folder *record.Folder
	player *record.Player
	dir    string
	token  string
	cancel context.CancelFunc
	wg     sync.WaitGroup
	err    error
}

// OpenStage begins to answer. It must be closed.
func OpenStage(e *engine.Engine, folder *record.Folder) (*Stage, error) {
	player, err := record.NewPlayer(folder)
	if err != nil {
		return nil, &engine.Error{Kind: engine.KindConfig, Err: err}
	}
	dir, err := e.RunDirs().Replay()
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	s := &Stage{engine: e, folder: folder, player: player, dir: dir, token: protocol.NewToken()}
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	s.wg.Go(func() { s.err = player.Serve(ctx, l, s.token) })
	return s, nil
}

// Close ends it.
func (s *Stage) Close() error {
	s.cancel()
	s.wg.Wait()
	return errors.Join(s.err, os.RemoveAll(s.dir))
}

// Services are the names of what the record has.
func (s *Stage) Services() []string { return s.player.Services() }

// Service is one of the record.
func (s *Stage) Service(name string) (*Replayed, error) {
	face, ok := s.player.Interface(name)
	if !ok {
		return nil, &engine.Error{Kind: engine.KindNotFound, Err: fmt.Errorf("the record %s has no service %q; it has %s", s.folder.Dir(), name, strings.Join(s.player.Services(), ", "))}
	}
	return &Replayed{stage: s, name: name, face: face}, nil
}

// Replayed is a service whose answers come from a record.
type Replayed struct {
	stage *Stage
	name  string
	face  sdk.Interface
}

// Name is the name that the interface was served under.
func (v *Replayed) Name() string { return v.name }

// Interface describes the functions as they were.
func (v *Replayed) Interface() sdk.Interface { return v.face }

// Connection is where the answers are given.
func (v *Replayed) Connection() client.Connection {
	return client.Connection{Version: client.ConnectionVersion, Sandbox: filepath.Base(v.stage.dir), Service: v.name,
		Endpoint: "unix:" + filepath.Join(v.stage.dir, "s"), Token: v.stage.token}
}

// Expose is [engine.Service.Expose].
func (v *Replayed) Expose(ctx context.Context, mode string, options map[string]any) (sdk.Surface, error) {
	req := sdk.ExposeRequest{Name: v.name, Interface: v.face}
	if len(options) > 0 {
		var err error
		if req.Options, err = json.Marshal(options); err != nil {
			return sdk.Surface{}, &engine.Error{Kind: engine.KindConfig, Err: err}
		}
	}
	return v.stage.engine.Expose(ctx, mode, req)
}
