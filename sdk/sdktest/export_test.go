package sdktest

import (
	"net/http"
	"time"
)

// Hasten makes the kit's waits short.
func Hasten(k *ProviderKit) { k.moment, k.grace = 30*time.Millisecond, 300*time.Millisecond }

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
