package sdktest

import (
	"net/http"
	"time"
)

// Hasten makes the moment short after which calls are given up: nothing is judged by it.
func Hasten(k *ProviderKit) { k.moment = 30 * time.Millisecond }

// Hurry makes the times short by which a provider is judged, times over.
func Hurry(k *ProviderKit, times time.Duration) {
	k.BootTime, k.grace = times*500*time.Millisecond, times*300*time.Millisecond
}

// Behind is the network behind a client that treats code as the host does.
func Behind(next http.RoundTripper) http.RoundTripper {
	h, ok := next.(*hostLike)
	if !ok {
		return next
	}
	return adding{h}
}

// adding only adds the credentials, as a client of an author's own would.
type adding struct{ h *hostLike }

func (a adding) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	for name, values := range a.h.headers {
		req.Header[name] = values
	}
	return a.h.next.RoundTrip(req)
}
