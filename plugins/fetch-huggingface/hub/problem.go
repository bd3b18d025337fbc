package hub

import (
	"strconv"
	"strings"
	"time"

	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/guest/guestapi"
)

// problem says what an answer means that is not a success. The status alone does not tell a
// gated repository from one that is missing: the Hub's error code does.
func (f *Fetcher) problem(doing string, r repo, revision string, a answer) error {
	said := a.Get("X-Error-Message")
	page := f.api.URL + "/" + r.name()
	switch code := a.Get("X-Error-Code"); {
	case code == "GatedRepo" && a.Status == 401:
		return sdk.Errorf(sdk.Unauthorized, "%s is gated: the Hub gives it only to accounts that have accepted its terms; accept them at %s, and set HF_TOKEN to a token of that account", r.name(), page)
	case code == "GatedRepo":
		return sdk.Errorf(sdk.Unauthorized, "%s is gated: the account of HF_TOKEN may not read it yet; ask for access at %s", r.name(), page)
	case code == "RevisionNotFound":
		return sdk.Errorf(sdk.NotFound, "%s has no branch, tag or commit %.100q", r.name(), revision)
	case code == "EntryNotFound":
		return sdk.Errorf(sdk.NotFound, "%s: the repository has no such file", doing)
	case code == "RepoNotFound":
		return sdk.Errorf(sdk.NotFound, "%s does not exist on the Hub, or the account of HF_TOKEN may not see it; look at %s", r.name(), page)
	case code == "DisabledRepo", strings.Contains(said, "Access to this resource is disabled"):
		return sdk.Errorf(sdk.Unauthorized, "%s is disabled on the Hub; see %s", r.name(), page)
	case a.Status == 401 && strings.Contains(said, "Invalid credentials"):
		return sdk.Errorf(sdk.Unauthorized, "the Hub refuses the token in HF_TOKEN; make another at %s/settings/tokens", f.api.URL)
	case a.Status == 401:
		return sdk.Errorf(sdk.NotFound, "%s does not exist on the Hub, or is private; correct the name, or set HF_TOKEN to a token that may read it", r.name())
	case a.Status == 429:
		e := sdk.Errorf(sdk.RateLimited, "%s: the Hub limits requests; a token in HF_TOKEN has a higher limit", doing)
		e.Seconds = wait(a)
		return e
	}
	return f.api.Problem(guestapi.Request{Doing: doing}, a.Answer)
}

// wait is how long the Hub wants no more requests, in seconds. Its windows are fixed: of
// "api";r=0;t=41 in the header RateLimit, t is the time until the next one.
func wait(a answer) float64 {
	for limit := range strings.SplitSeq(a.Get("RateLimit"), ",") {
		left, until := -1, -1
		for part := range strings.SplitSeq(limit, ";") {
			name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
			n, err := strconv.Atoi(value)
			switch {
			case err != nil:
			case name == "r":
				left = n
			case name == "t":
				until = n
			}
		}
		if left == 0 && until >= 0 {
			return float64(until + 1)
		}
	}
	return guestapi.RetryAfter(a.Header, time.Now())
}
