package rpc

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/protocol"
)

// maxWait is longer than anybody waits, and fits into a duration.
const maxWait = 100 * 365 * 24 * time.Hour

func (s *Server) start(ctx context.Context, p StartParams) (_ engine.Info, err error) {
	if p.File == "" {
		defer ofMessage(&err)
	}
	if !filepath.IsAbs(p.Dir) {
		return engine.Info{}, refuse(engine.KindConfig, "the folder %q of the experiment is not absolute", p.Dir)
	}
	exp, err := p.load(ctx)
	if err != nil {
		return engine.Info{}, err
	}
	if !(p.MaxWait >= 0) {
		return engine.Info{}, refuse(engine.KindConfig, "max_wait is %g; write a number of seconds from 0 on", p.MaxWait)
	}
	exp.File = "" // the effects are those of the client's own program, which has written or chosen it
	o := engine.UpOptions{Name: p.Name, Snapshot: p.Snapshot, Attached: Outlives, Progress: s.progress(ctx)}
	o.MaxWait = time.Duration(min(p.MaxWait, maxWait.Seconds()) * float64(time.Second))
	b, err := s.Engine.Up(ctx, exp, o)
	if err != nil {
		return engine.Info{}, err
	}
	if ctx.Err() != nil { // the client has cancelled, and will not hear of it
		return engine.Info{}, cmp.Or(b.Terminate(context.WithoutCancel(ctx)), ctx.Err())
	}
	return s.keep(b, true).Info(ctx)
}

func (p StartParams) load(ctx context.Context) (*experiment.Experiment, error) {
	if p.File != "" {
		return experiment.Load(ctx, p.File, experiment.LoadOptions{})
	}
	return experiment.Parse(p.Experiment, filepath.Join(p.Dir, "experiment"), experiment.LoadOptions{})
}

func (s *Server) info(ctx context.Context, p Ref) (engine.Info, error) {
	return s.Engine.Show(ctx, p.Sandbox)
}

func (s *Server) list(ctx context.Context, _ None) (ListResult, error) {
	all, err := s.Engine.Sandboxes(ctx, false)
	return ListResult{Sandboxes: all}, err
}

