package sdktest_test

import (
	"context"
	"maps"
	"net/http"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/sdktest"
)

func sampleKit(f flaws) sdktest.ProviderKit {
	c := &cloud{flaws: f}
	if f.has("reads the first page") {
		c.page = 2
	}
	k := sdktest.ProviderKit{
		Open:    func(h *http.Client) sdk.Provider { return &sample{flaws: f, http: h, secret: "extra/secret+0815=="} },
		Cloud:   c,
		Headers: http.Header{"Authorization": {cloudKey}}, Secrets: []string{"extra/secret+0815=="},
		Machines: c.Machines, SoldOut: c.SoldOut,
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

// soaking tries each mutant with all checks; else with those that must catch it, and
// what they build upon.
func soaking() bool { return os.Getenv("SEER_SOAK") != "" }

func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { ok, err := path.Match(p, name); return ok && err == nil })
}

// catch wants every pattern to have caught a mutant, and nothing else. The times by which the
// kit judges are short; where it is wrong, they are longer once: the computer may have stood still.
func catch(t *testing.T, checks func(times time.Duration) []sdktest.Check, want []string) {
	t.Helper()
	if len(miscaught(t, checks(1), want)) == 0 {
		return
	}
	for _, text := range miscaught(t, checks(60), want) {
		t.Error(text)
	}
}

func miscaught(t *testing.T, checks []sdktest.Check, want []string) (wrong []string) {
	ends := slices.ContainsFunc(want, func(p string) bool { return strings.HasPrefix(p, "end/") })
	if !soaking() && !ends {
		checks = slices.DeleteFunc(checks, func(c sdktest.Check) bool { return !matches(want, c.Name) })
	}
	got := failed(sdktest.RunChecks(t.Context(), checks, nil))
	for _, pattern := range want {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(got)), func(name string) bool { return matches([]string{pattern}, name) }) {
			wrong = append(wrong, pattern+" has not caught it")
		}
	}
	for name, detail := range got {
		if !matches(want, name) {
			wrong = append(wrong, name+" has caught it as well: "+detail)
		}
	}
	return wrong
}

func TestEveryMutantOfAProviderIsCaught(t *testing.T) {
	for flaw, want := range providerMutants() {
		t.Run(flaw, func(t *testing.T) {
			t.Parallel()
			catch(t, func(times time.Duration) []sdktest.Check {
				k := sampleKit(flaws{flaw: true})
				sdktest.Hurry(&k, times)
				return sdktest.ProviderChecks(k)
			}, want)
		})
	}
}

// One that checks and cleans is, too.
func TestProviderWithChecks(t *testing.T) {
	t.Parallel()
	sdktest.Provider(t, sampleKit(flaws{"checks": true}))
}

// A provider whose machines are reached by routes is as good as another.
func TestProviderWithRoutes(t *testing.T) {
	t.Parallel()
	sdktest.Provider(t, sampleKit(flaws{"routes": true}))
}
