package preflight

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/remedy"
	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/gpu"
)

const (
	maxPerPair = 3           // choices of one GPU at one provider
	minLife    = time.Minute // a budget that pays for less is a mistake
)

// choose puts the machines that would do in order: by the user's order of GPUs,
// of one GPU by the user's order of providers, of those the cheapest first.
func (c machineCheck) choose() {
	wants := c.wants
	switch {
	case len(c.exp.Sandbox.GPU) == 0:
		wants = []string{""}
	case len(wants) == 0:
		return // said already
	}
	s := &selection{check: c.check}
	for _, want := range wants {
		for _, p := range c.candidates {
			s.pair(want, p)
		}
	}
	if len(c.candidates) == 0 {
		return // said already
	}
	if len(c.report.Choices) == 0 {
		s.explain()
		return
	}
	first := c.report.Choices[0]
	c.report.Provider, c.report.GPU, c.report.Isolation = first.Provider, first.GPU, first.Isolation
	for _, p := range c.candidates {
		if err := c.facts.OfferErrors[p.Name]; err != nil {
			c.warn(p.at, fmt.Sprintf("provider `%s` is left out: cannot be asked for its offers: %v", p.Name, err), "")
		}
	}
}

// why classifies what keeps a machine from being a choice.
type why string

const (
	whyRefused why = "sandbox.provider"  // its provider cannot be asked
	whyUnknown why = "sandbox.gpu"       // there is no such GPU
	whyStock   why = "stock"             // none is free
	whyPrice   why = "sandbox.max_price" //
	whyBudget  why = "sandbox.budget"    //
)

// refusal is why one GPU is not to be had at one provider. The subject of its text
// is the provider or the offer.
type refusal struct {
	why            why
	provider, text string
	hint           string
	look           bool   // at what the providers have
	at             string // of the provider
}

// selection is one run of choose.
type selection struct {
	*check
	reasons []refusal
}

// pair looks for one GPU, or with an empty want a machine without, at one provider.
func (s *selection) pair(want string, p *candidate) {
	if err := s.facts.OfferErrors[p.Name]; err != nil {
		away := refusal{why: whyRefused, text: "cannot be asked for its offers: " + err.Error()}
		if p.thisComputer() {
			away.text = "has no GPU that can be used: " + err.Error()
		}
		s.skip(p, want, sdk.Offer{}, away)
		s.because(p, away)
		return
	}
	offers := s.matching(want, p)
	if len(offers) == 0 {
		none := noSuchGPU(want, p, s.facts.Offers[p.Name])
		s.skip(p, want, sdk.Offer{}, none)
		s.because(p, none)
		return
	}
	var refused []sdk.Offer
	var reasons []refusal
	taken := map[string]bool{}
	for _, o := range offers {
		if r, unfit := s.unfit(p, o); unfit {
			s.skip(p, want, o, r)
			refused, reasons = append(refused, o), append(reasons, r)
			continue
		}
		name := cmp.Or(o.GPU, o.ID)
		if p.Has(sdk.FeatureRoutes) {
			name += " " + o.Region // a host of the user's: another one is another machine
		}
		if !taken[name] && len(taken) < maxPerPair {
			taken[name] = true
			s.add(want, p, o)
		}
	}
	if len(taken) == 0 {
		s.because(p, summary(want, refused, reasons))
	}
}

// matching are the offers of one GPU, the cheapest first and those of unknown price
// last. A provider that was not asked is taken at its word.
func (s *selection) matching(want string, p *candidate) []sdk.Offer {
	offers, asked := s.facts.Offers[p.Name]
	if !asked {
		offers = assumed(want, p)
	}
	seen := map[sdk.Offer]bool{} // the answers for A100 and A100-80GB have offers in common
	offers = slices.DeleteFunc(slices.Clone(offers), func(o sdk.Offer) bool {
		other := seen[o] || (want == "") != (o.GPU == "") || want != "" && !gpu.Match(want, o.GPU)
		seen[o] = true
		return other
	})
	slices.SortStableFunc(offers, func(a, b sdk.Offer) int {
		return cmp.Or(boolean(a.CostPerHour == 0)-boolean(b.CostPerHour == 0), cmp.Compare(a.CostPerHour, b.CostPerHour))
	})
	return offers
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}

