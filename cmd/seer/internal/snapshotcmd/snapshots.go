package snapshotcmd

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/cmd/seer/internal/term"
	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/snapshot"
	"github.com/seer-engine/seer/engine/trust"
)

func newSnapshots(a app) *cobra.Command {
	return cli.Family("snapshots", "Manage the snapshots of this computer", newSnapshotsLs(a), newSnapshotsRm(a), newSnapshotsVerify(a), newSnapshotsExport(a), newSnapshotsImport(a), newSnapshotsTrust(a))
}

func newSnapshotsLs(a app) *cobra.Command {
	return &cobra.Command{
		Use: "ls", Short: "List snapshots, newest first", Long: "List the snapshots of this computer, newest first. The size includes data that a\nsnapshot shares with others.",
		Example: "  seer snapshots ls\n  seer snapshots ls --json | jq -r '.[].name'",
		Args:    cli.Args(0, 0, "nothing"),
		RunE: a.WithSnapshots(func(cmd *cobra.Command, store *snapshot.Store, _ []string) error {
			all, err := store.List(cmd.Context())
			if err != nil {
				return err
			}
			infos := []snapshotInfo{}
			for _, s := range all {
				infos = append(infos, a.describeSnapshot(cmd.Context(), s))
			}
			return a.Print(infos, func(w io.Writer) error {
				if len(infos) == 0 {
					a.UI.Tell("No snapshots. Make one with: seer snapshot ID NAME")
					return nil
				}
				var rows [][]string
				for _, i := range infos {
					what := i.Description
					if i.Damaged != "" {
						what = "DAMAGED: " + i.Damaged
					}
					rows = append(rows, []string{i.Name, term.Clock(i.Created), term.Size(i.Bytes), strings.TrimSpace(i.Sandbox + " " + i.Provider), what})
				}
				return term.PrintTable(w, a.UI.Width(), []term.Column{{Title: "NAME"}, {Title: "CREATED", Drop: 2}, {Title: "SIZE", Drop: 3}, {Title: "FROM", Drop: 4}, {Title: "DESCRIPTION", Drop: 1}}, rows)
			})
		}),
	}
}

func newSnapshotsRm(a app) *cobra.Command {
	return &cobra.Command{
		Use: "rm NAME…", Short: "Remove snapshots", Long: "Remove snapshots. Data that they share with others stays.",
		Example: "  seer snapshots rm after-setup", Args: cli.Args(1, -1, "a snapshot"), ValidArgsFunction: a.CompleteSnapshot,
		RunE: a.WithSnapshots(func(cmd *cobra.Command, store *snapshot.Store, given []string) error {
			removed, errs := []string{}, []error{}
			for _, name := range given {
				if err := store.Remove(cmd.Context(), name); err != nil {
					errs = append(errs, err)
					continue
				}
				removed = append(removed, name)
			}
			err := a.Print(removed, func(w io.Writer) error {
				_, err := fmt.Fprint(w, strings.Join(append(removed, ""), "\n"))
				return err
			})
			return errors.Join(append(errs, err)...)
		}),
	}
}

func newSnapshotsVerify(a app) *cobra.Command {
	return &cobra.Command{
		Use: "verify NAME…", Short: "Read whole snapshots and report damage", Long: "Read whole snapshots and report damage. seer up also verifies what it reads.",
		Example: "  seer snapshots verify after-setup", Args: cli.Args(1, -1, "a snapshot"), ValidArgsFunction: a.CompleteSnapshot,
		RunE: a.WithSnapshots(func(cmd *cobra.Command, store *snapshot.Store, given []string) error {
			var errs []error
			for _, name := range given {
				done := a.UI.Working("snapshot", "verifying "+name)
				err := store.Verify(cmd.Context(), name)
				if done(); err != nil {
					errs = append(errs, importError(err))
				}
			}
			if err := errors.Join(errs...); err != nil {
				return err
			}
			return a.Print(given, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "whole: %s\n", strings.Join(given, ", "))
				return err
			})
		}),
	}
}

func newSnapshotsExport(a app) *cobra.Command {
	return &cobra.Command{
		Use: "export NAME FILE", Short: "Write a snapshot to one file", Long: "Write a snapshot to one file, a tar with an OCI image layout, for an import elsewhere.\nThe FILE - is standard output.",
		Example: "  seer snapshots export after-setup after-setup.tar\n  seer snapshots export after-setup - | ssh lab seer snapshots import -",
		Args:    cli.Args(2, 2, "a snapshot and a file"), ValidArgsFunction: a.completeSnapshotThenFile,
		RunE: a.WithSnapshots(func(cmd *cobra.Command, store *snapshot.Store, given []string) error {
			if given[1] == "-" {
				if a.UI.Width() > 0 {
					return cli.Usagef("an archive is not for a terminal; write it to a file, or into a pipe")
				}
				return store.Export(cmd.Context(), given[0], a.UI.Out) // not guarded: what waits for its reader keeps no word back
			}
			m := a.UI.NewMeter("snapshot", "exporting "+given[0], 0)
			err := store.ExportFile(cmd.Context(), given[0], given[1], m.Writer)
			m.End(err)
			if err != nil {
				return err
			}
			return a.Print(map[string]string{"file": given[1]}, func(io.Writer) error { return a.Println(given[1]) })
		}),
	}
}

func newSnapshotsImport(a app) *cobra.Command {
	var name string
	c := &cobra.Command{
		Use: "import FILE [--name NAME]", Short: "Import an exported snapshot", Long: "Import a file that seer snapshots export has written. Seer verifies everything first.\nThe FILE - is standard input.",
		Example: "  seer snapshots import after-setup.tar --name theirs", Args: cli.Args(1, 1, "a file"),
		RunE: a.WithSnapshots(func(cmd *cobra.Command, store *snapshot.Store, given []string) error {
			in := a.UI.In
			if given[0] != "-" {
				file, err := os.Open(given[0])
				if err != nil {
					return importError(err)
				}
				defer file.Close()
				in = file
			}
			total := int64(0)
			if info, err := in.Stat(); err == nil && info.Mode().IsRegular() {
				total = info.Size()
			}
			m := a.UI.NewMeter("snapshot", "importing "+given[0], total)
			saved, err := store.Import(cmd.Context(), m.Reader(in), name)
			m.End(err)
			if err != nil {
				return importError(fmt.Errorf("import %s: %w", given[0], err))
			}
			info := a.describeSnapshot(cmd.Context(), saved)
			if saved.Kind == snapshot.Memory && info.Signer != trust.OwnKey {
				a.UI.Tell("%s has processes; signer: %s. See: seer snapshots trust --help", saved.Name, info.Signer)
			}
			return a.Print(info, func(io.Writer) error { return a.Println(saved.Name) })
		}),
	}
	c.Flags().StringVar(&name, "name", "", "name of the snapshot here (default: its former name)")
	return c
}

// importError is what is wrong with a snapshot or its file, if it is not something else.
func importError(err error) error {
	var exists *snapshot.ExistsError
	switch {
	case errors.As(err, &exists):
		return &engine.Error{Kind: engine.KindConflict, Err: err}
	case engine.KindOf(err) == engine.KindInternal:
		return &engine.Error{Kind: engine.KindConfig, Err: err}
	}
	return err
}

func (a app) completeSnapshotThenFile(cmd *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(given) == 0 {
		return a.CompleteSnapshot(cmd, nil, "")
	}
	return nil, cobra.ShellCompDirectiveDefault
}
