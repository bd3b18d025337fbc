package machine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/sdk"
)

// GCReport says what [Driver.GC] found and did.
type GCReport struct {
	Ended      []GCItem `json:"ended,omitempty"`      // live sandboxes that had expired
	Cleaned    []GCItem `json:"cleaned,omitempty"`    // leftovers of ended ones, and machines past their end that nobody knows
	Forgotten  []GCItem `json:"forgotten,omitempty"`  // old records that were deleted
	Unrecorded []GCItem `json:"unrecorded,omitempty"` // other machines of this owner without a record; left alone
	Failed     []GCItem `json:"failed,omitempty"`     // what could not be done; Why is the error
}

// GCItem is one sandbox or machine in a [GCReport].
type GCItem struct {
	ID       string `json:"id,omitempty"`
	Name     string `json:"name,omitempty"`
	Provider string `json:"provider"`
	Handle   string `json:"handle,omitempty"`
	Why      string `json:"why"`
	Bytes    int64  `json:"bytes,omitempty"` // of the disk that are free again
}

// GCOptions say which providers [Driver.GC] asks: those of the ledger and Also, or
// Only these, whether the ledger knows them or not.
type GCOptions struct {
	Only []string
	Also []string
}

// asks reports whether a provider is among those that may be asked.
func (o GCOptions) asks(provider string) bool {
	return len(o.Only) == 0 || slices.Contains(o.Only, provider)
}

// GC deletes what has expired: sandboxes whose lease has ended, starts whose
// program has died, leftovers of machines that ended by themselves, and what could
// not be ended before. A machine of this owner that only the provider knows is
// ended once the time that was set for it has passed; until then it is reported.
//
// A start that died a moment ago may have a machine that its provider shows only later.
// GC looks again until none can appear any more, or ctx ends; then the next one does.
//
// The error is that of the ledger; what failed for one sandbox or provider is in
// the report, and a provider that cannot be asked is there once.
func (d *Driver) GC(ctx context.Context, o GCOptions) (GCReport, error) {
	if err := state.Sweep(d.Ledger.dir); err != nil {
		return GCReport{}, fmt.Errorf("sweep the ledger: %w", err)
	}
	if err := d.Ledger.sweepStarts(); err != nil {
		return GCReport{}, fmt.Errorf("sweep the ledger: %w", err)
	}
	g := &collector{d: d, away: map[string]bool{}}
	all, failed, err := d.refresh(ctx, o.Only)
	if err != nil {
		g.report.Failed = append(g.report.Failed, GCItem{Why: err.Error()})
	}
	for _, name := range slices.Sorted(maps.Keys(failed)) {
		g.failed(Record{Provider: name}, failed[name])
	}
	for _, r := range all {
		if err := ctx.Err(); err != nil {
			return g.report, err
		}
		if o.asks(r.Provider) {
			g.record(ctx, r)
		}
	}
	for _, name := range providersOf(all, o) {
		if !g.away[name] {
			g.machines(ctx, name)
		}
	}
	return g.report, g.await(ctx)
}

// lookAgain is the time between two looks for machines that may still appear.
const lookAgain = 5 * time.Second

// await looks for the machines of starts that died until none can appear any more.
func (g *collector) await(ctx context.Context) error {
	for {
		g.late = slices.DeleteFunc(g.late, func(r Record) bool { return g.away[r.Provider] })
		if len(g.late) == 0 {
			return nil
		}
		wait := lookAgain
		for i := range g.late {
			wait = min(wait, g.late[i].AskedAt.Add(g.d.late(g.late[i].Provider)).Sub(g.d.Clock.Now()))
		}
		if err := g.d.Clock.Sleep(ctx, max(wait, 0)); err != nil {
			return err
		}
		due := g.late
		g.late = nil
		for _, r := range due {
			if err := ctx.Err(); err != nil {
				return err
			}
			g.appeared(ctx, r)
		}
	}
}

// appeared ends what is there by now of a start that died.
func (g *collector) appeared(ctx context.Context, r Record) {
	p, err := g.d.provider(ctx, r.Provider, func(string) {})
	if err != nil {
		g.failed(r, err)
		return
	}
	p = briefly(ctx, p)
	last := !g.d.mayAppear(&r) // before the list is asked for
	listed, err := p.List(ctx, r.Owner)
	if err != nil {
		g.failed(r, fmt.Errorf("list its machines: %w", err))
		return
	}
	if err := silent(listed); err != nil && !slices.ContainsFunc(listed, func(m sdk.Listed) bool { return m.Key == r.Key }) {
		g.failed(r, fmt.Errorf("list its machines: %w", err))
		return
	}
	for _, m := range listed {
		if m.Key != r.Key || !m.State.Live() {
			continue
		}
		if err := p.Terminate(ctx, m.Handle); err != nil {
			g.failed(r, err)
			return
		}
		found := r
		found.Handle = m.Handle
		if !slices.ContainsFunc(g.report.Cleaned, func(i GCItem) bool { return i.Handle == m.Handle }) {
			g.report.Cleaned = append(g.report.Cleaned, item(found, "it appeared after its start had died"))
		}
	}
	if !last {
		g.late = append(g.late, r)
		return
	}
	if _, err := g.d.End(ctx, r, r.Message); err != nil {
		g.failed(r, err)
	}
}

// providersOf are those that may have a machine of ours, each once.
func providersOf(all []Record, o GCOptions) []string {
	names := slices.Concat(o.Also, o.Only)
	for _, r := range all {
		names = append(names, r.Provider)
		for _, a := range r.Attempts {
			names = append(names, a.Provider)
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !o.asks(name) })
	slices.Sort(names)
	return slices.Compact(names)
}

