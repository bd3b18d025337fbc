package run

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/experiment"
)

// AgentOptions say how an agent works with sandboxes that run already, in a folder that has
// everything it needs.
type AgentOptions struct {
	Agent *experiment.Agent // Command, Prompt, Isolation, Network, Env and the limits count
	Dir   string            // the agent's folder, absolute
	// Servers are those of MCP by their names. The programs and files of this computer that they
	// and the command name by absolute paths are shown to the agent.
	Servers map[string]any
	Env     map[string]string
	// Sandboxes are those that the agent may reach, with the tokens of connection and session
	// files in its folder and its servers'. It reaches nothing else unless Network is open.
	Sandboxes []*engine.Sandbox
	Progress  engine.Progress // has what the agent prints, too, line by line
	Grace     time.Duration   // between asking the agent to stop and killing it; default 10 seconds
}

// Agent runs an agent and returns its exit code when it and everything that it started have
// ended. An agent that ran and failed is not an error. When ctx ends, Agent first asks the
// agent to stop. Its results are in the folder.
func Agent(ctx context.Context, e *engine.Engine, o AgentOptions) (code int, err error) {
	exp := &experiment.Experiment{Name: "agent", Agent: o.Agent, Workspace: experiment.Workspace{Dir: o.Dir}}
	r := newRunner(e, exp, Options{Progress: o.Progress, Grace: o.Grace})
	r.id = r.result.Run
	a := &r.agent
	if err := a.prepare(ctx, e, exp); err != nil {
		return 0, err
	}
	a.workspace = o.Dir // the files there name each other by their paths of this computer
	if a.warning != "" {
		r.report.Send(a.unconfined())
	}
	if err := r.openSpace(); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, r.closeSpace(ctx)) }()
	w, err := r.openWays(o.Sandboxes)
	if err != nil {
		return 0, err
	}
	defer w.close()
	if err := w.fill(ctx, o); err != nil {
		return 0, err
	}
	return r.runAgent(ctx)
}

// runAgent is the agent's life.
func (r *runner) runAgent(ctx context.Context) (int, error) {
	a := &r.agent
	var err error
	if a.python, err = r.engine.Python(); err != nil {
		return 0, err
	}
	if err := r.space.root.MkdirAll(outputsName, 0o755); err != nil {
		return 0, err
	}
	if a.confined() {
		if err := r.space.watch(ctx); err != nil {
			return 0, err
		}
	} else {
		a.mark = runMark + "=" + r.id
		defer endMarked(a.mark)
	}
	out := &lines{send: func(line string) { r.report.Send(event.Output{Stage: event.StageAgent, Line: line}) }}
	failures := &lines{send: func(line string) { r.report.Send(event.AgentErrorOutput{Line: line}) }}
	r.opts.Stdout, r.opts.Stderr = out, failures
	r.report.Send(a.started(r.exp.Agent))
	code, err := a.main(ctx, r, io.Discard, io.Discard)
	out.flush()
	failures.flush()
	if err == nil {
		r.report.Send(event.AgentFinished{ExitCode: code})
	}
	return code, errors.Join(err, a.strip(r))
}

// closeSpace leaves nothing in the folder that others could use or that programs obey.
func (r *runner) closeSpace(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	return errors.Join(r.space.closeToOthers(), r.space.refuseObeyed(ctx), r.space.close())
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
