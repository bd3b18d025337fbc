package sandboxcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/cmd/seer/internal/term"
	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/sanitize"
	"github.com/seer-engine/seer/sdk"
)

func newGC(a app) *cobra.Command {
	var providers []string
	var disk diskFlags
	c := &cobra.Command{
		Use:   "gc [--provider P] [--unused DAYS] [--keep GB] [--dry-run]",
		Short: "Delete expired sandboxes and what crashes left behind",
		Long: `Delete sandboxes whose lease has expired, starts whose program has died, and files
that ended machines left behind. gc never touches a sandbox with a valid lease. A
cloud may list the machine of a killed start only after some time, so gc looks again
until no such machine can appear, for up to 90 seconds.

With --provider, gc asks only that provider, even if no known sandbox is there. It
shows machines that this computer started but has no record of, and deletes them
after their time limit. It never touches machines of others who share the account. On
hosts and clusters of your own it also removes Seer's programs and cache that no
machine uses, and what ended machines have left.

Starts cache layers of packages, unpacked images, systems with packages and copies of
hidden models on this computer. gc removes entries that nobody has used for 30 days;
starts do the same once a day. Entries that a sandbox or a snapshot needs stay. With
--dry-run, gc ends and removes nothing, and looks for no expired sandboxes. It lists
the cache entries that it would remove on this computer or at the named providers.`,
		Example: "  seer gc\n  seer gc --dry-run --unused 7\n  seer gc --keep 20\n  seer gc --provider runpod",
		Args:    cli.Args(0, 0, "no argument"),
		RunE: a.WithEngine(func(cmd *cobra.Command, e *engine.Engine, _ []string) error {
			disk.limited = cmd.Flags().Changed("keep")
			done := a.UI.Working("gc", "looking for expired sandboxes and unused cache entries")
			report, err := disk.collect(cmd.Context(), e, providers)
			done()
			if err != nil && !hasItems(report) {
				return err
			}
			if err := a.Print(withEmptyLists(report), func(w io.Writer) error { return gcText(a, w, report, disk.dryRun) }); err != nil {
				return err
			}
			return cmp.Or(err, gcFailure(report, a.provides(cmd.Context())))
		}),
	}
	c.Flags().StringArrayVar(&providers, "provider", nil, "only this `provider`; may be repeated")
	_ = c.RegisterFlagCompletionFunc("provider", a.CompleteProvider)
	c.Flags().IntVar(&disk.unused, "unused", 30, "remove cache entries that nobody has used for this many `days`")
	c.Flags().Float64Var(&disk.keep, "keep", 0, "keep at most this many `GB` of the cache (default: no limit); entries used in\nthe last day always stay")
	c.Flags().BoolVar(&disk.dryRun, "dry-run", false, "list the cache entries that gc would remove, and their size; remove nothing")
	return c
}

const (
	mostDays = 36500 // a century, which a time can hold
	mostGB   = 1e9
)

// listedReport is a report with all its lists, also those that are empty.
type listedReport struct {
	Ended      []machine.GCItem `json:"ended"`
	Cleaned    []machine.GCItem `json:"cleaned"`
	Forgotten  []machine.GCItem `json:"forgotten"`
	Unrecorded []machine.GCItem `json:"unrecorded"`
	Failed     []machine.GCItem `json:"failed"`
}

func withEmptyLists(r machine.GCReport) listedReport {
	l := listedReport(r)
	for _, items := range []*[]machine.GCItem{&l.Ended, &l.Cleaned, &l.Forgotten, &l.Unrecorded, &l.Failed} {
		if *items == nil {
			*items = []machine.GCItem{}
		}
	}
	return l
}

// hasItems reports whether there is anything in a report.
func hasItems(r machine.GCReport) bool {
	return len(r.Ended)+len(r.Cleaned)+len(r.Forgotten)+len(r.Unrecorded)+len(r.Failed) > 0
}

