package sdktest_test

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/sdktest"
)

func sampleKit(f flaws) sdktest.ProviderKit {
	c := &cloud{flaws: f}
	k := sdktest.ProviderKit{
		Open:    func(h *http.Client) sdk.Provider { return &sample{flaws: f, http: h, secret: "extra/secret+0815=="} },
		Cloud:   c,
		Headers: http.Header{"Authorization": {cloudKey}}, Secrets: []string{"extra/secret+0815=="},
		Machines: c.Machines, SoldOut: c.SoldOut, BootTime: 500 * time.Millisecond,
		Sleep: func(ctx context.Context, d time.Duration) error {
			time.Sleep(min(d, 2*time.Millisecond)) // this backend is quick
			return ctx.Err()
		},
	}
	sdktest.Hasten(&k)
	return k
}

func TestAGoodProviderPasses(t *testing.T) { sdktest.Provider(t, sampleKit(nil)) }

func failed(results []sdktest.Result) map[string]string {
	out := map[string]string{}
	for _, r := range results {
		if r.Status == sdktest.Failed {
			out[r.Check] = r.Detail
		}
	}
	return out
}

// nextOf is the network behind the client that treats code as the host does.
func nextOf(next http.RoundTripper) http.RoundTripper { return sdktest.Behind(next) }

func TestEveryMutantOfAProviderIsCaught(t *testing.T) {
	for flaw, want := range providerMutants() {
		t.Run(flaw, func(t *testing.T) {
			t.Parallel()
			got := failed(sdktest.RunChecks(t.Context(), sdktest.ProviderChecks(sampleKit(flaws{flaw: true})), nil))
			names := slices.Sorted(maps.Keys(got))
			slices.Sort(want)
			if !slices.Equal(names, want) {
				t.Errorf("caught by %q, not by %q", names, want)
				for _, n := range names {
					t.Logf("%s: %s", n, strings.ReplaceAll(got[n], "\n", "\n\t"))
				}
			}
		})
	}
}
