package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/engine"
)

func newDoctor(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "doctor",
		Short:   "Look whether this computer has what Seer needs",
		Long:    "Look at Python, isolation, the runtime, plugins and folders, and say what to do\nabout what is missing. Nothing is changed.",
		Example: "  seer doctor",
		Args:    args(0, 0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			e, err := a.engine()
			if err != nil {
				return err
			}
			findings := e.Doctor(cmd.Context())
			if err := a.print(findings, func(w io.Writer) error { return doctorText(w, findings) }); err != nil {
				return err
			}
			return doctorFailure(findings)
		},
	}
}

func doctorText(w io.Writer, findings []engine.Finding) error {
	for _, f := range findings {
		mark := "ok"
		if !f.OK {
			mark = "!!"
		}
		if _, err := fmt.Fprintf(w, "%s  %-22s %s\n", mark, f.Name, f.Detail); err != nil {
			return err
		}
		if !f.OK && f.Fix != "" {
			fmt.Fprintf(w, "    %-22s %s\n", "", f.Fix)
		}
	}
	return nil
}

// doctorFailure does not count isolation: one kind of it is always usable, and an
// experiment that asks for another is refused with the reason.
func doctorFailure(findings []engine.Finding) error {
	for _, f := range findings {
		if !f.OK && !strings.HasPrefix(f.Name, "isolation ") {
			return &engine.Error{Kind: engine.KindProvider, Err: errors.New("something that Seer needs is missing; see above")}
		}
	}
	return nil
}
