package experimentcmd

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/doctor"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/sanitize"
)

// doctorFlags say what doctor looks at.
type doctorFlags struct {
	fix      bool
	provider string
	onNode   bool
	file     string
	set      []string
}

func newDoctor(a app) *cobra.Command {
	var f doctorFlags
	c := &cobra.Command{
		Use:   "doctor [--fix] [--provider P [--file FILE] [--on-node]]",
		Short: "Check whether this computer, or a provider, has what Seer needs",
		Long: `Check Python, isolation, the runtime, VS Code, plugins and folders, and suggest what to
do if one is missing. Nothing is changed.

With --fix, install missing programs: bubblewrap with apt-get, as root or with sudo;
gVisor (built with Go) and code-server (built with npm) in ~/.local/share/seer/tools.

With --provider, a provider of your own machines (ssh, slurm, kubernetes) checks what its
machines need: login, disk, GPUs, Python, isolation, connections, limits. seer up, run
and plan make the same checks before they queue anything. They reuse findings for 10
minutes, but never a failure. --file checks what that experiment needs, with its
provider_options; --set overrides its fields. --on-node lets a batch system queue a job
of some seconds that checks a compute node. The checks change nothing else.`,
		Example: "  seer doctor\n  seer doctor --fix\n  seer doctor --provider slurm --file seer.yaml --on-node",
		Args:    cli.Args(0, 0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			findings, failed := a.doctor(cmd.Context(), f)
			if findings == nil && failed != nil {
				return failed
			}
			if err := a.Print(findings, func(w io.Writer) error { return doctorText(w, findings) }); err != nil {
				return err
			}
			if failed != nil {
				return failed
			}
			return doctorFailure(findings)
		},
	}
	c.Flags().BoolVar(&f.fix, "fix", false, "install missing programs")
	c.Flags().StringVar(&f.provider, "provider", "", "check what machines of this `provider` need")
	_ = c.RegisterFlagCompletionFunc("provider", a.CompleteProvider)
	c.Flags().StringVar(&f.file, "file", "", "check what the experiment `FILE` needs (default: what most machines need)")
	c.Flags().BoolVar(&f.onNode, "on-node", false, "allow a short job that checks a compute node")
	cli.AddSet(c, &f.set)
	return c
}

// doctor looks at this computer, or at a provider. Nil findings with an error mean that it could
// not begin.
func (a app) doctor(ctx context.Context, f doctorFlags) ([]engine.Finding, error) {
	switch {
	case f.provider == "" && (f.onNode || f.file != "" || len(f.set) > 0):
		return nil, cli.Usagef("--on-node, --file and --set go with --provider")
	case f.provider != "" && f.fix:
		return nil, cli.Usagef("--fix is about this computer; leave out --provider")
	}
	exp, err := a.doctored(ctx, f)
	if err != nil {
		return nil, err
	}
	e, err := a.Engine()
	switch {
	case err != nil:
		return nil, err
	case f.fix:
		return e.Fix(ctx, a.UI.Progress)
	case f.provider == "":
		return e.Doctor(ctx), nil
	}
	if err := e.CheckProviders(ctx, f.provider); err != nil {
		return nil, err
	}
	done := a.UI.Working("doctor", "asking the provider "+f.provider)
	defer done()
	return e.Doctor(ctx, doctor.Query{Provider: f.provider, Experiment: exp, OnNode: f.onNode}), nil
}

// doctored is the experiment whose machine is looked at: that of the file, or one that has only
// what --set says; nil = any.
func (a app) doctored(ctx context.Context, f doctorFlags) (*experiment.Experiment, error) {
	switch {
	case f.file != "":
		return a.LoadExperiment(ctx, f.file, f.set)
	case len(f.set) > 0:
		return experiment.Parse(fmt.Appendf(nil, "name: doctor\nsandbox: {provider: %q}\n", f.provider), "doctor.yaml", experiment.LoadOptions{Set: f.set})
	}
	return nil, nil
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
		if _, err := fmt.Fprintf(w, "%s  %-22s %s\n", mark, sanitize.Line(f.Name), sanitize.Line(detail)); err != nil {
			return err
		}
		if !f.OK && f.Fix != "" {
			fmt.Fprintf(w, "    %-22s %s\n", "", sanitize.Line(f.Fix))
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
