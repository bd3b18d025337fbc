package experimentcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/cmd/seer/internal/term"
	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/internal/text"
	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/gpu"
)

func newOffers(a app) *cobra.Command {
	var q sdk.OfferQuery
	var providers []string
	var most float64
	c := &cobra.Command{
		Use:   "offers",
		Short: "List available machines and prices",
		Long: `Ask providers and this computer for available machines, and list them by price. The
price is for the whole machine and one hour, in US dollars. WAIT is what a provider with
a queue expects now, for a machine of one hour. Nothing is rented. Without
--gpu and --cpu, the list has every GPU, and this computer even if it has none.

All providers use the same names of GPUs: H100, A100-80GB, L4, RTX-4090. A100 matches
every form of A100; H100-SXM matches only that form.`,
		Example: `  seer offers --gpu H100 --gpu A100-80GB
  seer offers --provider runpod --gpu-count 8 --json`,
		Args: cli.Args(0, 0, "no argument"),
	}
	var gpus []string
	var cpu bool
	f := c.Flags()
	f.StringArrayVar(&providers, "provider", nil, "ask only this `provider`; may be repeated")
	_ = c.RegisterFlagCompletionFunc("provider", a.CompleteProvider)
	f.StringArrayVar(&gpus, "gpu", nil, "list only this `GPU`; may be repeated (default: every GPU)")
	f.BoolVar(&cpu, "cpu", false, "list machines without a GPU")
	f.IntVar(&q.GPUCount, "gpu-count", 1, "`number` of GPUs in one machine")
	f.StringArrayVar(&q.Regions, "region", nil, "list only this `region`; may be repeated")
	f.Float64Var(&most, "max-price", 0, "list only machines that cost at most this many `dollars` an hour (default: any price)")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		if q.GPUCount < 1 {
			return cli.Usagef("--gpu-count must be 1 or more")
		}
		if most < 0 {
			return cli.Usagef("--max-price must be 0 or more")
		}
		if cpu && len(gpus) > 0 {
			return cli.Usagef("--cpu and --gpu exclude each other")
		}
		here := !cpu && len(gpus) == 0 && q.GPUCount == 1 && len(q.Regions) == 0 && (len(providers) == 0 || slices.Contains(providers, localProvider))
		if !cpu && len(gpus) == 0 {
			gpus = []string{gpu.Any}
		}
		return a.offers(cmd.Context(), providers, gpus, q, most, here)
	}
	return c
}

// offers lists what there is, here also this computer without a GPU.
func (a app) offers(ctx context.Context, providers, gpus []string, q sdk.OfferQuery, most float64, here bool) error {
	e, err := a.Engine()
	if err != nil {
		return err
	}
	offers, failure := e.Offers(ctx, providers, engine.OfferQueries(q, gpus), a.UI.Progress)
	if here && !slices.ContainsFunc(offers, func(o engine.ProviderOffer) bool { return o.Provider == localProvider }) {
		own, err := e.Offers(ctx, []string{localProvider}, engine.OfferQueries(q, nil), nil)
		failure = errors.Join(failure, err)
		offers = append(own, offers...) // it costs nothing
	}
	shown := []engine.ProviderOffer{}
	for _, o := range offers {
		if most <= 0 || o.CostPerHour <= most {
			shown = append(shown, o)
		}
	}
	err = a.Print(shown, func(w io.Writer) error {
		if len(shown) == 0 {
			a.UI.Tell("%s", nothingOffered(gpus, failure))
			return nil
		}
		columns, rows := offerTable(shown)
		return term.PrintTable(w, a.UI.Width(), columns, rows)
	})
	if failure != nil {
		return failure
	}
	return err
}

// localProvider is this computer.
const localProvider = "local"

// nothingOffered says so, and which GPUs were probably meant.
func nothingOffered(gpus []string, failure error) string {
	said := "Nothing like that is offered."
	if failure != nil {
		said = "Nothing like that is offered by those that could be asked."
	}
	for _, name := range gpus {
		if near := gpu.Mistaken(name); len(near) > 0 {
			said += fmt.Sprintf(" There is no GPU %s; did you mean %s?", name, strings.Join(near, ", "))
		}
	}
	return said
}

// offerTable is the offers in columns. Few providers have a queue, so that its column is only there
// where one tells of it.
func offerTable(offers []engine.ProviderOffer) ([]term.Column, [][]string) {
	columns := []term.Column{{Title: "PROVIDER"}, {Title: "GPU"}, {Title: "COUNT"}, {Title: "GPU GB", Drop: 3}, {Title: "RAM GB", Drop: 4}, {Title: "REGION", Drop: 2}, {Title: "STOCK", Drop: 1}, {Title: "$/HOUR"}, {Title: "ID", Drop: 5}}
	number := func(v float64) string {
		if v == 0 {
			return "-"
		}
		return fmt.Sprintf("%.4g", v)
	}
	waits := false
	rows := make([][]string, len(offers))
	for n, o := range offers {
		rows[n] = []string{
			o.Provider, cmp.Or(o.GPU, "-"), number(float64(o.GPUCount)), number(o.GPUMemoryGB), number(o.MemoryGB), cmp.Or(o.Region, "-"),
			cmp.Or(string(o.Stock), "-"), fmt.Sprintf("%.2f", o.CostPerHour), o.ID,
		}
		waits = waits || text.Wait(o.WaitSeconds, o.Queue) != ""
	}
	if !waits {
		return columns, rows
	}
	price := len(columns) - 2
	for n, o := range offers {
		rows[n] = slices.Insert(rows[n], price, cmp.Or(text.Wait(o.WaitSeconds, o.Queue), "-"))
	}
	return slices.Insert(columns, price, term.Column{Title: "WAIT"}), rows
}
