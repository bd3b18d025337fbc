package agentcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/agent/doctor"
	"github.com/seer-engine/seer/engine/sanitize"
	"github.com/seer-engine/seer/engine/trust"
)

const doctorLong = `Run the programs of agents that are installed on this computer, each as seer run runs
it, against a scripted language model, and say what works: whether a program starts
without a terminal, reads its prompt, sees its MCP servers, may call their tools,
passes handles on, survives a long call, ends its turn, sees none of your
configuration, stops on a signal, reports a model that fails, and leaves no process.

Without a PROVIDER, all programs with a profile are tried: Claude Code, Codex, Gemini
CLI, opencode, and those of your own profiles.

No money is spent: the model is a part of Seer, and a made-up key takes the place of
yours. Nothing is sent beyond the loopback of this computer. Without isolation,
nothing can keep a program from the network.

The exit code is 11 if a program fails a check, and 4 if a PROVIDER, or each program,
is not installed.`

type doctorCommand struct {
	app  *cli.App
	opts doctor.Options
}

func newDoctor(a *cli.App) *cobra.Command {
	d := &doctorCommand{app: a}
	c := &cobra.Command{
		Use: "doctor [PROVIDER]...", Short: "Try the programs of agents against a scripted model", Long: doctorLong,
		Example: `  seer agent doctor
  seer agent doctor claude codex
  seer agent doctor gemini --isolation gvisor`,
		RunE: func(cmd *cobra.Command, given []string) error { return d.run(cmd.Context(), given) },
	}
	c.Flags().StringVar(&d.opts.Isolation, "isolation", "auto", "isolation of the programs: auto, bubblewrap, gvisor or none")
	c.Flags().DurationVar(&d.opts.Timeout, "timeout", 3*time.Minute, "time limit of each of the three runs of a program")
	return c
}

func (d *doctorCommand) run(ctx context.Context, given []string) error {
	if d.opts.Timeout <= 0 {
		return cli.Usagef("--timeout %s is not a time to wait; use one such as 3m", d.opts.Timeout)
	}
	e, err := d.app.EngineWith(func(o *engine.Options) {
		o.LookupEnv, o.Trust = doctor.LookupEnv(os.LookupEnv), trust.All
	})
	if err != nil {
		return err
	}
	o := d.opts
	if o.Seer, err = os.Executable(); err != nil {
		return err
	}
	ui := d.app.UI
	o.Providers, o.Progress = given, func(title, what string) { ui.Show("agent", title+": "+what) }
	d.app.Stop.SetCleanup("ending the agent that is being tried, and its sandbox")
	reports, err := doctor.Check(ctx, e, o)
	ui.Hide()
	if len(reports) > 0 || err == nil {
		if printed := d.app.Print(reports, func(w io.Writer) error { return doctorText(w, reports) }); err == nil {
			err = printed
		}
	}
	if err != nil {
		return err
	}
	return doctorFailure(reports, len(given) > 0)
}

func doctorText(w io.Writer, reports []doctor.Report) error {
	for i, r := range reports {
		gap := "\n"
		if i == 0 {
			gap = ""
		}
		head := sanitize.Line(strings.TrimSpace(r.Title + " " + r.Version))
		if r.Isolation != "" {
			head += fmt.Sprintf(" (isolation: %s, %.0f s)", r.Isolation, r.Seconds)
		}
		if _, err := fmt.Fprintf(w, "%s%s\n", gap, head); err != nil {
			return err
		}
		for _, f := range r.Findings {
			if f.State == doctor.Skipped && f.Detail == "" {
				continue
			}
			fmt.Fprintf(w, "%s  %-32s %s\n", marks[f.State], doctor.Title(f.Check), sanitize.Line(f.Detail))
			if f.Remedy != "" {
				fmt.Fprintf(w, "    %-32s %s\n", "", sanitize.Line(f.Remedy))
			}
		}
	}
	return nil
}

var marks = map[doctor.State]string{doctor.OK: "ok", doctor.Failed: "!!", doctor.Absent: "--", doctor.Skipped: "--"}

// doctorFailure is what came of all programs. One that is absent is a failure only if it was named,
// or if none was tried.
func doctorFailure(reports []doctor.Report, named bool) error {
	of := map[doctor.State][]string{}
	for _, r := range reports {
		of[r.State] = append(of[r.State], r.Title)
	}
	absent, skipped := strings.Join(of[doctor.Absent], ", "), strings.Join(of[doctor.Skipped], ", ")
	switch {
	case len(of[doctor.Failed]) > 0:
		err := fmt.Errorf("not all checks passed for %s; see above", strings.Join(of[doctor.Failed], ", "))
		return &cli.ExitError{Code: cli.ExitAgent, Kind: "agent", Err: err}
	case named && absent != "":
		return &engine.Error{Kind: engine.KindNotFound, Err: fmt.Errorf("%s: not installed; see above", absent)}
	case named && skipped != "":
		return &engine.Error{Kind: engine.KindUnsupported, Err: fmt.Errorf("%s cannot be tried; see above", skipped)}
	case len(of[doctor.OK]) == 0:
		return &engine.Error{Kind: engine.KindNotFound, Err: errors.New("no program could be tried; install one of those above")}
	}
	return nil
}
