package fakehub_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/enginetest/fakehub"
)

// Whatever a client asks for, the hub answers, and not with an error of its own.
func FuzzRequests(f *testing.F) {
	hub, err := fakehub.New(fakehub.Options{Repos: []fakehub.Repo{{ID: "a/b", Commits: []fakehub.Commit{{Files: map[string]fakehub.File{
		"x": {Content: fakehub.Text("x"), Kind: fakehub.Xet}, "y/z": {Content: fakehub.Text("z")},
	}}}}}, Limits: fakehub.Limits{API: 1 << 40, Resolvers: 1 << 40}})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(hub.Close)
	for _, path := range []string{
		"/api/models/a/b", "/api/models/a/b/tree/main/y?cursor=MQ", "/api/models/a/b/refs", "/a/b/resolve/main/x", "/a/b/resolve/refs/pr/1/x",
		"/api/resolve-cache/models/a/b/0/x", "/v2/reconstructions/00", "/xorbs/default/00?X-Xet-Signed-Range=bytes", "/blobs/00?Expires=1", "/api/blobs/0", "/a%2Fb/resolve/%zz",
	} {
		f.Add(path, "bytes=0-1")
	}
	f.Fuzz(func(t *testing.T, path, span string) {
		for _, host := range []fakehub.Host{fakehub.API, fakehub.CDN, fakehub.XetStorage} {
			at, err := url.Parse(hub.URL(host) + "/" + strings.TrimPrefix(path, "/"))
			if err != nil {
				return
			}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at.String(), nil)
			if err != nil {
				return
			}
			req.Header["Range"] = []string{span}
			resp, err := http.DefaultTransport.RoundTrip(req)
			if err != nil {
				return // not a request by HTTP
			}
			_ = resp.Body.Close()
			if resp.StatusCode >= 500 {
				t.Errorf("%s: %s", at, resp.Status)
			}
		}
		hub.ForgetRequests()
	})
}
