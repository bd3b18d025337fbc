package sandboxcmd

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/protocol"
)

const execExit = `
The exit code is the command's own: 124 when --timeout ended it, 128+n when signal
n did, and 125 when Seer itself failed or there is no such command. Ctrl-C interrupts
the command; a second one kills it.`

func newExec(a app) *cobra.Command {
	var timeout time.Duration
	var interactive bool
	c := &cobra.Command{
		Use:   "exec ID [--timeout D] -- CMD…",
		Short: "Run a command in a sandbox",
		Long: `Run a command in a sandbox, in /workspace, and stream its output. The command reads
your standard input; if that is a terminal, only with -i. The command has no terminal
of its own: seer exec -i lab -- bash reads your lines, but shows no prompt.
` + execExit,
		Example: `  seer exec lab -- python3 -c 'print(6*7)'
  seer exec lab --timeout 5m -- bash -c 'pip list | wc -l'
  echo hello | seer exec lab -- cat`,
		Args: func(cmd *cobra.Command, given []string) error {
			if len(given) < 2 || (cmd.ArgsLenAtDash() >= 0 && cmd.ArgsLenAtDash() != 1) {
				return cli.Usagef("seer exec needs a sandbox and a command: %s", cmd.UseLine())
			}
			return cli.CheckTimeout(timeout)
		},
		ValidArgsFunction: a.CompleteSandbox,
		RunE: func(cmd *cobra.Command, given []string) error {
			return cli.ExecFailure(a.exec(cmd.Context(), given[0], interactive, func(context.Context, *engine.Sandbox) (protocol.ProcessSpec, error) {
				return protocol.ProcessSpec{Argv: given[1:], TimeoutSeconds: timeout.Seconds()}, nil
			}))
		},
	}
	c.Flags().DurationVar(&timeout, "timeout", 0, "kill the command after this long, as in 90s or 5m (default: no limit)")
	c.Flags().BoolVarP(&interactive, "stdin", "i", false, "pass standard input also from a terminal")
	return c
}

// exec runs a process to its end and passes its exit code on.
func (a app) exec(ctx context.Context, ref string, interactive bool, spec func(context.Context, *engine.Sandbox) (protocol.ProcessSpec, error)) error {
	s, err := a.Open(ctx, ref)
	if err != nil {
		return err
	}
	defer s.Close()
	process, err := spec(ctx, s)
	if err != nil {
		return err
	}
	process.ID = "p-" + protocol.NewToken()[:16] // known before it runs, so that it can be interrupted
	a.Stop.Intercept(func() bool { return interrupt(ctx, s, process.ID) })
	stdout, stderr, end := a.Streams()
	done, err := s.Exec(ctx, process, a.stdin(interactive), stdout, stderr)
	a.Stop.Intercept(nil)
	if ferr := end(); err == nil {
		err = ferr
	}
	if err != nil {
		return err
	}
	a.tellEnd(ctx, s, done)
	if a.JSON {
		if err := a.PrintJSON(map[string]protocol.Process{"result": done}); err != nil {
			return err
		}
	}
	return cli.PassThrough(done.ExitCode)
}

// endPatience is how long a provider may take to say why a machine has ended.
const endPatience = 15 * time.Second

// tellEnd says why a process was killed, if its sandbox ended.
func (a app) tellEnd(ctx context.Context, s *engine.Sandbox, done protocol.Process) {
	if !done.MachineEnds {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, endPatience)
	defer cancel()
	why := s.Runtime().AwaitEnd(ctx)
	if why == nil {
		why = errors.New("the machine ends, and its provider does not say why yet; see seer ls")
	}
	a.UI.Tell("The command was killed with its sandbox: %v", why)
}

// interrupt sends Ctrl-C on to a process. It reports whether that worked.
func interrupt(ctx context.Context, s *engine.Sandbox, id string) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	return s.Runtime().Processes().Signal(ctx, id, "INT") == nil
}

// stdin is what a command in the sandbox reads; nil = nothing.
func (a app) stdin(interactive bool) io.Reader {
	if !interactive && a.UI.InputIsTerminal() {
		return nil
	}
	return a.UI.In
}