func (s *Server) detach(ctx context.Context, p DetachParams) (None, error) {
	b, err := s.sandbox(ctx, p.Sandbox)
	if err != nil {
		return None{}, err
	}
	if err := b.Detach(ctx, time.Duration(p.Seconds*float64(time.Second))); err != nil {
		return None{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.owned, b.ID())
	return None{}, nil
}

func (s *Server) terminate(ctx context.Context, p Ref) (None, error) {
	s.mu.Lock()
	b := s.open[p.Sandbox]
	s.mu.Unlock()
	if b == nil {
		return None{}, s.Engine.Terminate(ctx, p.Sandbox)
	}
	if err := b.Terminate(ctx); err != nil {
		return None{}, err
	}
	s.forget(b.ID())
	return None{}, b.Close()
}

func (s *Server) fork(ctx context.Context, p ForkParams) (ListResult, error) {
	copies, err := s.Engine.Fork(ctx, p.Sandbox, p.Copies, engine.ForkOptions{Name: p.Name, Attached: Outlives, Progress: s.progress(ctx)})
	return s.forked(ctx, copies, err)
}

// forked answers with the copies. When one is missing, or the client has cancelled, it will not hear
// of the others, so they are ended.
func (s *Server) forked(ctx context.Context, copies []*engine.Sandbox, err error) (ListResult, error) {
	var list ListResult
	for _, c := range copies {
		info, infoErr := c.Info(ctx)
		err = cmp.Or(err, infoErr)
		list.Sandboxes = append(list.Sandboxes, info)
	}
	if err = cmp.Or(err, ctx.Err()); err != nil {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
		defer cancel()
		for _, c := range copies {
			err = errors.Join(err, c.Terminate(ending), c.Close())
		}
		return ListResult{}, err
	}
	for _, c := range copies {
		s.keep(c, true)
	}
	return list, nil
}

func (s *Server) save(ctx context.Context, p SaveParams) (SaveResult, error) {
	saved, err := s.Engine.Save(ctx, p.Sandbox, engine.SaveOptions{Name: p.Name, Description: p.Description, Memory: p.Memory, Progress: s.progress(ctx)})
	return SaveResult{Name: saved.Name, ID: saved.ID}, err
}

// How much output is kept, in bytes. A client reads an answer as one line.
const (
	defaultLimit = 10 << 20
	maxLimit     = 64 << 20
)

// head keeps the first bytes that are written to it.
type head struct {
	bytes.Buffer
	limit int64
	more  bool
}

func (h *head) Write(b []byte) (int, error) {
	room := h.limit - int64(h.Len())
	if int64(len(b)) > room {
		h.more = true
	}
	h.Buffer.Write(b[:max(0, min(int64(len(b)), room))])
	return len(b), nil
}

// check refuses what would be ignored.
func (p ExecParams) check() error {
	given := 0
	for _, set := range []bool{len(p.Argv) > 0, p.Shell != "", p.Python != ""} {
		if set {
			given++
		}
	}
	switch {
	case given != 1:
		return refuse(engine.KindConfig, "the command must be exactly one of argv, shell and python")
	case p.Limit < 0 || p.Limit > maxLimit:
		return refuse(engine.KindConfig, "the limit of %d bytes is not between 0 and %d; for more, write the output to a file of the sandbox and download it", p.Limit, maxLimit)
	case p.Python != "" && (p.Cwd != "" || len(p.Env) > 0 || p.Seconds != 0):
		return refuse(engine.KindConfig, "python takes no cwd, env and seconds; use argv with python3")
	}
	return nil
}

func (s *Server) exec(ctx context.Context, p ExecParams) (ExecResult, error) {
	if err := p.check(); err != nil {
		return ExecResult{}, err
	}
	b, err := s.sandbox(ctx, p.Sandbox)
	if err != nil {
		return ExecResult{}, err
	}
	limit := cmp.Or(p.Limit, defaultLimit)
	stdout, stderr := &head{limit: limit}, &head{limit: limit}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	living, stop := b.WithLifetime(ctx)
	defer stop()
	var process protocol.Process
	if p.Python != "" {
		process, err = b.ExecPython(living, p.Python, bytes.NewReader(p.Stdin), stdout, stderr)
	} else {
		spec := protocol.ProcessSpec{Argv: p.Argv, Shell: p.Shell, Cwd: p.Cwd, Env: p.Env, TimeoutSeconds: p.Seconds, Stdin: len(p.Stdin) > 0}
		process, err = b.Exec(living, spec, bytes.NewReader(p.Stdin), stdout, stderr)
	}
	if err != nil {
		if cause := context.Cause(living); cause != nil && ctx.Err() == nil {
			err = cause // the machine is lost
		}
		return ExecResult{}, err
	}
	if process.MachineEnds {
		fmt.Fprintf(&stderr.Buffer, "seer: the command was killed with its sandbox: %v\n", whyEnded(ctx, b))
	}
	return ExecResult{
		ExitCode: process.ExitCode, Stdout: stdout.Bytes(), Stderr: stderr.Bytes(), Truncated: stdout.more || stderr.more, TimedOut: process.TimedOut,
	}, nil
}

// endPatience is how long a provider may take to say why a machine has ended.
const endPatience = 15 * time.Second

// whyEnded is why a command was killed with its sandbox: its exit code is also that of one that was
// killed because the memory was full.
func whyEnded(ctx context.Context, b *engine.Sandbox) error {
	ctx, cancel := context.WithTimeout(ctx, endPatience)
	defer cancel()
	return cmp.Or(b.Runtime().AwaitEnd(ctx), errors.New("the machine ends, and its provider does not say why yet"))
}