// assumed is what a provider that was not asked is taken to have.
func assumed(want string, p *candidate) []sdk.Offer {
	if want == "" {
		return []sdk.Offer{{}}
	}
	var offers []sdk.Offer
	for _, have := range p.GPUs {
		if gpu.Match(want, have) {
			offers = append(offers, sdk.Offer{GPU: have})
		}
	}
	if len(p.GPUs) == 0 && !p.thisComputer() {
		offers = append(offers, sdk.Offer{GPU: want})
	}
	return offers
}

// unfit says why an offer is no choice.
func (s *selection) unfit(p *candidate, o sdk.Offer) (refusal, bool) {
	sandbox := s.exp.Sandbox
	price, known := Choice{Provider: p.ProviderInfo, Offer: o}.CostPerHour()
	switch {
	case o.GPUCount > 0 && o.GPU != "" && o.GPUCount != sandbox.GPUCount:
		return refusal{why: whyUnknown, text: fmt.Sprintf("has gpu_count %d, not %d", o.GPUCount, sandbox.GPUCount)}, true
	case o.Stock == sdk.StockNone && !s.facts.Waits:
		return refusal{why: whyStock, text: "is not free now"}, true
	case sandbox.MaxPrice > 0 && !known && !s.facts.Offline:
		return refusal{why: whyPrice, text: "has no known price"}, true
	case sandbox.MaxPrice > 0 && known && price > sandbox.MaxPrice:
		return refusal{why: whyPrice, text: fmt.Sprintf("costs %s an hour, more than max_price %s", USD(price), USD(sandbox.MaxPrice))}, true
	case sandbox.Budget > 0 && !known && !s.facts.Offline:
		return refusal{why: whyBudget, text: "has no known price"}, true
	case sandbox.Budget > 0 && price > 0 && sandbox.Budget/price < minLife.Hours():
		return refusal{why: whyBudget, text: fmt.Sprintf("uses up the budget of %s within a minute, at %s an hour", USD(sandbox.Budget), USD(price))}, true
	}
	return refusal{}, false
}

func (s *selection) add(want string, p *candidate, o sdk.Offer) {
	choice := Choice{Provider: p.ProviderInfo, Offer: o, Isolation: p.isolation}
	if want != "" {
		choice.GPU, choice.GPUCount = o.GPU, s.exp.Sandbox.GPUCount
		if gpu.Parse(want).Exact && !gpu.Parse(o.GPU).Exact {
			choice.GPU += "!"
		}
	}
	same := func(c Choice) bool { return c.Provider.Name == p.Name && c.Offer == o }
	if !slices.ContainsFunc(s.report.Choices, same) { // A100-80GB is an A100, too
		s.report.Choices = append(s.report.Choices, choice)
	}
}

func (s *selection) skip(p *candidate, want string, o sdk.Offer, r refusal) {
	s.report.Skipped = append(s.report.Skipped, Skip{Provider: p.Name, GPU: want, Offer: o, Reason: r.text})
}

// because keeps why a provider gave no choice, each reason once.
func (s *selection) because(p *candidate, r refusal) {
	r.provider, r.at = p.Name, p.at
	if !slices.Contains(s.reasons, r) {
		s.reasons = append(s.reasons, r)
	}
}

