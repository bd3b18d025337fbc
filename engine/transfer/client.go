package transfer

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
)

// httpClient is c with our rule for redirects. Each request in flight gets a connection
// of its own: streams that share one connection share its congestion window.
func httpClient(c *http.Client) *http.Client {
	own := http.Client{}
	if c != nil {
		own = *c
	}
	base := own.Transport
	if base == nil {
		base = http.DefaultTransport
	}
	if t, ok := base.(*http.Transport); ok {
		t = t.Clone()
		t.Protocols = new(http.Protocols)
		t.Protocols.SetHTTP1(true)
		t.ForceAttemptHTTP2, t.TLSNextProto = false, nil
		t.DisableCompression = true // offsets and digests are of the file itself
		t.MaxIdleConns, t.MaxIdleConnsPerHost = 0, maxPerHost
		own.Transport = t
	}
	own.CheckRedirect, own.Timeout = checkRedirect, 0 // the stall time is what ends a request
	return &own
}

// checkRedirect keeps what the plan gives for one host from going to another: net/http
// does so for Authorization, but not for other headers.
func checkRedirect(req *http.Request, via []*http.Request) error {
	first := via[0]
	switch {
	case len(via) >= 10:
		return errors.New("more than 10 redirects")
	case first.URL.Scheme == "https" && req.URL.Scheme != "https":
		return fmt.Errorf("redirect from https to %s", req.URL.Scheme)
	case req.URL.Scheme != "http" && req.URL.Scheme != "https":
		return fmt.Errorf("redirect to %s", req.URL.Scheme)
	}
	hosts := append(via[1:len(via):len(via)], req)
	for _, r := range hosts {
		if !sameHost(r.URL, first.URL) { // also after a way back, which the other host has chosen
			req.Header = ownHeaders(first.Header.Get("Range"))
		}
	}
	return nil
}

func sameHost(a, b *url.URL) bool { return a.Scheme == b.Scheme && a.Host == b.Host }

// ownHeaders are the headers that do not come from the plan.
func ownHeaders(byteRange string) http.Header {
	h := http.Header{"Accept-Encoding": {"identity"}}
	if byteRange != "" {
		h.Set("Range", byteRange)
	}
	return h
}

// withoutURL drops the address that net/http puts into its errors: its query may be a
// credential.
func withoutURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
