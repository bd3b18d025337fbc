package sdktest

import (
	"fmt"
	"io"
	"net/http"
	"sort"
	"strings"
	"sync"
)

// failer is what Canned needs of *testing.T.
type failer interface {
	Helper()
	Errorf(format string, args ...any)
}

// Routes are answers by request: "GET /v1/machines", or with a query, "GET /v1/machines?owner=x",
// which counts before the one without.
type Routes map[string]Answer

// Answer is one that was thought of beforehand.
type Answer struct {
	Status int         // 0 = 200
	Body   string      // JSON, unless Header says something else
	Header http.Header // of the answer
	Check  func(body string) error
}

// Canned is a client for unit tests that answers from routes. A request that is not
// among them, or whose Check fails, is a failure of the test that names it.
func Canned(t failer, routes Routes) *http.Client {
	return &http.Client{Transport: &canned{t: t, routes: routes}, CheckRedirect: lastResponse}
}

func lastResponse(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

type canned struct {
	t      failer
	routes Routes
	mu     sync.Mutex
}

// RoundTrip implements [http.RoundTripper].
func (c *canned) RoundTrip(req *http.Request) (*http.Response, error) {
	c.t.Helper()
	body, err := bodyOf(req)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	plain := req.Method + " " + req.URL.EscapedPath()
	full := plain + "?" + req.URL.RawQuery
	a, ok := c.routes[full]
	if !ok {
		a, ok = c.routes[plain]
	}
	if !ok {
		known := make([]string, 0, len(c.routes))
		for name := range c.routes {
			known = append(known, name)
		}
		sort.Strings(known)
		c.t.Errorf("the request %s was not expected; add it to the routes, which have %s", strings.TrimSuffix(full, "?"), strings.Join(known, ", "))
		return nil, fmt.Errorf("no canned answer to %s", plain)
	}
	if a.Check != nil {
		if err := a.Check(body); err != nil {
			c.t.Errorf("%s: %v\nits body was %s", plain, err, body)
		}
	}
	if a.Status == 0 {
		a.Status = http.StatusOK
	}
	resp := answer(req, a.Status, "application/json", a.Body)
	for name, values := range a.Header {
		resp.Header[http.CanonicalHeaderKey(name)] = values
	}
	return resp, nil
}

// bodyOf reads a request's body, unless the request was given up.
func bodyOf(req *http.Request) (string, error) {
	if err := req.Context().Err(); err != nil || req.Body == nil {
		return "", err
	}
	defer req.Body.Close()
	data, err := io.ReadAll(req.Body)
	return string(data), err
}
