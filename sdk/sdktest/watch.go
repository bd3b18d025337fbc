package sdktest

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// asked is a request that was looked at closely.
type asked struct {
	what string // method, host and path
	text string // query and body
}

// watch looks at the requests from now on, without changing them.
func (l *lab) watch() (seen func() []asked, stop func()) {
	var mu sync.Mutex
	var all []asked
	look := func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
		query, err := url.QueryUnescape(req.URL.RawQuery)
		if err != nil {
			query = req.URL.RawQuery
		}
		a := asked{what: req.Method + " " + req.URL.Host + req.URL.Path, text: query}
		if req.Body != nil {
			body, err := io.ReadAll(req.Body)
			_ = req.Body.Close()
			if err != nil {
				return nil, err
			}
			a.text += "\n" + string(body)
			req = req.Clone(req.Context())
			req.Body = io.NopCloser(bytes.NewReader(body))
		}
		mu.Lock()
		all = append(all, a)
		mu.Unlock()
		return next.RoundTrip(req)
	}
	stop = l.world.Inject(Fault{Effect: look})
	return func() []asked {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(all)
	}, stop
}

// grows reports whether a call makes more requests for more handles, beyond further pages
// of the same list.
func grows(one, many []asked, handles []string) bool {
	return len(many) > len(one) && (begun(many) > begun(one) || oneByOne(many, handles))
}

// begun counts requests that are no further page: one that is about the same thing as an
// earlier one, and asks for something else of it.
func begun(all []asked) int {
	n := 0
	for i, a := range all {
		same := slices.ContainsFunc(all[:i], func(b asked) bool { return a.what == b.what })
		if !same || slices.Contains(all[:i], a) {
			n++
		}
	}
	return n
}

// oneByOne reports whether each handle has a request that names no other.
func oneByOne(all []asked, handles []string) bool {
	for _, handle := range handles {
		alone := slices.ContainsFunc(all, func(a asked) bool {
			return names(a.text, handle) && !slices.ContainsFunc(handles, func(h string) bool { return h != handle && names(a.text, h) })
		})
		if !alone {
			return false
		}
	}
	return true
}

// names reports whether a text has a handle in it that does not go on: m1, and not m10.
func names(text, handle string) bool {
	for {
		_, rest, found := strings.Cut(text, handle)
		if !found {
			return false
		}
		if rest == "" || !strings.ContainsAny(rest[:1], "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") {
			return true
		}
		text = rest
	}
}
