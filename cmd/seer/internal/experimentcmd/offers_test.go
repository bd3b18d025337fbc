package experimentcmd

import (
	"slices"
	"testing"

	"github.com/seer-engine/seer/cmd/seer/internal/term"
	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/sdk"
)

// Estimates of queues are beside the prices, where there are any.
func TestOffersShowQueues(t *testing.T) {
	t.Parallel()
	cloud := engine.ProviderOffer{Provider: "modal", Offer: sdk.Offer{ID: "A100", GPU: "A100", GPUCount: 1, CostPerHour: 2.5, Stock: sdk.StockHigh}}
	slurm := engine.ProviderOffer{Provider: "slurm", Offer: sdk.Offer{ID: "login/gpu/a100", GPU: "A100", GPUCount: 1, Region: "login", WaitSeconds: 720, Queue: "3 jobs wait"}}
	columns, rows := offerTable([]engine.ProviderOffer{slurm, cloud})
	at := slices.IndexFunc(columns, func(c term.Column) bool { return c.Title == "WAIT" })
	if at < 0 || columns[at+1].Title != "$/HOUR" || rows[0][at] != "~12 min (3 jobs wait)" || rows[1][at] != "-" || rows[1][at+1] != "2.50" || len(rows[1]) != len(columns) {
		t.Errorf("%+v, %q", columns, rows)
	}
	columns, rows = offerTable([]engine.ProviderOffer{cloud})
	if slices.ContainsFunc(columns, func(c term.Column) bool { return c.Title == "WAIT" }) || len(rows[0]) != len(columns) {
		t.Errorf("%+v, %q", columns, rows)
	}
}
