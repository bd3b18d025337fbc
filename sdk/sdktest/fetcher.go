package sdktest

import (
	"net/http"
	"testing"
	"time"

	"github.com/seer-engine/seer/sdk"
)

// FetcherKit says how to try a model fetcher.
type FetcherKit struct {
	// Open makes a fetcher that reaches its source through c; see [ProviderKit].
	Open func(c *http.Client) sdk.Fetcher

	Cloud http.Handler // the simulator; nil where World has one, or the fetcher needs no network
	World *World       // instead of Cloud

	Headers http.Header // as in [ProviderKit]
	Secrets []string    // as in [ProviderKit]

	Model   sdk.ModelRef // one that exists, with at least two files
	Unknown string       // a name that does not exist; default: Model's and "-seer-no-such-model"
	Folder  string       // the folder inside which file: locations may be; empty = none may be given
	// AllowHTTP says that locations may be http://, for a source of the user's own.
	AllowHTTP bool

	CallTime time.Duration // how long a call may take; default 30 s, as Seer's
	Quick    bool          // leaves out faults that cost time (slow, huge)
}

// Fetcher tries a fetcher in a test of its own for each check.
func Fetcher(t *testing.T, k FetcherKit) {
	t.Helper()
	test(t, FetcherChecks(k))
}
