package snapshotcmd

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/snapshot"
)

func newSnapshot(a app) *cobra.Command {
	var o engine.SaveOptions
	c := &cobra.Command{
		Use:   "snapshot ID [NAME] [--description TEXT] [--live | --memory]",
		Short: "Save a sandbox's files, here or at its provider",
		Long: `With NAME: save the working folder and the home of a running sandbox on this computer,
as layers in which only changes take space. seer up --snapshot NAME starts from the
snapshot, on any provider. Processes pause meanwhile, for at most a minute. With --live
they do not pause, and files may be saved while they are being written.

With --memory, also save the processes; seer up --snapshot then continues them in a new
sandbox. This needs isolation: gvisor and a network of its own. What the processes have
on a GPU is saved with them, and goes back to the same GPU.

Without NAME: save an image of the whole file system at the sandbox's provider, if it
supports that, and print the image's reference. An experiment starts from it with
image: {snapshot: REFERENCE}; seer up --snapshot takes a NAME only.

Snapshots outlive the sandbox.`,
		Example:           "  seer snapshot lab after-setup\n  seer up seer.yaml --snapshot after-setup\n  seer snapshot lab   # at the provider",
		Args:              cli.Args(1, 2, "the sandbox, and a name"),
		ValidArgsFunction: a.CompleteSandbox,
		RunE: a.WithEngine(func(cmd *cobra.Command, e *engine.Engine, given []string) error {
			if len(given) == 2 {
				o.Name, o.Progress = given[1], a.UI.Progress
				return a.save(cmd.Context(), e, given[0], o)
			}
			if o.Live || o.Memory || o.Description != "" {
				return cli.Usagef("--live, --memory and --description need a NAME")
			}
			image, err := e.Snapshot(cmd.Context(), given[0], a.UI.Progress)
			if err != nil {
				return err
			}
			return a.Print(map[string]string{"snapshot": image}, func(io.Writer) error { return a.Println(image) })
		}),
	}
	c.Flags().StringVar(&o.Description, "description", "", "`TEXT` that describes the snapshot")
	c.Flags().BoolVar(&o.Memory, "memory", false, "save the processes with their memory, too")
	c.Flags().BoolVar(&o.Live, "live", false, "do not pause the processes while saving")
	return c
}

func (a app) save(ctx context.Context, e *engine.Engine, ref string, o engine.SaveOptions) error {
	saved, err := e.Save(ctx, ref, o)
	if err != nil {
		return err
	}
	return a.Print(a.describeSnapshot(ctx, saved), func(io.Writer) error { return a.Println(saved.Name) })
}

// snapshotInfo is a snapshot as the commands tell it.
type snapshotInfo struct {
	Name string `json:"name"`
	ID   string `json:"id"`
	snapshot.Meta
	Trees   []snapshot.Tree `json:"trees"`
	Bytes   int64           `json:"bytes"`
	Signer  string          `json:"signer"` // "you", a trusted fingerprint, or why it is nobody of these
	Damaged string          `json:"damaged,omitempty"`
}

func (a app) describeSnapshot(ctx context.Context, s snapshot.Snapshot) snapshotInfo {
	info := snapshotInfo{Name: s.Name, ID: s.ID, Meta: s.Meta, Trees: s.Trees, Bytes: s.Bytes, Damaged: s.Damaged}
	if e, err := a.Engine(); err == nil {
		info.Signer = e.SignerOf(ctx, s)
	}
	return info
}