type collector struct {
	d      *Driver
	away   map[string]bool // providers, and hosts of a provider, that cannot be asked now
	late   []Record        // ended ones whose machine may still appear
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
	case !r.Released && g.d.mayAppear(&r):
		g.late = append(g.late, r)
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
	if r.Ending != "" {
		return r.Ending
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
	if g.away[r.Provider] || g.away[hostOf(r)] {
		return // said already
	}
	ended, err := g.d.End(ctx, r, why)
	if err != nil {
		g.failed(r, err)
		return
	}
	*list = append(*list, item(r, why))
	if !ended.Released && g.d.mayAppear(&ended) {
		g.late = append(g.late, ended)
	}
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
		g.failed(Record{Provider: name}, err)
		return
	}
	p = briefly(ctx, p)
	listed, err := p.List(ctx, g.d.Ledger.Owner())
	if err != nil {
		g.failed(Record{Provider: name}, fmt.Errorf("list its machines: %w", err))
		return
	}
	one := hosted(ctx, p)
	// Every machine has had a record since before it was rented, so that one which is
	// listed but not in what is read after that has none.
	all, _ := g.d.Ledger.List()
	for _, m := range listed {
		if noAnswer(m) { // the other hosts are cleaned nevertheless
			g.report.Failed = append(g.report.Failed, item(Record{Provider: name}, "list its machines: "+m.Message))
			continue
		}
		if r, current, ok := keyOf(all, m.Key); one && ok && current && r.Live() {
			continue // that of the record, maybe by another name of its host
		}
		if m.Owner == g.d.Ledger.Owner() {
			g.machine(ctx, p, name, m, all)
		}
	}
}

// machine deals with one machine of this owner.
func (g *collector) machine(ctx context.Context, p sdk.Provider, name string, m sdk.Listed, all []Record) {
	r, why := Record{Provider: name, Handle: m.Handle}, ""
	switch known, current, ok := keyOf(all, m.Key); {
	case ok && current && known.hasTwin(m):
		r, why = known, "it was made beside "+known.Handle+", which is the sandbox's"
		r.Handle = m.Handle
	case ok && current && (known.Live() || !known.Released):
		return // its record is dealt with, and tells
	case ok && known.Handle == m.Handle && g.justNow(known.ToldAt):
		return // providers say yes to an end before it is done
	case ok:
		// It became visible only after it had been given up.
		r, why = known, "its machine "+m.Handle+" was left over"
	case !m.State.Live():
		why = "it has ended, and nobody knows it"
	case m.EndUnix > 0 && g.d.Clock.Now().After(time.Unix(m.EndUnix, 0).Add(grace)):
		why = "its time ended at " + g.clockTime(m.EndUnix) + ", and nobody knows it"
	default:
		g.report.Unrecorded = append(g.report.Unrecorded, item(r, "the ledger has no record of it; its own lease ends it"+g.at(m.EndUnix)))
		return
	}
	if err := p.Terminate(ctx, m.Handle); err != nil {
		g.failed(r, err)
		return
	}
	g.report.Cleaned = append(g.report.Cleaned, item(r, why))
}

// grace is what a machine has to end by itself, and clocks to differ.
const grace = 2 * time.Minute

func (g *collector) justNow(t time.Time) bool {
	age := g.d.Clock.Now().Sub(t)
	return age >= 0 && age < grace
}

// hasTwin reports that a machine with the key of a live sandbox is not the sandbox's own:
// its provider has made two. During a start the handle may not be known yet.
func (r *Record) hasTwin(m sdk.Listed) bool {
	return r.Live() && r.Handle != "" && m.Key == r.Key && m.Handle != r.Handle && m.State.Live()
}

// keyOf finds the record with a key; current is false where that is of a choice
// which was given up.
func keyOf(all []Record, key string) (r Record, current, ok bool) {
	for _, r := range all {
		if r.Key == key {
			return r, true, true
		}
		for _, a := range r.Attempts {
			if a.Key == key {
				return r, false, true
			}
		}
	}
	return Record{}, false, false
}

func (g *collector) at(unix int64) string {
	if unix == 0 {
		return ""
	}
	return " at " + g.clockTime(unix)
}

// clockTime is a time as a person reads it: without the date where it is today's.
func (g *collector) clockTime(unix int64) string {
	now := g.d.Clock.Now()
	t := time.Unix(unix, 0).In(now.Location())
	if t.YearDay() == now.YearDay() && t.Year() == now.Year() {
		return t.Format("15:04")
	}
	return t.Format("2006-01-02 15:04")
}

func (g *collector) failed(r Record, err error) {
	g.report.Failed = append(g.report.Failed, item(r, err.Error()))
	var missing *providerError
	var foreign *AccountError
	switch code := sdk.CodeOf(err); {
	case errors.As(err, &foreign): // of this one alone
	case hostOf(r) != "" && code == sdk.Unavailable: // other hosts may answer
		g.away[hostOf(r)] = true
	case errors.As(err, &missing), code == sdk.Unauthorized, code == sdk.Unavailable, code == sdk.RateLimited:
		g.away[r.Provider] = true // it would say the same of everything else
	}
}

// hostOf names the host of a record's machine, or the context of its cluster, with the provider;
// empty = it is reached without.
func hostOf(r Record) string {
	for _, routed := range r.Routes {
		switch way := routed.Route; {
		case way.SSH != nil:
			return r.Provider + " " + way.SSH.Host
		case way.Kube != nil:
			return r.Provider + " " + way.Kube.Context
		}
	}
	return ""
}

func item(r Record, why string) GCItem {
	return GCItem{ID: r.ID, Name: r.Name, Provider: r.Provider, Handle: r.Handle, Why: why}
}
