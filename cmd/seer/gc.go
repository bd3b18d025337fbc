package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/machine"
)

func newGC(a *app) *cobra.Command {
	var providers []string
	c := &cobra.Command{
		Use:   "gc [--provider P]",
		Short: "End what has no right to live, remove what crashes left",
		Long: `End sandboxes whose lease has ended and starts whose program has died, and remove
what machines that ended by themselves left behind. A sandbox with a valid lease
is never touched.

With --provider only that one is asked, also when no sandbox here is known to be on
it: machines of this computer that its records have lost are shown, and ended when
the time that was set for them has passed. Machines of others who share the account
are never touched.`,
		Example: "  seer gc\n  seer gc --provider runpod\n  seer gc --json",
		Args:    args(0, 0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			e, err := a.engine()
			if err != nil {
				return err
			}
			report, err := e.GC(cmd.Context(), providers...)
			if err != nil {
				return err
			}
			if err := a.print(report, func(w io.Writer) error { return gcText(a, w, report) }); err != nil {
				return err
			}
			return gcFailure(report)
		},
	}
	c.Flags().StringArrayVar(&providers, "provider", nil, "only this `provider`; may be repeated")
	return c
}

func gcText(a *app, w io.Writer, r machine.GCReport) error {
	n := 0
	for _, part := range []struct {
		what  string
		items []machine.GCItem
	}{{"ended", r.Ended}, {"cleaned", r.Cleaned}, {"forgot", r.Forgotten}, {"left alone", r.Unrecorded}, {"failed", r.Failed}} {
		for _, i := range part.items {
			n++
			if _, err := fmt.Fprintf(w, "%-10s %s: %s\n", part.what, itemName(i), i.Why); err != nil {
				return err
			}
		}
	}
	if n == 0 {
		a.ui.tell("Nothing to clean up.")
	}
	return nil
}

func itemName(i machine.GCItem) string {
	for _, name := range []string{i.ID, i.Handle, i.Provider} {
		if name != "" {
			return name
		}
	}
	return "-"
}

func gcFailure(r machine.GCReport) error {
	if len(r.Failed) == 0 {
		return nil
	}
	return &engine.Error{Kind: engine.KindProvider, Err: errors.New("something could not be cleaned up; run seer gc again later")}
}
