package machine

import (
	"context"
	"fmt"

	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/sdk"
)

// GCReport says what [Driver.GC] found and did.
type GCReport struct {
	Ended      []GCItem `json:"ended,omitempty"`      // live sandboxes that had no right to live
	Cleaned    []GCItem `json:"cleaned,omitempty"`    // leftovers of ended ones
	Forgotten  []GCItem `json:"forgotten,omitempty"`  // old records that were deleted
	Unrecorded []GCItem `json:"unrecorded,omitempty"` // machines of this owner without a record; left alone
	Failed     []GCItem `json:"failed,omitempty"`     // what could not be done; Why is the error
}

// GCItem is one sandbox or machine in a [GCReport].
type GCItem struct {
	ID       string `json:"id,omitempty"`
	Name     string `json:"name,omitempty"`
	Provider string `json:"provider"`
	Handle   string `json:"handle,omitempty"`
	Why      string `json:"why"`
}

// GC ends what has no right to live: sandboxes whose lease has ended, starts whose
// program has died, leftovers of machines that ended by themselves. A machine
// that only the provider knows is reported and not touched, as its own lease ends
// it. The named providers are asked as well as those in the ledger.
//
// The error is that of the ledger; what failed for one sandbox is in the report.
func (d *Driver) GC(ctx context.Context, providers ...string) (GCReport, error) {
	if err := state.Sweep(d.Ledger.dir); err != nil {
		return GCReport{}, fmt.Errorf("sweep the ledger: %w", err)
	}
	if err := d.Ledger.sweepStarts(); err != nil {
		return GCReport{}, fmt.Errorf("sweep the ledger: %w", err)
	}
	g := &collector{d: d, keys: map[string]Record{}}
	all, err := d.Refresh(ctx)
	if err != nil {
		g.report.Failed = append(g.report.Failed, GCItem{Why: err.Error()})
	}
	for _, r := range all {
		g.keys[r.Key] = r
		providers = append(providers, r.Provider)
	}
	for _, r := range all {
		if err := ctx.Err(); err != nil {
			return g.report, err
		}
		g.record(ctx, r)
	}
	for i, name := range providers {
		if !contains(providers[:i], name) {
			g.machines(ctx, name)
		}
	}
	return g.report, nil
}

type collector struct {
	d      *Driver
	keys   map[string]Record
	report GCReport
}

// record deals with one sandbox of the ledger.
func (g *collector) record(ctx context.Context, r Record) {
	lock, held, err := state.TryAcquire(g.d.Ledger.startFile(r.ID))
	if err != nil {
		g.failed(r, err)
		return
	}
	if held {
		return // its start is going on
	}
	defer lock.Remove()
	// It may have got on while the lock was not ours.
	if r, err = g.d.Ledger.Get(r.ID); err != nil {
		return
	}
	switch why := g.why(ctx, r); {
	case why != "":
		g.end(ctx, r, why, &g.report.Ended)
	case r.Live():
	case !r.Released:
		g.end(ctx, r, "removed what it left", &g.report.Cleaned)
	case g.d.Clock.Now().Sub(r.EndedAt) > g.d.KeepEnded:
		g.forget(ctx, r)
	}
}

// why is the reason to end a sandbox, or empty.
func (g *collector) why(ctx context.Context, r Record) string {
	if !r.Live() {
		return ""
	}
	if r.ReadyAt.IsZero() {
		return "the program that started it is gone"
	}
	why := r.expired(g.d.Clock.Now())
	if why == "" || g.d.AskLease == nil {
		return why
	}
	lease, err := g.d.AskLease(ctx, r)
	if err != nil || lease.Expired(g.d.Clock.Now()) {
		return why
	}
	r, err = g.d.Ledger.Update(ctx, r.ID, func(r *Record) error { r.Lease = lease; return nil })
	if err != nil {
		return ""
	}
	return r.expired(g.d.Clock.Now())
}

func (g *collector) end(ctx context.Context, r Record, why string, list *[]GCItem) {
	if _, err := g.d.End(ctx, r, why); err != nil {
		g.failed(r, err)
		return
	}
	*list = append(*list, item(r, why))
}

func (g *collector) forget(ctx context.Context, r Record) {
	if err := g.d.Ledger.Remove(ctx, r.ID); err != nil {
		g.failed(r, err)
		return
	}
	g.report.Forgotten = append(g.report.Forgotten, item(r, "it ended more than "+g.d.KeepEnded.String()+" ago"))
}

// machines looks for machines that the ledger does not expect.
func (g *collector) machines(ctx context.Context, name string) {
	p, err := g.d.provider(ctx, name, func(string) {})
	if err != nil {
		g.report.Failed = append(g.report.Failed, GCItem{Provider: name, Why: err.Error()})
		return
	}
	listed, err := p.List(ctx, g.d.Ledger.Owner())
	if err != nil {
		g.report.Failed = append(g.report.Failed, GCItem{Provider: name, Why: fmt.Sprintf("list its machines: %v", err)})
		return
	}
	for _, m := range listed {
		g.machine(ctx, p, name, m)
	}
}

func (g *collector) machine(ctx context.Context, p sdk.Provider, name string, m sdk.Listed) {
	r, known := g.keys[m.Key]
	if !known && m.State.Live() {
		g.report.Unrecorded = append(g.report.Unrecorded, GCItem{Provider: name, Handle: m.Handle, Why: "the ledger has no record of it; its own lease ends it"})
		return
	}
	if known {
		// What counts is how it stands now: an end may be under way.
		if now, err := g.d.Ledger.Get(r.ID); err != nil || now.Live() || !now.Released {
			return
		}
	} else {
		r = Record{Provider: name, Handle: m.Handle}
	}
	// It became visible only after its sandbox had been given up, or is an empty
	// shell that nobody knows.
	if err := p.Terminate(ctx, m.Handle); err != nil {
		g.failed(r, err)
		return
	}
	g.report.Cleaned = append(g.report.Cleaned, item(r, "its machine "+m.Handle+" was left over"))
}

func (g *collector) failed(r Record, err error) {
	g.report.Failed = append(g.report.Failed, item(r, err.Error()))
}

func item(r Record, why string) GCItem {
	return GCItem{ID: r.ID, Name: r.Name, Provider: r.Provider, Handle: r.Handle, Why: why}
}

func contains(list []string, s string) bool {
	for _, have := range list {
		if have == s {
			return true
		}
	}
	return false
}
