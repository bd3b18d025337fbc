package sandboxcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/cmd/seer/internal/term"
	"github.com/seer-engine/seer/engine"
)

func newDown(a app) *cobra.Command {
	var all bool
	var save string
	c := &cobra.Command{
		Use:               "down ID… [--snapshot NAME] | --all",
		Short:             "End sandboxes and everything in them",
		Long:              "End sandboxes, their processes, functions and files. A sandbox that has already\nended is not an error. With --snapshot, Seer saves the sandbox first and keeps it\nrunning if that fails.",
		Example:           "  seer down lab\n  seer down lab --snapshot after-setup\n  seer down sb-4k sb-9x\n  seer down --all",
		ValidArgsFunction: a.CompleteSandboxes,
		Args: func(cmd *cobra.Command, given []string) error {
			if all == (len(given) > 0) {
				return cli.Usagef("name the sandboxes to end, or --all for every one: %s", cmd.UseLine())
			}
			if save != "" && len(given) != 1 {
				return cli.Usagef("--snapshot is for one sandbox: %s", cmd.UseLine())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, given []string) error {
			if save != "" {
				if err := a.saveFirst(cmd.Context(), given[0], save); err != nil {
					return err
				}
			}
			return a.down(cmd.Context(), given, all)
		},
	}
	c.Flags().BoolVar(&all, "all", false, "every live sandbox")
	c.Flags().StringVar(&save, "snapshot", "", "save the sandbox as snapshot `NAME` first")
	return c
}

// saveFirst saves a sandbox that is to be ended. One that an earlier command has saved under this
// name and ended is no error: the advice for a taken name, to remove the snapshot, would take the
// only copy of its files.
func (a app) saveFirst(ctx context.Context, ref, name string) error {
	e, err := a.Engine()
	if err != nil {
		return err
	}
	_, err = e.Save(ctx, ref, engine.SaveOptions{Name: name, Progress: a.UI.Progress})
	if engine.KindOf(err) != engine.KindConflict {
		return err
	}
	info, failed := e.Show(ctx, ref)
	if failed != nil || info.State.Live() {
		return err
	}
	store, failed := e.Snapshots()
	if failed != nil {
		return err
	}
	saved, failed := store.Get(ctx, name)
	if failed != nil || saved.Sandbox != info.ID || saved.Damaged != "" {
		return err
	}
	a.UI.Note("warning", fmt.Sprintf("%s has ended already, so nothing was saved; its snapshot %s is of %s", info.ID, name, term.Clock(saved.Created)))
	return nil
}

// ended is one line of down's result.
type ended struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
}

func (a app) down(ctx context.Context, refs []string, all bool) error {
	e, err := a.Engine()
	if err != nil {
		return err
	}
	if all {
		if refs, err = liveRefs(ctx, e); err != nil {
			return err
		}
	}
	done, err := endAll(ctx, e, refs)
	perr := a.Print(done, func(w io.Writer) error {
		for _, d := range done {
			if _, err := fmt.Fprintln(w, d.ID); err != nil {
				return err
			}
		}
		if len(refs) == 0 {
			a.UI.Tell("No sandboxes.")
		}
		return nil
	})
	return errors.Join(err, perr)
}

func liveRefs(ctx context.Context, e *engine.Engine) ([]string, error) {
	infos, err := e.Sandboxes(ctx, false)
	var refs []string
	for _, i := range infos {
		if i.State.Live() {
			refs = append(refs, i.ID)
		}
	}
	return refs, err
}

// endAll ends what it can, several at a time. The first failure does not spare the
// rest.
func endAll(ctx context.Context, e *engine.Engine, refs []string) ([]ended, error) {
	done := []ended{}
	var errs []error
	var mu sync.Mutex
	var g errgroup.Group
	g.SetLimit(8)
	for _, ref := range refs {
		g.Go(func() error {
			info, err := e.Show(ctx, ref)
			if err == nil {
				err = e.Terminate(ctx, info.ID)
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				errs = append(errs, err)
				return nil
			}
			done = append(done, ended{info.ID, info.Name})
			return nil
		})
	}
	_ = g.Wait() // collected in errs
	return done, errors.Join(errs...)
}
