package sandboxcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/repl"
)

// pythonInSession runs code in the interpreter of a cli session, which keeps its variables.
func (a app) pythonInSession(ctx context.Context, ref, code string, given bool, timeout time.Duration) error {
	s, err := a.Open(ctx, ref)
	if err != nil {
		return cli.ExecFailure(err)
	}
	defer s.Close()
	if keeps, err := inCLI(ctx, s); err != nil || !keeps {
		return cli.ExecFailure(errors.Join(err, unlessCLI(ref, err)))
	}
	if !given {
		text, err := io.ReadAll(a.UI.In)
		if err != nil {
			return cli.ExecFailure(err)
		}
		code = string(text)
	}
	if timeout > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, timeout, fmt.Errorf("the code was interrupted after %s", timeout))
		defer stop()
	}
	stdout, stderr, end := a.Streams()
	err = repl.Stream(ctx, s.Runtime(), repl.Python{}, code, stdout, stderr)
	if ferr := end(); err == nil {
		err = ferr
	}
	var raised *protocol.CallError
	switch {
	case errors.As(err, &raised):
		fmt.Fprintln(a.UI.Stderr(), raised.Traceback)
		return cli.PassThrough(1)
	case errors.Is(err, context.DeadlineExceeded):
		err = context.Cause(ctx)
	}
	return cli.ExecFailure(cli.ProviderError(err))
}

// inCLI reports whether the sandbox has an interpreter that keeps its variables.
func inCLI(ctx context.Context, s *engine.Sandbox) (bool, error) {
	info, err := s.Info(ctx)
	return info.ExecutionMode == experiment.ModeCLI, err
}

func unlessCLI(ref string, err error) error {
	if err != nil {
		return nil
	}
	return &engine.Error{Kind: engine.KindUnsupported, Err: fmt.Errorf("the sandbox %s has no session with variables: its execution_mode is not cli; leave out --session", ref)}
}
