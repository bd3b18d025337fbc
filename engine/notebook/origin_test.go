package notebook

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/seer-engine/seer/internal/testkit"
)

func TestOwnOrigin(t *testing.T) {
	const own = "seer-360880995ad256edc05daafec8914e05.localhost"
	testkit.WantEach(t, OwnOrigin, map[string]string{
		"http://127.0.0.1:8888/abc/?token=t":       "http://" + own + ":8888/abc/?token=t",
		"http://127.0.0.1:8888/abc/lab?token=t":    "http://" + own + ":8888/abc/lab?token=t",
		"http://localhost/abc/":                    "http://" + own + "/abc/",
		"http://[::1]:1/abc/":                      "http://" + own + ":1/abc/",
		"http://127.0.0.1:8888/?token=t":           "http://127.0.0.1:8888/?token=t",
		"http://127.0.0.1:8888":                    "http://127.0.0.1:8888",
		"https://x.modal.run/abc/?token=t":         "https://x.modal.run/abc/?token=t",
		"http://10.0.0.7:8888/abc/?token=t":        "http://10.0.0.7:8888/abc/?token=t",
		"https://127.0.0.1:8888/abc/?token=t":      "https://127.0.0.1:8888/abc/?token=t",
		"http://" + own + ":8888/abc/lab?token=t":  "http://" + own + ":8888/abc/lab?token=t",
		"unix:/run/jupyter?token=t&base=%2Fabc%2F": "unix:/run/jupyter?token=t&base=%2Fabc%2F",
	})
}

// A URL that was copied from a browser leads programs to the same server.
func TestNamesUnderLocalhost(t *testing.T) {
	heard := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { heard <- r.Host }))
	defer server.Close()
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(server.URL, "http://"))
	a, err := Parse(OwnOrigin("http://127.0.0.1:" + port + "/abc/?token=0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodGet, a.base(), nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&http.Client{Transport: a.transport()}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if host := <-heard; !strings.HasPrefix(host, "seer-") {
		t.Error(host)
	}
}
