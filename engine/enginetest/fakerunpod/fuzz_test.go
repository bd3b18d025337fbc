package fakerunpod_test

import (
	"io"
	"log"
	"net/http"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/enginetest/fakerunpod"
)

// Whatever is asked, the answer is one of those that are documented.
func FuzzRequests(f *testing.F) {
	c, err := fakerunpod.New(fakerunpod.Options{Dir: f.TempDir(), Keys: []string{"k"}, Limits: []fakerunpod.Window{}, StockEach: -1})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(c.Close)
	for _, s := range [][3]string{
		{"POST", "/v2/pods", `{"name":"p","image":"i","gpu":{"id":"NVIDIA L4","count":1},"ports":["1/http"]}`},
		{"POST", "/v2/pods", `{"name":"p","image":"i","cpu":{"id":"cpu5c","vcpuCount":2},"mounts":{"network":[{"volumeId":"v","path":"/"}]}}`},
		{"PATCH", "/v2/pods/x", `{"name":null}`},
		{"POST", "/v2/templates", `{"name":"t","image":"i","registry":null,"env":{}}`},
		{"POST", "/v2/network-volumes", `{"name":"v","size":1e1,"dataCenter":"EU-RO-1"}`},
		{"GET", "/v2/billing/pods?bucketSize=hour&startTime=0001-01-01T00:00:00Z", ""},
		{"GET", "/v2/catalog/gpus?include=AVAILABILITY&product=POD&count=99999999999", ""},
		{"GET", "/v2/pods/%2F/logs?tail=x", ""},
	} {
		f.Add(s[0], s[1], s[2])
	}
	log.SetOutput(io.Discard)
	f.Fuzz(func(t *testing.T, method, path, body string) {
		req, err := http.NewRequestWithContext(t.Context(), method, c.URL()+path, strings.NewReader(body))
		if err != nil || !strings.HasPrefix(path, "/v2/") {
			t.Skip()
		}
		req.Header.Set("Authorization", "Bearer k")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Skip() // HTTP itself would not have it
		}
		defer resp.Body.Close()
		if resp.StatusCode >= 500 || resp.StatusCode < 200 {
			t.Errorf("%s %s %q: %s", method, path, body, resp.Status)
		}
	})
}
