package run

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/record"
	workspaces "github.com/seer-engine/seer/engine/workspace"
)

// AgentOptions say how an agent works with sandboxes that run already, in a folder that has
// everything it needs.
type AgentOptions struct {
	// Agent is the agent with all of its fields. The programs and files of this computer that its
	// command, its arguments and its MCP servers name by absolute paths are shown to it.
	Agent *experiment.Agent
	Name  string // of the run; default agent
	Dir   string // the agent's folder, absolute
	// Base is the absolute folder whose file .env may have the agent's secrets and the key of its
	// language model; empty = the working folder. It must not be one that agents write to.
	Base string
	Env  map[string]string
	// Sandboxes are those that the agent may reach, with the tokens of connection and session
	// files in its folder and its servers'. It reaches nothing else unless Network is open.
	Sandboxes []*engine.Sandbox
	Progress  engine.Progress // has what the agent says, too: updates, or line by line
	Grace     time.Duration   // between asking the agent to stop and killing it; default 10 seconds
	Seer      string          // path of the seer program; needed by agents that have a language model
	Version   string          // of the program, for the log of the run
	// Runs is the absolute folder of the folders of runs; empty = the run leaves none. The results
	// stay in the agent's folder, and the log names them.
	Runs string
	// Resolved is the JSON that the folder of the run keeps as the experiment; nil = that of Agent.
	Resolved json.RawMessage

	after func(time.Duration, func()) // as in [Options], like bound
	bound func(context.Context, time.Duration) (context.Context, context.CancelFunc)
}

// Agent runs an agent, and returns when it and everything that it started have ended. An agent
// that ran and failed is not an error; see [Result.ExitCode]. When ctx ends, Agent first asks the
// agent to stop. Its results are in the folder outputs of its own folder.
func Agent(ctx context.Context, e *engine.Engine, o AgentOptions) (Result, error) {
	exp := &experiment.Experiment{
		Name: cmp.Or(o.Name, "agent"), Agent: o.Agent, Workspace: experiment.Workspace{Dir: o.Dir}, Runs: o.Runs,
		Outputs: filepath.Join(o.Dir, outputsName),
	}
	r := newRunner(e, exp, Options{Progress: o.Progress, Grace: o.Grace, Seer: o.Seer, Version: o.Version, after: o.after, bound: o.bound})
	r.id, r.resolved = r.result.Run, o.Resolved
	if o.Runs != "" {
		r.log = &runLog{to: o.Progress}
		r.report = event.NewReporter(r.id, event.SourceEngine, time.Now, r.log.event)
	}
	defer r.closeResults()
	err := agentRun{r, o}.run(ctx)
	r.result.Outputs, r.result.Duration = exp.Outputs, time.Since(r.started)
	r.result.Seconds = r.result.Duration.Seconds()
	return r.result, once(err, r.closeLog(err))
}

// agentRun is the run of an agent without a sandbox of its own.
type agentRun struct {
	*runner
	given AgentOptions
}

func (r agentRun) run(ctx context.Context) (err error) {
	a := &r.agent
	if err := r.resolve(ctx); err != nil {
		return err
	}
	if a.warning != "" {
		r.report.Send(a.unconfined())
	}
	if err := r.openSpace(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.closeSpace(ctx)) }()
	if r.log != nil {
		r.results = &results{}
		if err := r.makeFolder(); err != nil {
			return err
		}
	}
	if r.log != nil {
		r.origin.given(ctx, r.given.Sandboxes)
	}
	if err := errors.Join(r.watchNames(r.given.Sandboxes...), r.watchCalls(ctx), r.skills()); err != nil {
		return err
	}
	w, err := r.openWays(ctx, r.given.Sandboxes)
	if err != nil {
		return err
	}
	defer func() {
		w.close()
		if !r.finished {
			r.interrupt(context.WithoutCancel(ctx))
		}
	}()
	if err := w.fill(ctx, r.given); err != nil {
		return err
	}
	if err := r.searchView(ctx); err != nil {
		return err
	}
	return r.start(ctx)
}

// watchCalls finds what the sandboxes serve, and begins to record the calls where the run is kept.
// A sandbox that cannot be asked keeps no agent from working elsewhere.
func (r agentRun) watchCalls(ctx context.Context) error {
	in := map[string]string{} // service → sandbox
	for _, s := range r.given.Sandboxes {
		info, err := s.Info(ctx)
		if err != nil {
			r.warn("the calls of functions in %s are not recorded: %v", s.ID(), err)
			continue
		}
		for _, x := range info.Services {
			v, err := s.Service(ctx, x.Name)
			if err == nil {
				r.services = append(r.services, v)
				err = r.recordCalls(s, v)
			}
			if other, both := in[x.Name]; both {
				r.warn("%s and %s both serve %s: the record has the calls of both, and the description of the second", other, s.ID(), x.Name)
			}
			if in[x.Name] = s.ID(); err != nil {
				r.warn("the calls of %s in %s are not recorded: %v", x.Name, s.ID(), err)
			}
		}
	}
	return ctx.Err()
}

