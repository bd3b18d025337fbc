package experimentcmd

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/sanitize"
)

func newDoctor(a app) *cobra.Command {
	var fix bool
	c := &cobra.Command{
		Use:   "doctor [--fix]",
		Short: "Check whether this computer has what Seer needs",
		Long: `Check Python, isolation, the runtime, VS Code, plugins and folders, and suggest what to
do if one is missing. Nothing is changed.

With --fix, install missing programs: bubblewrap with apt-get, as root or with sudo;
gVisor (built with Go) and code-server (built with npm) in ~/.local/share/seer/tools.`,
		Example: "  seer doctor\n  seer doctor --fix",
		Args:    cli.Args(0, 0, "no argument"),
		RunE: a.WithEngine(func(cmd *cobra.Command, e *engine.Engine, _ []string) error {
			var findings []engine.Finding
			var failed error
			if fix {
				findings, failed = e.Fix(cmd.Context(), a.UI.Progress)
			} else {
				findings = e.Doctor(cmd.Context())
			}
			if err := a.Print(findings, func(w io.Writer) error { return doctorText(w, findings) }); err != nil {
				return err
			}
			if failed != nil {
				return failed
			}
			return doctorFailure(findings)
		}),
	}
	c.Flags().BoolVar(&fix, "fix", false, "install missing programs")
	return c
}

func doctorText(w io.Writer, findings []engine.Finding) error {
	for _, f := range findings {
		mark := "ok"
		switch {
		case !f.OK && f.Optional:
			mark = "--"
		case !f.OK:
			mark = "!!"
		}
		detail := f.Detail
		if f.Fixed {
			detail += " (installed just now)"
		}
		if _, err := fmt.Fprintf(w, "%s  %-22s %s\n", mark, f.Name, sanitize.Line(detail)); err != nil {
			return err
		}
		if !f.OK && f.Fix != "" {
			fmt.Fprintf(w, "    %-22s %s\n", "", f.Fix)
			for _, hint := range cli.Hints(f.Remedies) {
				fmt.Fprintf(w, "    %-22s hint: %s\n", "", hint)
			}
		}
	}
	return nil
}

func doctorFailure(findings []engine.Finding) error {
	for _, f := range findings {
		if !f.OK && f.Needed() {
			return &engine.Error{Kind: engine.KindProvider, Err: errors.New("something that Seer needs is missing; see above")}
		}
	}
	return nil
}
