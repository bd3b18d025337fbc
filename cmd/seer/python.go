package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/protocol"
)

func newPython(a *app) *cobra.Command {
	var code string
	var timeout time.Duration
	c := &cobra.Command{
		Use:   "python ID [-c CODE | FILE]",
		Short: "Run Python code in a sandbox",
		Long: `Run code in a fresh interpreter of a sandbox: CODE, a FILE of this computer, or
standard input. The interpreter is the one that serves functions. Only they have
get_model_path; here the path of a model is in the variable MODEL_…_PATH.
` + execExit,
		Example: `  seer python lab -c 'import sys; print(sys.version)'
  seer python lab analysis.py
  seer python lab < analysis.py`,
		Args: args(1, 2, "a sandbox"),
		RunE: func(cmd *cobra.Command, given []string) error {
			if err := soon(timeout); err != nil {
				return err
			}
			text, inline := code, cmd.Flags().Changed("code")
			switch {
			case inline && len(given) == 2:
				return usagef("give the code with -c or a FILE, not both: %s", cmd.UseLine())
			case len(given) == 2:
				data, err := os.ReadFile(given[1])
				if err != nil {
					return failedItself(readError(err))
				}
				text, inline = string(data), true
			}
			return failedItself(a.exec(cmd.Context(), given[0], false, pythonSpec(text, inline, timeout)))
		},
		ValidArgsFunction: a.completeSandboxThenFile,
	}
	c.Flags().StringVarP(&code, "code", "c", "", "the `CODE` to run")
	c.Flags().DurationVar(&timeout, "timeout", 0, "kill the interpreter after this long, as in 90s or 5m")
	return c
}

// pythonSpec runs code that is given, or reads it from standard input, which the
// code then cannot use.
func pythonSpec(code string, given bool, timeout time.Duration) func(context.Context, *engine.Sandbox) (protocol.ProcessSpec, error) {
	return func(ctx context.Context, s *engine.Sandbox) (protocol.ProcessSpec, error) {
		h, err := s.Runtime().Health(ctx)
		if err != nil {
			return protocol.ProcessSpec{}, providerError(err)
		}
		argv := []string{h.Python, "-u", "-"}
		if given {
			argv = []string{h.Python, "-u", "-c", code}
		}
		return protocol.ProcessSpec{Argv: argv, TimeoutSeconds: timeout.Seconds()}, nil
	}
}

// providerError is for errors of the way to a sandbox, which have no kind yet.
func providerError(err error) error {
	if err == nil || engine.KindOf(err) != engine.KindInternal {
		return err
	}
	return &engine.Error{Kind: engine.KindProvider, Err: err}
}

func readError(err error) error {
	var p *fs.PathError
	if ok := asPath(err, &p); ok {
		return fmt.Errorf("%s cannot be read: %w", p.Path, p.Err)
	}
	return err
}
