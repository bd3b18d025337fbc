package experimentcmd

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/cmd/seer/internal/term"
	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/gpu"
)

// NewOffers makes the command seer offers.
func NewOffers(base *cli.App) *cobra.Command {
	a := app{App: base}
	var q sdk.OfferQuery
	var providers []string
	var most float64
	c := &cobra.Command{
		Use:   "offers",
		Short: "List what can be had now, and at what price",
		Long: `Ask providers, and this computer, for machines that can be had now, cheapest first.
The price is that of the whole machine for an hour in US dollars. Nothing is rented.

GPUs have one set of names everywhere: H100, A100-80GB, L4, RTX-4090. A100 is any
A100; H100-SXM is no other form.`,
		Example: `  seer offers --gpu H100 --gpu A100-80GB
  seer offers --provider runpod --gpu-count 8 --json`,
		Args: cli.Args(0, 0, "no argument"),
	}
	var gpus []string
	var cpu bool
	f := c.Flags()
	f.StringArrayVar(&providers, "provider", nil, "ask only this `provider`; may be repeated")
	_ = c.RegisterFlagCompletionFunc("provider", a.CompleteProvider)
	f.StringArrayVar(&gpus, "gpu", nil, "only this `GPU`; may be repeated (default: every GPU)")
	f.BoolVar(&cpu, "cpu", false, "machines without a GPU")
	f.IntVar(&q.GPUCount, "gpu-count", 1, "`number` of GPUs in one machine")
	f.StringArrayVar(&q.Regions, "region", nil, "only in this `region`; may be repeated")
	f.Float64Var(&most, "max-price", 0, "at most so many `dollars` an hour")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		if q.GPUCount < 1 {
			return cli.Usagef("--gpu-count must be 1 or more")
		}
		if cpu && len(gpus) > 0 {
			return cli.Usagef("--cpu and --gpu exclude each other")
		}
		if !cpu && len(gpus) == 0 {
			gpus = []string{gpu.Any}
		}
		return a.offers(cmd.Context(), providers, gpus, q, most)
	}
	return c
}

func (a app) offers(ctx context.Context, providers, gpus []string, q sdk.OfferQuery, most float64) error {
	e, err := a.Engine()
	if err != nil {
		return err
	}
	offers, failure := e.Offers(ctx, providers, engine.OfferQueries(q, gpus), a.UI.Progress)
	shown := []engine.ProviderOffer{}
	for _, o := range offers {
		if most <= 0 || o.CostPerHour <= most {
			shown = append(shown, o)
		}
	}
	err = a.Print(shown, func(w io.Writer) error {
		if len(shown) == 0 {
			if failure == nil {
				a.UI.Tell("Nothing like that is offered.")
			}
			return nil
		}
		return term.PrintTable(w, a.UI.Width(), offerColumns(), offerRows(shown))
	})
	if failure != nil {
		return failure
	}
	return err
}

func offerColumns() []term.Column {
	return []term.Column{{Title: "PROVIDER"}, {Title: "GPU"}, {Title: "COUNT"}, {Title: "GPU GB", Drop: 3}, {Title: "RAM GB", Drop: 4}, {Title: "REGION", Drop: 2}, {Title: "STOCK", Drop: 1}, {Title: "$/HOUR"}, {Title: "ID", Drop: 5}}
}

func offerRows(offers []engine.ProviderOffer) [][]string {
	number := func(v float64) string {
		if v == 0 {
			return "-"
		}
		return fmt.Sprintf("%g", v)
	}
	rows := make([][]string, len(offers))
	for n, o := range offers {
		rows[n] = []string{
			o.Provider, cmp.Or(o.GPU, "-"), number(float64(o.GPUCount)), number(o.GPUMemoryGB), number(o.MemoryGB), cmp.Or(o.Region, "-"),
			cmp.Or(string(o.Stock), "-"), fmt.Sprintf("%.2f", o.CostPerHour), o.ID,
		}
	}
	return rows
}
