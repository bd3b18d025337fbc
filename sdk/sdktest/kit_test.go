package sdktest_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/sdktest"
)

// A backend whose every machine has a GPU is tried with one of those that it has.
func TestGPUOnlyProviderPasses(t *testing.T) {
	k := sampleKit(nil)
	k.Cloud.(*cloud).gpuOnly = true
	k.Query.GPU, k.Quick = "*", true
	sdktest.Provider(t, k)
}

// A backend may answer in pages, however short, whether it is asked for all machines or by
// their ids.
func TestProviderThatReadsPagesPasses(t *testing.T) {
	for _, way := range []string{"observes all", "observes by ids"} {
		t.Run(way, func(t *testing.T) {
			k := sampleKit(flaws{way: true})
			k.Cloud.(*cloud).page, k.Quick = 2, true
			sdktest.Provider(t, k)
		})
	}
}

// What was rented is seen by its price as well.
func TestAnotherOfferIsSeenByItsPrice(t *testing.T) {
	k := sampleKit(flaws{"the cheapest, whatever was asked for": true})
	k.Machines = nil
	got := failed(sdktest.RunChecks(t.Context(), only(k, "create/asked-offer"), nil))
	if !strings.Contains(got["create/asked-offer"], `costs 0.1 USD an hour, as "small" does; asked for was "large" for 1`) {
		t.Errorf("%v", got)
	}
}

func only(k sdktest.ProviderKit, names ...string) (checks []sdktest.Check) {
	for _, c := range sdktest.ProviderChecks(k) {
		if matches(names, c.Name) {
			checks = append(checks, c)
		}
	}
	return checks
}

// One cause is told once, with what to do about it.
func TestOneCauseIsToldOnce(t *testing.T) {
	for name, test := range map[string]struct {
		flaw    string
		headers http.Header
		failed  string // by these, and nothing else
		hint    string
	}{
		"the kit's own key":      {"", nil, "offers/sorted", `set Headers: http.Header{"X-Your-Key": {"some text"}} in the kit`},
		"the author's key":       {"", http.Header{"X-Cloud-Key": {"wrong"}}, "offers/sorted", "the kit sends the Headers X-Cloud-Key"},
		"a key of the host's":    {"", http.Header{}, "offers/sorted", "what secrets of plugin.yaml bind to a header"},
		"a creation without end": {"null cursor", http.Header{"Authorization": {cloudKey}}, "create/gives-machine", "neither a handle nor a cursor"},
	} {
		t.Run(name, func(t *testing.T) {
			k := sampleKit(flaws{test.flaw: true})
			k.Headers = test.headers
			results := sdktest.RunChecks(t.Context(), sdktest.ProviderChecks(k), nil)
			got := failed(results)
			if len(got) != 1 || !strings.Contains(got[test.failed], test.hint) {
				t.Errorf("%v", got)
			}
			for _, r := range results {
				if r.Check == "hostile/html" && (r.Status != sdktest.Skipped || !strings.HasPrefix(r.Detail, test.failed+" failed")) {
					t.Errorf("%+v", r)
				}
			}
		})
	}
}

// A provider that answers nothing at all is not tried further.
func TestNothingIsBuiltUponWhatDoesNotAnswer(t *testing.T) {
	type silent struct{ sdk.Provider }
	k := sdktest.ProviderKit{Open: func(*http.Client) sdk.Provider { return silent{} }}
	got := failed(sdktest.RunChecks(t.Context(), sdktest.ProviderChecks(k), nil))
	if len(got) != 2 || !strings.Contains(got["describe/answers"], "panicked") || !strings.Contains(got["offers/sorted"], "panicked") {
		t.Errorf("%v", got)
	}
}

// A fetcher that does not find the kit's model is told so once.
func TestOneCauseOfAFetcherIsToldOnce(t *testing.T) {
	k := fetcherKit(nil)
	k.Model.Name = "none"
	got := failed(sdktest.RunChecks(t.Context(), sdktest.FetcherChecks(k), nil))
	if len(got) != 1 || !strings.Contains(got["resolve/pins"], "not_found") {
		t.Errorf("%v", got)
	}
}

// What one lost request does to a creation is said in whole sentences.
func TestALostRequestIsNamed(t *testing.T) {
	k := sampleKit(flaws{"connection lost is internal": true})
	detail := failed(sdktest.RunChecks(t.Context(), only(k, "create/once-answer-lost"), nil))["create/once-answer-lost"]
	for _, want := range []string{"the answer to request 1 of a creation was lost", "\nrequest 1 of a creation was lost"} {
		if !strings.Contains("\n"+detail, want) {
			t.Errorf("%q has no %q", detail, want)
		}
	}
}
