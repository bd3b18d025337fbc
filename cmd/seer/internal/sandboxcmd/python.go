package sandboxcmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/protocol"
)

func newPython(a app) *cobra.Command {
	var code string
	var timeout time.Duration
	var session bool
	c := &cobra.Command{
		Use:   "python ID [-c CODE | FILE]",
		Short: "Run Python code in a sandbox",
		Long: `Run code in a fresh interpreter of a sandbox: CODE, a FILE of this computer, or
standard input. The interpreter is the one that serves functions. Only served functions
have get_model_path; here the path of a model is in the variable MODEL_…_PATH.

With --session, the code runs in the interpreter of a session with execution_mode: cli
and shares its variables with the agent's run_python and with earlier code.
` + execExit,
		Example: `  seer python lab -c 'import sys; print(sys.version)'
  seer python lab analysis.py
  seer python lab < analysis.py`,
		Args: cli.Args(1, 2, "a sandbox"),
		RunE: func(cmd *cobra.Command, given []string) error {
			if err := cli.CheckTimeout(timeout); err != nil {
				return err
			}
			text, inline := code, cmd.Flags().Changed("code")
			switch {
			case inline && len(given) == 2:
				return cli.Usagef("give the code with -c or a FILE, not both: %s", cmd.UseLine())
			case len(given) == 2:
				data, err := os.ReadFile(given[1])
				if err != nil {
					return cli.ExecFailure(readError(err))
				}
				text, inline = string(data), true
			}
			if session {
				return a.pythonInSession(cmd.Context(), given[0], text, inline, timeout)
			}
			return cli.ExecFailure(a.exec(cmd.Context(), given[0], false, a.freshPython(text, inline, timeout)))
		},
		ValidArgsFunction: a.CompleteSandboxThenFile,
	}
	c.Flags().StringVarP(&code, "code", "c", "", "the `CODE` to run")
	c.Flags().BoolVar(&session, "session", false, "run in the interpreter of the session, with its variables")
	c.Flags().DurationVar(&timeout, "timeout", 0, "kill the interpreter after this long, as in 90s or 5m (default: no limit)")
	return c
}

// freshPython is pythonSpec, and says in a cli session that there is an interpreter with
// variables.
func (a app) freshPython(code string, given bool, timeout time.Duration) func(context.Context, *engine.Sandbox) (protocol.ProcessSpec, error) {
	spec := pythonSpec(code, given, timeout)
	return func(ctx context.Context, s *engine.Sandbox) (protocol.ProcessSpec, error) {
		if keeps, err := inCLI(ctx, s); err == nil && keeps {
			a.UI.Tell("A fresh interpreter; --session runs the code with the variables of the session.")
		}
		return spec(ctx, s)
	}
}

// pythonSpec runs code that is given, or reads it from standard input, which the
// code then cannot use.
func pythonSpec(code string, given bool, timeout time.Duration) func(context.Context, *engine.Sandbox) (protocol.ProcessSpec, error) {
	return func(ctx context.Context, s *engine.Sandbox) (protocol.ProcessSpec, error) {
		h, err := s.Runtime().Health(ctx)
		if err != nil {
			return protocol.ProcessSpec{}, cli.ProviderError(err)
		}
		argv := []string{h.Python, "-u", "-"}
		if given {
			argv = []string{h.Python, "-u", "-c", code}
		}
		return protocol.ProcessSpec{Argv: argv, TimeoutSeconds: timeout.Seconds()}, nil
	}
}

// unreadable is a file of this computer that cannot be read. It has no name of a system call.
type unreadable struct{ err *fs.PathError }

func (e *unreadable) Error() string {
	return fmt.Sprintf("%s cannot be read: %v", e.err.Path, e.err.Err)
}
func (e *unreadable) Unwrap() error { return e.err }

func readError(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return &unreadable{p}
	}
	return err
}
