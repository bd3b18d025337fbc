// Package runscmd has the commands for the runs that are kept as folders.
package runscmd

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/cmd/seer/internal/term"
	"github.com/seer-engine/seer/engine/runs"
	"github.com/seer-engine/seer/engine/sanitize"
	"github.com/seer-engine/seer/engine/state"
)

// Writers write a run in other formats; nil = this program does not.
type Writers struct {
	HTML    func(w io.Writer, r *runs.Run) error // one page that needs nothing else
	Inspect func(w io.Writer, r *runs.Run) error // an .eval log of Inspect
}

// app has the work of the commands as its methods.
type app struct {
	*cli.App
	writers Writers
}

// New makes the family of commands.
func New(base *cli.App, w Writers) *cobra.Command {
	a := app{base, w}
	return cli.Family("runs", "List, show, compare, export and remove runs", newLs(a), newShow(a), newDiff(a), newOpen(a), newExport(a), newRm(a))
}

// folders opens Seer's folders on this computer.
func (a app) folders() (*state.Store, error) {
	return state.Open(state.Options{StateDir: a.StateDir, Getenv: os.Getenv})
}

// remembered are the folders of this user's runs. Without them, those of the working folder are
// shown.
func (a app) remembered() []string {
	s, err := a.folders()
	var dirs []string
	if err == nil {
		dirs, err = runs.Remembered(s.StateDir())
	}
	if err != nil {
		a.UI.Note("warning", fmt.Sprintf("only the runs of this folder are known: %v", err))
	}
	return dirs
}

// roots are where runs are looked for when nobody says where.
func (a app) roots() []string { return append([]string{runs.DefaultRoot}, a.remembered()...) }

// find finds the run that an argument means. The newest run is that of the working folder, if it has
// any.
func (a app) find(ref string) (*runs.Run, error) {
	if ref == runs.LatestName {
		if r, err := runs.Find(ref, runs.DefaultRoot); err == nil {
			return r, nil
		}
	}
	return runs.Find(ref, a.roots()...)
}

// with makes a Run of one that needs the runs of its arguments; no argument means the newest run.
func (a app) with(run func(cmd *cobra.Command, all []*runs.Run) error) cli.Run {
	return func(cmd *cobra.Command, given []string) error {
		if len(given) == 0 {
			given = []string{runs.LatestName}
		}
		var all []*runs.Run
		for _, ref := range given {
			r, err := a.find(ref)
			if err != nil {
				return err
			}
			all = append(all, r)
		}
		return run(cmd, all)
	}
}

// complete offers the runs that are not named yet, as many as the command takes.
func (a app) complete(most int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
		if most >= 0 && len(given) >= most {
			return nil, cli.NoFiles
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), cli.CompleteWithin)
		defer cancel()
		found := make(chan []runs.Summary, 1)
		go func() { // the program ends with it
			all, _ := runs.List(a.roots()...) // what can be read is offered
			found <- all
		}()
		var refs []string
		select {
		case all := <-found:
			for _, s := range all {
				if !named(given, s) {
					refs = append(refs, sanitize.Line(s.ID)+"\t"+sanitize.Line(fmt.Sprintf("%s, %s, %s", s.State, s.Experiment, ago(s.Started))))
				}
			}
		case <-ctx.Done():
		}
		return refs, cli.NoFiles
	}
}

func named(given []string, s runs.Summary) bool {
	for _, ref := range given {
		if ref != "" && strings.HasPrefix(s.ID, ref) {
			return true
		}
	}
	return false
}

// ago formats a time for lists, relative to now.
func ago(t time.Time) string {
	d := time.Since(t)
	if d < 0 {
		return term.Clock(t)
	}
	return term.Span(d) + " ago"
}

// dollars are what a run has cost; with a mark where the price of a model is not known.
func dollars(usd float64, more bool) string {
	text := fmt.Sprintf("$%.2f", usd)
	if more {
		text += "+"
	}
	return text
}

// agentText is the agent of a run in a few words.
func agentText(s runs.Summary) string {
	text := strings.TrimSpace(s.Provider + " " + s.Model)
	if text == "" {
		return "-"
	}
	return text
}
