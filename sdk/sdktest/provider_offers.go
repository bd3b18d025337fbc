package sdktest

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/gpu"
)

func (l *lab) describeAnswers(ctx context.Context, t *trial) {
	before := l.world.Count()
	first, err := l.open().Describe(ctx)
	if !t.try("Describe", err) {
		t.lack(needDescribe)
		return
	}
	second, err := l.open().Describe(ctx)
	if !t.try("Describe again", err) {
		return
	}
	if !same(first, second) {
		t.failf("Describe says something else the second time: %+v, then %+v", first, second)
	}
	if n := l.world.Count() - before; n > 0 {
		t.failf("Describe made %s; it must work without network and credential", number(n, "request"))
	}
}

// same reports whether two values are the same JSON.
func same(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

var knownFeatures = []sdk.Feature{sdk.FeatureBuild, sdk.FeatureTags, sdk.FeatureVolumes, sdk.FeatureSnapshot, sdk.FeatureSelfEnd,
	sdk.FeatureIdleTimeout, sdk.FeatureHostMounts, sdk.FeatureGPUShare, sdk.FeatureFree, sdk.FeatureRoutes, sdk.FeatureNoNetwork, sdk.FeatureQueue,
	sdk.FeatureCheck, sdk.FeatureClean, sdk.FeatureImageFiles}

func (l *lab) describeSensible(ctx context.Context, t *trial) {
	info, err := l.open().Describe(ctx)
	if !t.try("Describe", err) {
		return
	}
	if info.Name == "" || strings.ToLower(info.Name) != info.Name || strings.ContainsAny(info.Name, " /\n\t:") {
		t.failf("the name is %q; it is what users write after provider:, in small letters", info.Name)
	}
	if strings.TrimSpace(info.Title) == "" || strings.ContainsAny(info.Title, "\n\r\x1b") {
		t.failf("the title is %q; say in a few words what the backend is", info.Title)
	}
	for i, f := range info.Features {
		if !slices.Contains(knownFeatures, f) {
			t.failf("the feature %q is none of the contract's: %v", f, knownFeatures)
		}
		if slices.Contains(info.Features[:i], f) {
			t.failf("the feature %q is named twice", f)
		}
	}
	for _, name := range info.GPUs {
		canonical(t, "Describe", name)
	}
	if info.PollSeconds < 0 || info.PollSeconds > 300 || info.MaxTimeoutSeconds < 0 {
		t.failf("poll_seconds is %v and max_timeout_seconds %d; the first is between 0 and 300, the second not negative", info.PollSeconds, info.MaxTimeoutSeconds)
	}
	for _, i := range info.Isolations {
		if i.Name == "" || !i.Usable && i.Reason == "" {
			t.failf("the isolation %+v has no name, or is not usable and does not say why", i)
		}
	}
}

// canonical is about one name of a GPU.
func canonical(t *trial, where, name string) {
	if want := gpu.Canonical(name); want != name {
		t.failf("%s names the GPU %q; the canonical name is %q: use gpu.Canonical of sdk/gpu", where, name, want)
	}
}

func (l *lab) offers(ctx context.Context, t *trial, change func(*sdk.OfferQuery)) ([]sdk.Offer, bool) {
	q := l.kit.Query
	if change != nil {
		change(&q)
	}
	offers, err := l.open().Offers(ctx, q)
	if err != nil {
		t.failf("Offers of %s: %s", shorten(jsonOf(q)), describe(err))
	}
	return offers, err == nil
}

func jsonOf(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

func (l *lab) offersSorted(ctx context.Context, t *trial) {
	wanted, ok := l.offers(ctx, t, nil)
	if !ok || len(wanted) == 0 {
		t.lack(needOffers)
	}
	if ok && len(wanted) == 0 {
		t.failf("nothing is offered for the kit's Query %s; name something that the simulator rents; where every machine has a GPU, ask for the GPU *", jsonOf(l.kit.Query))
	}
	for name, gpu := range map[string]string{"machines without a GPU": "", "every GPU": "*"} {
		offers, ok := l.offers(ctx, t, func(q *sdk.OfferQuery) { *q = sdk.OfferQuery{GPU: gpu, Options: q.Options} })
		if !ok {
			continue
		}
		last := 0.0
		for _, o := range offers {
			if o.ID == "" || math.IsNaN(o.CostPerHour) || math.IsInf(o.CostPerHour, 0) || o.CostPerHour < 0 || o.GPUCount < 0 || o.MemoryGB < 0 {
				t.failf("%s: the offer %+v has no ID, or a number that cannot be", name, o)
			}
			if o.CostPerHour < last {
				t.failf("%s: %q costs %v and comes after one that costs %v; sort by price, cheapest first", name, o.ID, o.CostPerHour, last)
			}
			last = o.CostPerHour
			if !slices.Contains([]sdk.Stock{sdk.StockUnknown, sdk.StockNone, sdk.StockLow, sdk.StockMedium, sdk.StockHigh}, o.Stock) {
				t.failf("%s: %q has the stock %q; none, low, medium and high are known", name, o.ID, o.Stock)
			}
		}
	}
}

func (l *lab) offersGPU(ctx context.Context, t *trial) {
	plain, ok := l.offers(ctx, t, func(q *sdk.OfferQuery) { *q = sdk.OfferQuery{Options: q.Options} })
	for _, o := range plain {
		if ok && o.GPU != "" {
			t.failf("a query without a GPU gave %q with the GPU %q", o.ID, o.GPU)
		}
	}
	all, _ := l.offers(ctx, t, func(q *sdk.OfferQuery) { *q = sdk.OfferQuery{GPU: gpu.Any, Options: q.Options} })
	names := map[string]bool{}
	for _, o := range all {
		if o.GPU == "" || o.GPUCount < 1 {
			t.failf("a query for every GPU gave %q with the GPU %q, %d of them", o.ID, o.GPU, o.GPUCount)
			continue
		}
		canonical(t, "offer "+o.ID, o.GPU)
		names[o.GPU] = true
	}
	for name := range names {
		some, _ := l.offers(ctx, t, func(q *sdk.OfferQuery) { *q = sdk.OfferQuery{GPU: name, Options: q.Options} })
		if len(some) == 0 {
			t.failf("%s is offered for *, and nothing when asked for by name", name)
		}
		for _, o := range some {
			if !gpu.Match(name, o.GPU) {
				t.failf("a query for %s gave %q with the GPU %q; compare with gpu.Match of sdk/gpu", name, o.ID, o.GPU)
			}
		}
		if l.kit.Quick {
			break
		}
	}
	none, _ := l.offers(ctx, t, func(q *sdk.OfferQuery) { *q = sdk.OfferQuery{GPU: "ABACUS-9000", Options: q.Options} })
	if len(none) > 0 {
		t.failf("a query for the GPU ABACUS-9000, which does not exist, gave %s", number(len(none), "offer"))
	}
}

func (l *lab) offersNarrow(ctx context.Context, t *trial) {
	for name, change := range map[string]func(*sdk.OfferQuery){
		"1000000 cores":    func(q *sdk.OfferQuery) { q.CPU = 1e6 },
		"1000000 GiB":      func(q *sdk.OfferQuery) { q.MemoryGB = 1e6 },
		"the region xx-no": func(q *sdk.OfferQuery) { q.Regions = []string{"xx-no-such-region"} },
		"10000 GPUs":       func(q *sdk.OfferQuery) { q.GPU, q.GPUCount = gpu.Any, 10000 },
	} {
		q := l.kit.Query
		change(&q)
		offers, err := l.open().Offers(ctx, q)
		refused := sdk.CodeOf(err) == sdk.Invalid && len(q.Regions) > 0
		if err != nil && !refused {
			t.failf("a query for %s: %s; an empty list is meant", name, describe(err))
		}
		if len(offers) > 0 {
			t.failf("a query for %s gave %s, such as %q; leave out what does not have it", name, number(len(offers), "offer"), offers[0].ID)
		}
	}
}

// strangeOption is the user's options with one that nobody knows.
func (l *lab) strangeOption() json.RawMessage {
	options := map[string]json.RawMessage{}
	if len(l.kit.Query.Options) > 0 {
		_ = json.Unmarshal(l.kit.Query.Options, &options) // the kit's own: else there are none
	}
	options["no_such_option_of_seer"] = json.RawMessage("true")
	return json.RawMessage(jsonOf(options))
}

func (l *lab) offersUnknownOption(ctx context.Context, t *trial) {
	for name, options := range map[string]json.RawMessage{
		"with the key no_such_option_of_seer": l.strangeOption(), "that are a list": json.RawMessage(`[1]`), "that are text": json.RawMessage(`"fast"`),
	} {
		q := l.kit.Query
		q.Options = options
		if _, err := l.open().Offers(ctx, q); sdk.CodeOf(err) != sdk.Invalid || isDefect(err) {
			t.failf("options %s: %s; invalid was expected: a typing error must not rent something else (json.Decoder has DisallowUnknownFields)", name, describe(err))
		}
	}
}

// checkFinds tries Check as it is called before a start. It makes nothing, so that a machine of
// the simulator that was not there before is one too many.
func checkFinds(ctx context.Context, l *lab, t *trial) {
	if !l.open().has(ctx, t, sdk.FeatureCheck) {
		return
	}
	machines := machinesOf(l.kit)
	q := sdk.CheckQuery{GPU: l.kit.Query.GPU, GPUCount: l.kit.Query.GPUCount, Options: l.kit.Query.Options}
	found, err := l.open().check(ctx, q)
	if !t.try("Check", err) {
		return
	}
	if len(found) == 0 {
		t.failf("Check found nothing; report what was looked at and is well, too")
	}
	for _, f := range found {
		switch {
		case f.Name == "" || !f.Known():
			t.failf("the finding %+v has no name, or its state is none of ok, warning, failed and unknown", f)
		case f.State != sdk.FindingOK && f.Fix == "":
			t.failf("%s is %s, and nothing says what to do about it: fix is empty", f.Name, f.State)
		case strings.ContainsAny(f.Name+f.Detail+f.Fix, "\n\r\x1b"):
			t.failf("the finding %q is more than one line", f.Name)
		}
	}
	q.Options = l.strangeOption()
	if _, err := l.open().check(ctx, q); sdk.CodeOf(err) != sdk.Invalid || isDefect(err) {
		t.failf("Check with the option no_such_option_of_seer: %s; invalid was expected, as of Offers", describe(err))
	}
	if n := machinesOf(l.kit) - machines; n != 0 {
		t.failf("Check has made %s; it only looks", number(n, "machine"))
	}
}

// machinesOf counts those that the simulator tells of.
func machinesOf(k ProviderKit) int {
	if k.Machines == nil {
		return 0
	}
	return len(k.Machines())
}
