package fakehub

import "slices"

// Host is one of the hub's hosts.
type Host string

// The hosts.
const (
	API        Host = "api"
	CDN        Host = "cdn" // large files, by signed URLs
	XetStorage Host = "xet" // reconstructions, and xorbs by signed URLs
)

// Call is what a request is about.
type Call string

// The calls.
const (
	WhoAmI         Call = "whoami"
	Info           Call = "info"
	Tree           Call = "tree"
	PathsInfo      Call = "paths-info"
	Refs           Call = "refs"
	AuthCheck      Call = "auth-check"
	XetToken       Call = "xet-read-token"
	Resolve        Call = "resolve"
	ResolveCache   Call = "resolve-cache" // of small files
	Blob           Call = "blob"          // of large files, at the CDN
	Reconstruction Call = "reconstruction"
	Xorb           Call = "xorb"
	Other          Call = "other"
)

// Request is a request that came to the hub.
type Request struct {
	Host          Host
	Call          Call
	Method        string
	Path          string // with its escapes, without the query
	Range         string // the header
	Authorization bool   // it had the header
	HubToken      bool   // the header had a token of a user, which only the API may get
	Status        int    // 0 = not answered yet, or cut before
	Bytes         int64  // of the body that were sent
}

// Requests are all requests, in the order in which they came.
func (h *Hub) Requests() []Request {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := make([]Request, len(h.requests))
	for i, r := range h.requests {
		all[i] = *r
	}
	return all
}

// ForgetRequests empties the log.
func (h *Hub) ForgetRequests() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.requests = nil
}

// Count sums up requests.
type Count struct {
	Requests      int
	Bytes         int64
	Authorization int // requests with an Authorization header
	HubTokens     int // of these, those with a token of a user
}

// Count sums up the requests to a host. With calls, only these count.
func (h *Hub) Count(host Host, calls ...Call) Count {
	var sum Count
	for _, r := range h.Requests() {
		if r.Host != host || len(calls) > 0 && !slices.Contains(calls, r.Call) {
			continue
		}
		sum.Requests++
		sum.Bytes += r.Bytes
		if r.Authorization {
			sum.Authorization++
		}
		if r.HubToken {
			sum.HubTokens++
		}
	}
	return sum
}