// diskFlags say what is removed of what starts have made on this computer.
type diskFlags struct {
	unused  int
	keep    float64
	limited bool // keep was given
	dryRun  bool
}

// collect ends and removes what is to be. At other providers than this computer's there is
// nothing of the disk.
func (f diskFlags) collect(ctx context.Context, e *engine.Engine, providers []string) (report machine.GCReport, err error) {
	if f.unused < 1 || f.unused > mostDays {
		return report, cli.Usagef("--unused takes a number of days from 1 to %d", mostDays)
	}
	if math.IsNaN(f.keep) || f.keep < 0 || f.keep > mostGB {
		return report, cli.Usagef("--keep takes a size in GB, from 0 to %.0f", mostGB)
	}
	if f.dryRun {
		err = e.CheckProviders(ctx, providers...)
	} else {
		report, err = e.GC(ctx, providers...)
	}
	if err != nil {
		return report, err
	}
	o := engine.PruneOptions{Unused: time.Duration(f.unused) * 24 * time.Hour, DryRun: f.dryRun, Providers: providers}
	if f.limited {
		o.MaxBytes = max(1, int64(f.keep*1e9))
	}
	gone, err := e.Prune(ctx, o)
	report.Cleaned = append(report.Cleaned, gone...)
	return report, err
}

func gcText(a app, w io.Writer, r machine.GCReport, dryRun bool) error {
	n, bytes := 0, int64(0)
	cleaned, freed := "cleaned", "freed"
	if dryRun {
		cleaned, freed = "would go", "would be freed:"
	}
	for _, part := range []struct {
		what  string
		items []machine.GCItem
	}{{"ended", r.Ended}, {cleaned, r.Cleaned}, {"forgot", r.Forgotten}, {"left alone", r.Unrecorded}, {"failed", r.Failed}} {
		for _, i := range part.items {
			n++
			bytes += i.Bytes
			if _, err := fmt.Fprintf(w, "%-10s %s: %s\n", part.what, sanitize.Line(itemName(i)), sanitize.Line(i.Why)); err != nil {
				return err
			}
		}
	}
	if n == 0 {
		text := "Nothing to clean up."
		if dryRun {
			text = "Nothing would go from this computer's disk or from the named providers; machines were not asked."
		}
		a.UI.Tell("%s", text)
	}
	if bytes > 0 {
		a.UI.Tell("%s %s", freed, term.BinarySize(bytes))
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

// provides reports whether this computer or a plugin that is found has a provider.
func (a app) provides(ctx context.Context) func(provider string) bool {
	names := []string{"local"}
	a.EachManifest(ctx, func(m sdk.Manifest) {
		if slices.ContainsFunc(m.Implements, func(c string) bool { return strings.HasPrefix(c, string(sdk.KindProvider)+"/") }) {
			names = append(names, m.Provides...)
		}
	})
	return func(provider string) bool { return slices.Contains(names, provider) }
}

func gcFailure(r machine.GCReport, known func(provider string) bool) error {
	if len(r.Failed) == 0 {
		return nil
	}
	return &engine.Error{Kind: engine.KindProvider, Err: errors.New("something could not be cleaned up; " + gcAdvice(r.Failed, known))}
}

// gcAdvice says what helps: of a provider that has gone with its plugin's folder, no
// waiting does.
func gcAdvice(failed []machine.GCItem, known func(provider string) bool) string {
	gone := map[string]bool{}
	for _, i := range failed {
		if i.Provider != "" && !known(i.Provider) {
			gone[i.Provider] = true
		}
	}
	names := strings.Join(slices.Sorted(maps.Keys(gone)), ", ")
	switch {
	case names == "":
		return "run seer gc again later"
	case len(gone) == 1:
		return "no plugin here provides " + names + ": run seer gc again with --plugin-dir FOLDER, where the plugin is, or install it"
	}
	return "no plugin here provides " + names + ": run seer gc again with --plugin-dir FOLDER, where the plugins are, or install them"
}