// noSuchGPU says what a provider has instead.
func noSuchGPU(want string, p *candidate, offers []sdk.Offer) refusal {
	known := p.GPUs
	for _, o := range offers {
		if o.GPU != "" && len(p.GPUs) == 0 && !slices.Contains(known, o.GPU) {
			known = append(known[:len(known):len(known)], o.GPU)
		}
	}
	switch {
	case want == "" && len(offers) > 0 && !slices.ContainsFunc(offers, func(o sdk.Offer) bool { return o.GPU == "" }):
		return refusal{why: whyUnknown, text: "has only machines with a GPU", hint: "set sandbox.gpu to one of " + strings.Join(known, ", ") + ", or use another provider"}
	case want == "":
		return refusal{why: whyUnknown, text: "has nothing that fits", hint: "ask for less, or use another provider"}
	case p.thisComputer() && len(known) == 0:
		return refusal{why: whyUnknown, text: "has no NVIDIA GPU", hint: "leave gpu empty (null) to run on the CPU, or use another provider"}
	case len(known) == 0:
		return refusal{why: whyUnknown, text: "has no " + want, hint: seeOffers, look: true}
	default:
		return refusal{why: whyUnknown, text: "has no " + want, hint: "it has " + strings.Join(known, ", ")}
	}
}

// summary puts the reasons of one GPU's offers, the cheapest first, into one.
func summary(want string, offers []sdk.Offer, reasons []refusal) refusal {
	what := cmp.Or(want, "machine")
	only := func(w why) bool {
		return !slices.ContainsFunc(reasons, func(r refusal) bool { return r.why != w })
	}
	if only(whyStock) {
		r := refusal{why: whyStock, text: "has no " + what + " free now", hint: "try again later, or name another GPU or provider"}
		if i := slices.IndexFunc(offers, func(o sdk.Offer) bool { return o.Queue != "" }); i >= 0 {
			r.text += ": " + offers[i].Queue
		}
		return r
	}
	for i, r := range reasons {
		if r.why == whyStock {
			continue
		}
		name := cmp.Or(offers[i].GPU, offers[i].ID, "it")
		dear := r.why == whyPrice || r.why == whyBudget
		r.text, r.hint, r.look = "has no "+what+" that would do: "+name+" "+r.text, seeOffers, !dear
		if dear {
			r.hint = "raise it, or name another GPU or provider"
		}
		return r
	}
	return reasons[0]
}

// seeOffers is the hint where something else may be had.
const seeOffers = "look at what the providers offer"

// explain reports that nothing is left to choose, and why.
func (s *selection) explain() {
	first := s.reasons[0]
	message, hint, look := fmt.Sprintf("provider `%s` %s", first.provider, first.text), first.hint, first.look
	if len(s.reasons) > 1 {
		var each []string
		for _, r := range s.reasons {
			each = append(each, r.provider+" "+r.text)
		}
		message, hint, look = "no machine is available: "+strings.Join(each, "; "), seeOffers, true
	}
	finding := s.exp.Errorf(s.place(), message, hint)
	if look {
		finding.Remedies = []remedy.Remedy{{Action: remedy.ShowOffers}}
	}
	if cause := s.cause(); cause != nil {
		finding = finding.Because(cause)
	}
	s.report.Findings = append(s.report.Findings, Finding{Severity: SeverityError, Error: *finding})
}

// place is the field to look at: the one that all reasons are about, or the GPU.
func (s *selection) place() string {
	first := s.reasons[0]
	same := !slices.ContainsFunc(s.reasons, func(r refusal) bool { return r.why != first.why })
	switch {
	case same && len(s.reasons) == 1 && first.why == whyRefused:
		return first.at
	case same && first.why != whyStock && first.why != whyUnknown:
		return string(first.why)
	case len(s.exp.Sandbox.GPU) > 0:
		return "sandbox.gpu"
	default:
		return "sandbox.provider"
	}
}

// cause carries the code of an error to those who decide by it.
func (s *selection) cause() error {
	var errs []error
	stock := false
	for _, p := range s.candidates {
		if err := s.facts.OfferErrors[p.Name]; err != nil {
			errs = append(errs, err)
		}
	}
	for _, r := range s.reasons {
		stock = stock || r.why == whyStock
	}
	if len(errs) == 0 && stock {
		return sdk.Errorf(sdk.NoCapacity, "nothing that fits is free now")
	}
	return errors.Join(errs...)
}
