package sandboxcmd

import (
	"context"
	"io"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/protocol"
)

func newShell(a app) *cobra.Command {
	return &cobra.Command{
		Use:   "shell ID [-- CMD…]",
		Short: "Open a terminal in a sandbox",
		Long: `Open a terminal in a sandbox, in /workspace, and run CMD in it (default: bash, or sh
if there is no bash). This needs a terminal here; without one, use seer exec. When
the connection is lost for good, the shell and its foreground processes end.`,
		Example:           "  seer shell lab\n  seer shell lab -- htop",
		Args:              cli.Args(1, -1, "a sandbox"),
		ValidArgsFunction: a.CompleteSandbox,
		RunE: func(cmd *cobra.Command, given []string) error {
			if a.JSON {
				return cli.Usagef("seer shell is a terminal and has no --json; run a command with: seer exec %s --json -- CMD", given[0])
			}
			if !a.UI.InputIsTerminal() || !term.IsTerminal(int(os.Stdout.Fd())) {
				return cli.Usagef("seer shell needs a terminal; run a command without one with: seer exec %s -- CMD", given[0])
			}
			s, err := a.Open(cmd.Context(), given[0])
			if err != nil {
				return err
			}
			defer s.Close()
			return cli.ExecFailure(a.shell(cmd.Context(), s, given[1:]))
		},
	}
}

const anyShell = `if command -v bash >/dev/null; then exec bash -i; fi; exec sh -i`

// shell runs a command on a terminal of the sandbox that mirrors this one.
func (a app) shell(ctx context.Context, s *engine.Sandbox, argv []string) error {
	fd := int(a.UI.In.Fd())
	cols, rows, err := term.GetSize(fd)
	if err != nil {
		return err
	}
	spec := protocol.ProcessSpec{ID: "p-" + protocol.NewToken()[:16], Argv: argv, PTY: &protocol.PTY{Rows: rows, Cols: cols, Term: os.Getenv("TERM")}}
	if len(argv) == 0 {
		spec.Shell = anyShell
	}
	before, err := term.MakeRaw(fd)
	if err != nil {
		return err
	}
	defer func() { _ = term.Restore(fd, before) }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go a.UI.FollowSize(ctx, func(rows, cols int) { _ = s.Runtime().Processes().Resize(ctx, spec.ID, rows, cols) })
	done, err := s.Exec(ctx, spec, a.UI.In, a.UI.Raw(a.UI.Out), io.Discard)
	if err != nil {
		return err
	}
	_ = term.Restore(fd, before) // what follows is for people
	a.tellEnd(ctx, s, done)
	return cli.PassThrough(done.ExitCode)
}
