package meter

import (
	"fmt"
	"sync"

	"github.com/seer-engine/seer/engine/event"
)

// Totals is the usage of a proxy's requests so far.
type Totals struct {
	Requests                             int64 // forwarded and counted requests
	Refused                              int64 // requests refused because of the budget
	Input, Output, CacheRead, CacheWrite int64 // tokens
	Cost                                 float64
	Budget                               float64 // see [Config]
	// Spent means that the proxy refuses further requests. It completes and counts those in
	// progress, so Cost may exceed Budget.
	Spent bool
	// Unpriced is a model without a price. The cost of its requests is not in Cost; "" = none.
	Unpriced string
}

// ledger adds up requests in the order of their ends.
type ledger struct {
	prices *Prices
	report func(event.ModelRequest)

	reporting sync.Mutex // held while report runs, which may ask for the totals
	mu        sync.Mutex
	totals    Totals

	maxTurns int // 0 = no limit
	tooled   int // answers to requests with tools
	bare     int // answers to requests without tools, such as one for a title
}

// turn counts an answer of the model, or takes it back with n = -1. tools reports whether its
// request offered tools.
func (l *ledger) turn(tools bool, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if tools {
		l.tooled += n
	} else {
		l.bare += n
	}
}

// nearLastTurn reports whether [ledger.outOfTurns] is true for some requests, so that the caller has
// to find out whether a request offers tools.
func (l *ledger) nearLastTurn() bool {
	return l.outOfTurns(true) || l.outOfTurns(false)
}

// outOfTurns reports whether the agent has used all turns for requests with tools, or for requests
// without them. Agents request titles and summaries besides their conversation, without tools.
func (l *ledger) outOfTurns(tools bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.maxTurns == 0:
		return false
	case tools:
		return l.tooled >= l.maxTurns
	}
	return l.tooled == 0 && l.bare >= l.maxTurns
}

// admit decides whether the proxy may forward a request for a model; model is "" if it is unknown
// so far. why is the message for the agent.
func (l *ledger) admit(model string) (refused *failure, why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := &l.totals
	if t.Budget == 0 {
		return nil, ""
	}
	unpriced := t.Unpriced
	if model != "" {
		if _, ok := l.prices.Find(model); !ok {
			unpriced = model
		}
	}
	switch {
	case t.Spent:
		refused, why = &noMoney, fmt.Sprintf("the budget of this run is spent: $%.2f of $%.2f; no further request to the language model is passed; end your work", t.Cost, t.Budget)
	case unpriced != "":
		refused, why = &noPrice, fmt.Sprintf("the budget of this run cannot be held: no price of the model %q is known; give the run a file of prices that has it, or no budget", clipped(unpriced))
	default:
		return nil, ""
	}
	t.Refused++
	return refused, why
}

// add counts a request, completes r and reports it. The price is that of r.Model, or else of asked,
// the model in the request.
func (l *ledger) add(r event.ModelRequest, u usage, asked string) {
	l.reporting.Lock()
	defer l.reporting.Unlock()
	l.mu.Lock()
	t := &l.totals
	price, known := l.prices.Find(r.Model)
	if !known {
		price, known = l.prices.Find(asked)
	}
	r.Input, r.Output, r.CacheRead, r.CacheWrite = u.input, u.output, u.cacheRead, u.cacheWrite
	r.Estimated = u.estimated
	if used := u.input + u.output + u.cacheRead + u.cacheWrite; used > 0 && !known {
		r.Unpriced, t.Unpriced = true, r.Model
	}
	r.Cost = price.cost(u)
	t.Requests++
	t.Input, t.Output = t.Input+u.input, t.Output+u.output
	t.CacheRead, t.CacheWrite = t.CacheRead+u.cacheRead, t.CacheWrite+u.cacheWrite
	t.Cost += r.Cost
	t.Spent = t.Budget > 0 && t.Cost >= t.Budget
	r.Number, r.Total = t.Requests, t.Cost
	l.mu.Unlock()
	if l.report != nil {
		l.report(r)
	}
}

func (l *ledger) total() Totals {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.totals
}

// clipped shortens an untrusted text.
func clipped(text string) string {
	const most = 200
	if len(text) > most {
		return text[:most] + "…"
	}
	return text
}
