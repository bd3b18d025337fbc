package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/cmd/seer/internal/term"
	"github.com/seer-engine/seer/engine/sanitize"
	"github.com/seer-engine/seer/engine/trust"
)

// trustFlags answer the question for an experiment's effects in advance.
type trustFlags struct{ always, once bool }

// AddTrust adds the flags that answer the question for an experiment's effects.
func (a *App) AddTrust(c *cobra.Command) {
	c.Flags().BoolVar(&a.trust.always, "trust", false, "confirm permanently what the experiment does beyond its folder\nand its confinement")
	c.Flags().BoolVarP(&a.trust.once, "yes", "y", false, "as --trust, but for this command only")
}

// askTrust shows the effects and asks for them, unless a flag has answered.
func (a *App) askTrust(ctx context.Context, e trust.Effects) (trust.Answer, error) {
	switch {
	case a.trust.always:
		a.tellEffects(e, "confirmed with --trust")
		return trust.Always, nil
	case a.trust.once:
		a.tellEffects(e, "confirmed with --yes")
		return trust.Once, nil
	}
	if !a.UI.CanAsk() {
		return trust.No, nil
	}
	a.tellEffects(e, "")
	if e.Unconfined {
		fmt.Fprintln(a.UI.Stderr(), "Unconfined code can read and change everything that you can. If the experiment is not\nyour own, confine it: --set agent.isolation=gvisor, --set sandbox.isolation=gvisor.")
	}
	yes, err := a.UI.Confirm(ctx, "Allow this now and from now on?")
	if errors.Is(err, term.ErrNotATerminal) || err == nil && !yes {
		return trust.No, nil
	}
	if err != nil {
		return trust.No, err
	}
	return trust.Always, nil
}

// tellEffects prints the lines, which the experiment's author has a part in.
func (a *App) tellEffects(e trust.Effects, how string) {
	if how != "" {
		a.UI.Tell("%s reaches beyond its folder and its confinement (%s):", sanitize.Text(e.Subject), how)
	} else {
		fmt.Fprintf(a.UI.Stderr(), "%s reaches beyond its folder and its confinement:\n", sanitize.Text(e.Subject))
	}
	for _, line := range e.Outside {
		if how != "" {
			a.UI.Tell("  %s", sanitize.Text(line))
			continue
		}
		fmt.Fprintf(a.UI.Stderr(), "  %s\n", sanitize.Text(line))
	}
}

// trustHint says how to answer where nobody could be asked.
func trustHint(err error) string {
	var refused *trust.Error
	if !errors.As(err, &refused) || refused.Reason != "" {
		return ""
	}
	return " (--trust confirms them for good, --yes this once)"
}
