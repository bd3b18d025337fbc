// Package sdktest is the conformance kit: it tries an implementation of one of the
// contracts of package sdk against what the contract promises and against a hostile
// world. An author runs it with go test on native code; seer plugin test runs the same
// checks on the finished module in the real host.
//
//	func TestConformance(t *testing.T) {
//		cloud := simulator.New()
//		sdktest.Provider(t, sdktest.ProviderKit{
//			Open:  func(c *http.Client) sdk.Provider { return &tiny.Provider{URL: "https://api.tiny.example", Client: c} },
//			Cloud: cloud, // an http.Handler
//		})
//	}
//
// [Fetcher] and [Expose] are its like. The checks themselves are values ([ProviderChecks],
// [RunChecks]), for reports; [LiveChecks] rent one machine of a real account. The hostile world is
// a [World]: [Serve] or [Remote] behind it, a [Fault] injected into it. For unit tests there are
// [Canned] answers, and [Record] and [Replay] of real traffic.
package sdktest

import "time"

// KitVersion numbers the checks; it grows when one is added or becomes stricter.
const KitVersion = 2

// Status is how a check ended.
type Status string

// The values of [Status].
const (
	Passed  Status = "passed"
	Failed  Status = "failed"
	Skipped Status = "skipped" // it does not apply; Detail says why
)

// Result is one check.
type Result struct {
	Check   string  `json:"check"` // group/name: contract/one-key-creates-once
	Status  Status  `json:"status"`
	Detail  string  `json:"detail,omitempty"` // what was wrong, what was expected and what to do; or why it was skipped
	Seconds float64 `json:"seconds"`
}

// Report is what a kit has found. It may travel with a plugin: Digest says which build it is about.
type Report struct {
	Kit     int       `json:"kit"`
	Plugin  string    `json:"plugin,omitempty"` // id
	Version string    `json:"version,omitempty"`
	Digest  string    `json:"digest,omitempty"` // sha256 of the .wasm; empty for native code
	Seer    string    `json:"seer,omitempty"`   // version of the program that ran it
	Time    time.Time `json:"time"`
	Results []Result  `json:"results"`
}

// Count is how many checks ended in a way.
func (r Report) Count(s Status) int {
	n := 0
	for _, result := range r.Results {
		if result.Status == s {
			n++
		}
	}
	return n
}

// OK reports whether no check failed.
func (r Report) OK() bool { return r.Count(Failed) == 0 }
