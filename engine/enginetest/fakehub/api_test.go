package fakehub_test

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/enginetest"
	"github.com/seer-engine/seer/engine/enginetest/fakehub"
)

type object = map[string]any

func sha256Of(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func gitID(b []byte) string {
	sum := sha1.Sum(append(fmt.Appendf(nil, "blob %d\x00", len(b)), b...))
	return hex.EncodeToString(sum[:])
}

func TestErrors(t *testing.T) {
	r := start(t)
	for _, c := range []struct {
		at, token string
		status    int
		code      string
		message   string
	}{
		{"/api/models/org/none", "", 401, "", "Invalid username or password."},
		{"/api/models/org/private", "", 401, "", "Invalid username or password."},
		{"/api/models/org/private", "hf_wrong", 401, "", "Invalid credentials in Authorization header"},
		{"/api/models/org/private", bob, 404, "RepoNotFound", "Repository not found"},
		{"/api/models/org/none", bob, 404, "RepoNotFound", "Repository not found"},
		{"/api/models/org/private", alice, 200, "", ""},
		{"/api/models/bob/private", bob, 200, "", ""},
		{"/api/models/org/model", "hf_wrong", 200, "", ""},
		{"/api/models/org/model/revision/v9", "", 404, "RevisionNotFound", "Invalid rev id: v9"},
		{"/org/model/resolve/v9/config.json", "", 404, "RevisionNotFound", "Invalid rev id: v9"},
		{"/org/model/resolve/main/none", "", 404, "EntryNotFound", "Entry not found"},
		{"/api/models/org/gated", "", 200, "", ""},
		{"/api/models/org/gated/tree/main", "", 200, "", ""},
		{"/org/gated/resolve/main/config.json", "", 401, "GatedRepo", "Please log in."},
		{"/org/gated/resolve/main/config.json", "hf_wrong", 401, "GatedRepo", "Please log in."},
		{"/org/gated/resolve/main/config.json", bob, 403, "GatedRepo", "authorized list. Visit " + r.URL(fakehub.API) + "/org/gated"},
		{"/api/models/org/gated/auth-check", bob, 403, "GatedRepo", ""},
		{"/api/models/org/gated/auth-check", alice, 200, "", ""},
		{"/api/models/org/gated/xet-read-token/main", "", 401, "GatedRepo", ""},
		{"/org/gated/resolve/main/config.json", alice, 200, "", ""},
		{"/api/models/org/disabled", alice, 403, "", "Access to this resource is disabled."},
		{"/org/disabled/resolve/main/config.json", "", 403, "", "Access to this resource is disabled."},
		{"/api/whoami-v2", "", 401, "", "Invalid username or password."},
		{"/api/whoami-v2", "hf_wrong", 401, "", "Invalid credentials in Authorization header"},
		{"/api/whoami-v2", bob, 200, "", ""},
		{"/api/models/org/model/tree/main/none", "", 404, "EntryNotFound", "none does not exist on \"main\""},
		{"/api/models/org/data", bob, 404, "RepoNotFound", ""},
		{"/api/datasets/org/data", "", 200, "", ""},
		{"/datasets/org/data/resolve/main/empty", "", 200, "", ""},
		{"/api/models/legacy", "", 200, "", ""},
		{"/legacy/resolve/main/config.json", "", 200, "", ""},
	} {
		a := r.send("GET", c.at, c.token)
		if a.status != c.status || a.header.Get("X-Error-Code") != c.code || !strings.Contains(a.header.Get("X-Error-Message"), c.message) {
			t.Errorf("%s as %q: %d %v", c.at, c.token, a.status, a.header)
		}
	}
	a := r.send("GET", "/org/model/resolve/main/none", "")
	if len(a.body) != 15 || a.header.Get("X-Repo-Commit") != r.Commit("org/model", "main") {
		t.Errorf("%s %v", a.body, a.header)
	}
	var problem struct{ Error string }
	if r.send("GET", "/api/models/org/none", bob).json(t, &problem); problem.Error != "Repository not found" {
		t.Errorf("%+v", problem)
	}
}

func TestInfo(t *testing.T) {
	r := start(t)
	main, old := r.Commit("org/model", "main"), r.Commit("org/model", "v1")
	for at, want := range map[string]string{
		"": main, "/revision/main": main, "/revision/" + main: main, "/revision/v1": old, "/revision/side": old, "/revision/refs%2Fpr%2F3": old, "/revision/refs%2Fheads%2Fmain": main,
	} {
		var info object
		r.get(200, "/api/models/org/model"+at, "").json(t, &info)
		if info["sha"] != want || info["id"] != "org/model" || info["modelId"] != "org/model" || info["gated"] != false || info["private"] != false {
			t.Errorf("%s: %v", at, info)
		}
	}
	var info object
	r.get(200, "/api/models/org/gated?blobs=true", "").json(t, &info)
	if info["gated"] != "auto" {
		t.Errorf("%v", info)
	}
	for _, s := range info["siblings"].([]any) {
		s := s.(object)
		if s["rfilename"] == "model.bin" && (s["size"] != 50_000.0 || s["lfs"].(object)["sha256"] != sha256Of(lfsData)) {
			t.Errorf("%v", s)
		}
	}
	var some object
	r.get(200, "/api/models/org/model?expand=sha&expand=tags", "").json(t, &some)
	if len(some) != 4 || some["sha"] != main || some["_id"] == nil {
		t.Errorf("%v", some)
	}
	var refs struct{ Branches, Tags, PullRequests []object }
	r.get(200, "/api/models/org/model/refs?include_prs=1", "").json(t, &refs)
	if len(refs.Branches) != 2 || refs.Branches[0]["targetCommit"] != main || refs.Tags[0]["ref"] != "refs/tags/v1" || refs.PullRequests[0]["targetCommit"] != old {
		t.Errorf("%+v", refs)
	}
}

func TestTreeHasPages(t *testing.T) {
	r := start(t, func(o *fakehub.Options) { o.PageSize = 2 })
	var all []object
	pages := 0
	for at := r.URL(fakehub.API) + "/api/models/org/model/tree/main?recursive=true&expand=true"; at != ""; pages++ {
		a := r.get(200, at, "")
		var page []object
		a.json(t, &page)
		all = append(all, page...)
		at = ""
		if m := regexp.MustCompile(`^<(.*)>; rel="next"$`).FindStringSubmatch(a.header.Get("Link")); m != nil {
			at = m[1]
		}
	}
	if pages != 5 || len(all) != 9 {
		t.Errorf("%d pages, %d entries", pages, len(all))
	}
	for _, e := range all {
		switch e["path"] {
		case "sub":
			if e["type"] != "directory" || e["size"] != 0.0 {
				t.Errorf("%v", e)
			}
		case "config.json":
			if e["oid"] != gitID([]byte("{}\n")) || e["lfs"] != nil || e["lastCommit"].(object)["id"] != r.Commit("org/model", "main") {
				t.Errorf("%v", e)
			}
		case "model.safetensors":
			pointer := fmt.Sprintf("version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize 600000\n", sha256Of(weights))
			lfs := e["lfs"].(object)
			if e["oid"] != gitID([]byte(pointer)) || lfs["oid"] != sha256Of(weights) || lfs["pointerSize"] != float64(len(pointer)) || len(e["xetHash"].(string)) != 64 {
				t.Errorf("%v", e)
			}
		}
	}
	var folder []object
	r.get(200, "/api/models/org/model/tree/main/sub", "").json(t, &folder)
	if len(folder) != 2 || folder[0]["path"] != "sub/deep" || folder[1]["path"] != "sub/a b.txt" {
		t.Errorf("%v", folder)
	}
	r.get(400, "/api/models/org/model/tree/main?cursor=!", "")
}

func TestPathsInfo(t *testing.T) {
	r := start(t)
	for media, body := range map[string]string{
		"application/json":                  `{"paths": ["model.bin", "sub", "none"], "expand": true}`,
		"application/x-www-form-urlencoded": url.Values{"paths": {"model.bin", "sub", "none"}, "expand": {"true"}}.Encode(),
	} {
		resp, err := r.client.Post(r.URL(fakehub.API)+"/api/models/org/model/paths-info/main", media, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		var found []object
		answer{body: data}.json(t, &found)
		if err != nil || len(found) != 2 || found[0]["path"] != "model.bin" || found[1]["type"] != "directory" || found[0]["lastCommit"] == nil {
			t.Errorf("%s: %s, %v", media, data, err)
		}
	}
}

func TestResolve(t *testing.T) {
	r := start(t)
	commit := r.Commit("org/model", "main")
	small := r.get(307, "/org/model/resolve/main/sub/a%20b.txt", "")
	at := small.header.Get("Location")
	if !strings.HasPrefix(at, "/api/resolve-cache/models/org/model/"+commit+"/sub/a%20b.txt?") || small.header.Get("X-Repo-Commit") != commit {
		t.Errorf("%v", small.header)
	}
	text := r.get(200, at, "")
	if string(text.body) != "text" || text.header.Get("ETag") != `"`+gitID([]byte("text"))+`"` {
		t.Errorf("%s %v", text.body, text.header)
	}
	r.get(304, at, "", "If-None-Match", text.header.Get("ETag"))
	if empty := r.get(200, "/org/model/resolve/main/empty", ""); len(empty.body) != 0 || empty.header.Get("ETag") != `"`+gitID(nil)+`"` {
		t.Errorf("%v", empty)
	}

	for path, data := range map[string][]byte{"model.bin": lfsData, "model.safetensors": weights} {
		head := r.send("HEAD", "/org/model/resolve/main/"+path, "")
		if head.status != 302 || head.header.Get("X-Linked-ETag") != `"`+sha256Of(data)+`"` || head.header.Get("X-Linked-Size") != fmt.Sprint(len(data)) {
			t.Errorf("%s: %d %v", path, head.status, head.header)
		}
		at := head.header.Get("Location")
		got := r.get(200, at, "")
		if !strings.HasPrefix(at, r.URL(fakehub.CDN)+"/") || !bytes.Equal(got.body, data) {
			t.Errorf("%s: %s, %d bytes", path, at, len(got.body))
		}
		tag := strings.Trim(got.header.Get("ETag"), `"`)
		if len(tag) != 64 || tag == sha256Of(data) {
			t.Errorf("%s: the CDN's tag is %s", path, tag)
		}
		part := r.get(206, at, "", "Range", "bytes=10-19")
		if !bytes.Equal(part.body, data[10:20]) || part.header.Get("Content-Range") != fmt.Sprintf("bytes 10-19/%d", len(data)) {
			t.Errorf("%s: %v", path, part)
		}
		if past := r.get(416, at, "", "Range", fmt.Sprintf("bytes=%d-", len(data))); past.header.Get("Content-Range") != fmt.Sprintf("bytes */%d", len(data)) {
			t.Errorf("%s: %v", path, past.header)
		}
		r.get(403, at+"0", "")
	}
	x := r.get(200, "/org/model/resolve/main/model.safetensors", "", "Accept", "application/vnd.xet-fileinfo+json, */*")
	links := x.header.Get("Link")
	if x.header.Get("Content-Type") != "application/vnd.xet-fileinfo+json" || !strings.Contains(links, "/xet-read-token/"+commit+`>; rel="xet-auth"`) ||
		!strings.Contains(links, "/v1/reconstructions/"+x.header.Get("X-Xet-Hash")+`>; rel="xet-reconstruction-info"`) {
		t.Errorf("%v", x.header)
	}
}

func TestRenameAndPush(t *testing.T) {
	r := start(t)
	if err := r.Rename("org/model", "other/name"); err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{
		"/api/models/org/model":                          "/api/models/other/name",
		"/api/models/org/model/tree/main?recursive=true": "/api/models/other/name/tree/main?recursive=true",
		"/org/model/resolve/main/sub/a%20b.txt":          "/other/name/resolve/main/sub/a%20b.txt",
	} {
		if a := r.get(307, from, ""); a.header.Get("Location") != to {
			t.Errorf("%s: %s", from, a.header.Get("Location"))
		}
	}
	before := r.Commit("other/name", "main")
	sha, err := r.Push("other/name", "", fakehub.Commit{Title: "new", Files: map[string]fakehub.File{"w": {Content: fakehub.Text("large"), Kind: fakehub.LFS}}})
	if err != nil || sha == before || r.Commit("other/name", "main") != sha || r.Commit("other/name", before) != before {
		t.Errorf("%s, %v", sha, err)
	}
	if got := r.get(200, r.located("/other/name/resolve/main/w"), ""); string(got.body) != "large" {
		t.Errorf("%s", got.body)
	}
	for _, err := range []error{
		r.Rename("org/none", "a/b"), r.Change("org/none", func(*fakehub.Repo) {}), r.Add(fakehub.Repo{ID: "legacy"}),
		r.Add(fakehub.Repo{ID: "a/b", Tags: map[string]int{"t": 1}}),
	} {
		if err == nil {
			t.Error("a mistake has no error")
		}
	}
	if err := r.Change("other/name", func(repo *fakehub.Repo) { repo.Gated = "manual" }); err != nil {
		t.Fatal(err)
	}
	r.get(403, "/other/name/resolve/main/w", bob)
}

func TestLimits(t *testing.T) {
	clock := enginetest.NewClock()
	r := start(t, func(o *fakehub.Options) { o.Clock, o.Limits = clock, fakehub.Limits{API: 2, Resolvers: 1} })
	r.get(200, "/api/models/org/model", "")
	a := r.get(200, "/api/models/org/model", "")
	if a.header.Get("RateLimit") != `"api";r=0;t=55` || a.header.Get("RateLimit-Policy") != `"fixed window";"api";q=2;w=300` {
		t.Errorf("%v", a.header)
	}
	r.get(429, "/api/models/org/model", "")
	r.get(200, "/api/models/org/model", bob) // has a window of its own
	r.get(307, "/org/model/resolve/main/config.json", "")
	r.get(429, "/org/model/resolve/main/config.json", "")
	clock.Advance(56 * time.Second)
	r.get(200, "/api/models/org/model", "")
}

func TestSignedURLsExpire(t *testing.T) {
	clock := enginetest.NewClock()
	r := start(t, func(o *fakehub.Options) { o.Clock, o.URLLife = clock, time.Minute })
	at := r.located("/org/model/resolve/main/model.bin")
	clock.Advance(59 * time.Second)
	r.get(200, at, "")
	clock.Advance(time.Second)
	r.get(403, at, "")
}

func TestRequestsAreLogged(t *testing.T) {
	r := start(t)
	at := r.get(302, "/org/model/resolve/main/model.bin", alice).header.Get("Location")
	r.get(206, at, alice, "Range", "bytes=0-99") // a client that sends its token everywhere
	r.get(200, at, "")
	log := r.Requests()
	if len(log) != 3 || log[0].Call != fakehub.Resolve || log[0].Status != 302 || log[1].Range != "bytes=0-99" || !log[1].HubToken || log[1].Bytes != 100 {
		t.Errorf("%+v", log)
	}
	if c := r.Count(fakehub.CDN); c != (fakehub.Count{Requests: 2, Bytes: 50_100, Authorization: 1, HubTokens: 1}) {
		t.Errorf("%+v", c)
	}
	if c := r.Count(fakehub.API, fakehub.Tree); c.Requests != 0 {
		t.Errorf("%+v", c)
	}
	if r.ForgetRequests(); len(r.Requests()) != 0 {
		t.Error("the log is not empty")
	}
	if env := r.Env(); env["HF_ENDPOINT"] != r.URL(fakehub.API) || env["HF_TOKEN"] != alice {
		t.Errorf("%v", env)
	}
}

func TestMethods(t *testing.T) {
	r := start(t)
	for _, at := range []string{"/api/models/org/model", "/org/model/resolve/main/config.json", "/api/nothing", "/"} {
		if a := r.send("DELETE", at, ""); a.status != http.StatusNotFound {
			t.Errorf("%s: %d", at, a.status)
		}
	}
	r.get(404, "/api/models/org/model/paths-info/main", "")
	if !slices.ContainsFunc(r.Requests(), func(q fakehub.Request) bool { return q.Call == fakehub.Other }) {
		t.Errorf("%+v", r.Requests())
	}
}
