package snapshotcmd

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/engine"
)

func newSnapshotsTrust(a app) *cobra.Command {
	var signer, forget string
	c := &cobra.Command{
		Use:   "trust [NAME] [--signer FINGERPRINT | --forget FINGERPRINT]",
		Short: "Sign snapshots and manage trusted signers",
		Long: `Seer continues the processes of a snapshot only if you or a trusted signer has signed
it. Seer makes your key at its first use and signs the snapshots that you save.

With NAME: read the whole snapshot and sign it with your key, under this name. Use this
for snapshots that you saved without a signature. Never sign a snapshot of somebody whom
you do not trust: its author decides what is in the memory of the processes.

With --signer: trust all snapshots that this key signs. Its owner gets the fingerprint
from seer snapshots trust, and should send it to you separately from the file.

Without either: show the fingerprint of your key and the signers that you trust.`,
		Example: `  seer snapshots trust
  seer snapshots trust after-setup
  seer snapshots trust --signer SHA256:uNiVztksCsDhcc0u9e8BrMQkgKN7wSVo7RjAmTFI6Qw`,
		Args: cli.Args(0, 1, "at most a snapshot"), ValidArgsFunction: a.CompleteSnapshot,
		RunE: a.WithEngine(func(cmd *cobra.Command, e *engine.Engine, given []string) error {
			var err error
			switch {
			case signer != "" && forget != "" || len(given) == 1 && signer+forget != "":
				return cli.Usagef("give one of NAME, --signer and --forget")
			case len(given) == 1:
				return a.signSnapshot(cmd, e, given[0])
			case signer != "":
				err = e.TrustSigner(cmd.Context(), signer, true)
			case forget != "":
				err = e.TrustSigner(cmd.Context(), forget, false)
			}
			if err != nil {
				return err
			}
			return a.printSigners(cmd, e)
		}),
	}
	c.Flags().StringVar(&signer, "signer", "", "trust what the key with this `FINGERPRINT` signs")
	c.Flags().StringVar(&forget, "forget", "", "no longer trust the key with this `FINGERPRINT`")
	return c
}

func (a app) signSnapshot(cmd *cobra.Command, e *engine.Engine, name string) error {
	done := a.UI.Working("snapshot", "reading "+name)
	signed, err := e.SignSnapshot(cmd.Context(), name)
	done()
	if err != nil {
		return importError(err)
	}
	return a.Print(a.describeSnapshot(cmd.Context(), signed), func(io.Writer) error {
		return a.Println("signed " + signed.Name + ", " + signed.ID)
	})
}

func (a app) printSigners(cmd *cobra.Command, e *engine.Engine) error {
	signers, err := e.Signers(cmd.Context())
	if err != nil {
		return err
	}
	return a.Print(signers, func(w io.Writer) error {
		_, err := fmt.Fprintln(w, "yours   ", signers.Own)
		for _, fingerprint := range signers.Trusted {
			if err == nil {
				_, err = fmt.Fprintln(w, "trusted ", fingerprint)
			}
		}
		return err
	})
}