// recordCalls records the calls of a service from now on.
func (r agentRun) recordCalls(s *engine.Sandbox, v *engine.Service) (err error) {
	if r.folder == nil {
		return nil
	}
	if r.recording == nil {
		if r.recording, err = startRecording(r.results.root, r.warn); err != nil {
			return err
		}
	}
	return r.recording.service(s, v, true)
}

// resolve finds everything that needs no folder.
func (r agentRun) resolve(ctx context.Context) error {
	o := r.given
	if o.Runs != "" && (within(o.Dir, o.Runs) || within(o.Runs, o.Dir)) {
		return &engine.Error{Kind: engine.KindConfig, Err: fmt.Errorf("the folder of runs %s and the agent's folder %s are in one another, so that the agent could change the records; name another folder of runs", o.Runs, o.Dir)}
	}
	found := *r.exp // its file says only where .env is
	if o.Base != "" {
		found.File = filepath.Join(o.Base, "agent")
	}
	if err := errors.Join(r.servable(), r.agent.prepare(ctx, r.engine, &found)); err != nil {
		return err
	}
	r.agent.workspace = o.Dir // the files there name each other by their paths of this computer
	return nil
}

// skills puts the agent's skills where its program looks for them, until it has ended.
func (r agentRun) skills() error {
	if len(r.exp.Agent.Skills) == 0 {
		return nil
	}
	all, err := engine.WorkspaceOf(r.exp)
	if err != nil {
		return err
	}
	for _, f := range all.Plan(workspaces.Local).Agent {
		_, err := r.space.sum(f.Path)
		if err := r.space.file(f); err != nil {
			return fmt.Errorf("put the skill %s into the agent's folder: %w", f.Path, err)
		}
		if errors.Is(err, fs.ErrNotExist) {
			r.temporary = append(r.temporary, filepath.Join(r.exp.Workspace.Dir, filepath.FromSlash(f.Path)))
		}
	}
	return r.space.save()
}

// start runs the agent's program to its end.
func (r agentRun) start(ctx context.Context) (err error) {
	a := &r.agent
	if a.python, err = r.engine.Python(); err != nil {
		return err
	}
	if err := r.space.root.MkdirAll(outputsName, 0o755); err != nil {
		return err
	}
	if a.confined() {
		if err := r.space.watch(ctx); err != nil {
			return err
		}
	} else {
		a.mark = runMark + "=" + r.id
		defer endMarked(a.mark)
	}
	printed := io.Discard
	if r.folder != nil {
		log, err := openLog(r.results, r.warn)
		if err != nil {
			return err
		}
		defer log.Close()
		printed = log
	}
	out := &lines{send: func(line string) { r.report.Send(event.Output{Stage: event.StageAgent, Line: line}) }}
	failures := &lines{send: func(line string) { r.report.Send(event.AgentErrorOutput{Line: line}) }}
	r.opts.Stdout, r.opts.Stderr, a.begun = out, failures, true
	r.report.Send(a.started(r.exp.Agent))
	r.result.ExitCode, err = a.main(ctx, r.runner, printed, io.Discard)
	out.flush()
	failures.flush()
	if err == nil {
		r.finished = true
		r.report.Send(event.AgentFinished{ExitCode: r.result.ExitCode})
	}
	return errors.Join(err, a.strip(r.runner))
}

// closeSpace leaves nothing in the folder that others could use or that programs obey.
func (r agentRun) closeSpace(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	err := errors.Join(r.space.closeToOthers(), r.space.refuseObeyed(ctx)) // first, and as long as it takes
	r.reportNames(ctx)
	if r.recording != nil {
		asking, cancel := r.opts.bound(ctx, cleanupTimeout)
		r.result.Calls, r.result.Record = r.recording.finish(asking), r.results.path(record.Name)
		cancel()
	}
	if len(r.temporary) > 0 {
		r.space.remove(r.temporary)
		err = errors.Join(err, r.space.save())
	}
	if r.folder != nil {
		err = errors.Join(err, r.nameResults())
	}
	return errors.Join(err, r.space.close())
}

// nameResults names in the log what the agent has made. The agent may have put a link in the
// place of the folder.
func (r agentRun) nameResults() (err error) {
	info, err := r.space.root.Lstat(outputsName)
	if err != nil || !info.IsDir() {
		keepOwn(r.runner)
		return nil //nolint:nilerr // it has made nothing
	}
	if r.results.files, err = os.OpenRoot(r.exp.Outputs); err == nil {
		r.keepResults()
	}
	return err
}

// lines sends what is written to it line by line. A longer line than maxLine comes in parts.
type lines struct {
	send func(string)
	held []byte
}

const maxLine = 64 << 10 // bytes

func (l *lines) Write(b []byte) (int, error) {
	for _, c := range b {
		if c == '\n' || len(l.held) == maxLine {
			l.send(string(l.held))
			l.held = l.held[:0]
		}
		if c != '\n' {
			l.held = append(l.held, c)
		}
	}
	return len(b), nil
}

func (l *lines) flush() {
	if len(l.held) > 0 {
		l.send(string(l.held))
		l.held = nil
	}
}
