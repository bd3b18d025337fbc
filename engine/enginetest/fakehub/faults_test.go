package fakehub_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/enginetest/fakehub"
)

func TestStatuses(t *testing.T) {
	r := start(t)
	remove := r.Inject(fakehub.Fault{Call: fakehub.Resolve, Path: "/org/model/resolve/main/*.bin", Method: "HEAD", Skip: 1, Times: 2, Status: 429, Reset: 7 * time.Second})
	r.get(302, "/org/model/resolve/main/model.bin", "")
	for i, want := range []int{302, 429, 429, 302} {
		a := r.send("HEAD", "/org/model/resolve/main/model.bin", "")
		if a.status != want || want == 429 && a.header.Get("RateLimit") != `"resolvers";r=0;t=7` {
			t.Errorf("%d: %d %v", i, a.status, a.header)
		}
	}
	remove()
	r.Inject(fakehub.Fault{Call: fakehub.Tree, Status: 503, RetryAfter: 3})
	if a := r.get(503, "/api/models/org/model/tree/main", ""); a.header.Get("Retry-After") != "3" {
		t.Errorf("%v", a.header)
	}
	r.ClearFaults()
	r.get(200, "/api/models/org/model/tree/main", "")
	r.Inject(fakehub.Fault{Drop: true, Times: 1})
	if a := r.send("POST", "/api/models/org/model/paths-info/main", ""); a.err == nil {
		t.Errorf("%+v", a)
	}
}

func TestBodies(t *testing.T) {
	r := start(t)
	at := r.located("/org/model/resolve/main/model.bin")
	inject := func(f fakehub.Fault) answer {
		f.Call, f.Times = fakehub.Blob, 1
		r.Inject(f)
		return r.send("GET", at, "", "Range", "bytes=0-49999")
	}
	if a := inject(fakehub.Fault{Cut: true, After: 1234}); !errors.Is(a.err, io.ErrUnexpectedEOF) || !bytes.Equal(a.body, lfsData[:1234]) {
		t.Errorf("cut: %d bytes, %v", len(a.body), a.err)
	}
	if a := inject(fakehub.Fault{Cut: true}); !errors.Is(a.err, io.ErrUnexpectedEOF) || len(a.body) != 0 {
		t.Errorf("cut at once: %d bytes, %v", len(a.body), a.err)
	}
	if a := inject(fakehub.Fault{IgnoreRange: true}); a.status != 200 || a.header.Get("Content-Range") != "" || !bytes.Equal(a.body, lfsData) {
		t.Errorf("range: %d %v", a.status, a.header)
	}
	if a := inject(fakehub.Fault{NoRange: true}); a.status != 416 || a.header.Get("Content-Range") != fmt.Sprintf("bytes */%d", len(lfsData)) {
		t.Errorf("no range: %d %v", a.status, a.header)
	}
	if a := inject(fakehub.Fault{Short: 20_000}); a.status != 206 || a.header.Get("Content-Range") != "bytes 0-19999/20000" || !bytes.Equal(a.body, lfsData[:20_000]) {
		t.Errorf("short: %d %v", a.status, a.header)
	}
	if a := inject(fakehub.Fault{Expired: true}); a.status != 403 {
		t.Errorf("expired: %d", a.status)
	}
	a := inject(fakehub.Fault{Flip: true, After: 40_000})
	different := 0
	for i := range a.body {
		if a.body[i] != lfsData[i] {
			different++
		}
	}
	if a.err != nil || different != 1 || a.body[40_000] != lfsData[40_000]^1 {
		t.Errorf("flip: %d bytes differ, %v", different, a.err)
	}
	if a := inject(fakehub.Fault{}); a.status != 206 || !bytes.Equal(a.body, lfsData) {
		t.Errorf("nothing: %d", a.status)
	}
}

func TestStall(t *testing.T) {
	r := start(t)
	at := r.located("/org/model/resolve/main/model.bin")
	release := make(chan struct{})
	r.Inject(fakehub.Fault{Call: fakehub.Blob, Stall: release, After: 1000})
	open := func() *http.Response {
		resp, err := r.client.Get(at)
		if err != nil {
			t.Fatal(err)
		}
		begin := make([]byte, 1000)
		if _, err := io.ReadFull(resp.Body, begin); err != nil || !bytes.Equal(begin, lfsData[:1000]) {
			t.Fatal(err)
		}
		return resp
	}
	gone := open() // a client that does not wait
	_ = gone.Body.Close()
	resp := open()
	defer resp.Body.Close()
	if c := r.Count(fakehub.CDN); c.Bytes != 2000 {
		t.Errorf("%+v", c)
	}
	close(release)
	if rest, err := io.ReadAll(resp.Body); err != nil || !bytes.Equal(rest, lfsData[1000:]) {
		t.Errorf("%d bytes, %v", len(rest), err)
	}
}

// A hub can be closed while an answer stalls.
func TestCloseEndsStalls(t *testing.T) {
	r := start(t)
	at := r.located("/org/model/resolve/main/model.bin")
	r.Inject(fakehub.Fault{Stall: make(chan struct{}), After: 10})
	resp, err := r.client.Get(at)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	r.Close()
	if _, err := io.ReadAll(resp.Body); err == nil {
		t.Error("the answer is whole")
	}
}

func TestRedirects(t *testing.T) {
	r := start(t)
	r.Inject(fakehub.Fault{Call: fakehub.Resolve, Redirect: fakehub.Absolute, Times: 1})
	if at := r.get(307, "/org/model/resolve/main/config.json", "").header.Get("Location"); !strings.HasPrefix(at, r.URL(fakehub.API)+"/api/resolve-cache/") {
		t.Errorf("%s", at)
	}
	r.Inject(fakehub.Fault{Call: fakehub.Resolve, Redirect: fakehub.Relative, Times: 1})
	at := r.get(302, "/org/model/resolve/main/model.bin", "").header.Get("Location")
	if at[0] != '/' || !bytes.Equal(r.get(200, at, "").body, lfsData) {
		t.Errorf("%s", at)
	}
	r.get(403, at+"0", "")
}

// A repository gets another name between two requests of a client.
func TestDo(t *testing.T) {
	r := start(t)
	r.Inject(fakehub.Fault{Call: fakehub.Resolve, Skip: 1, Times: 1, Do: func() {
		if err := r.Rename("org/model", "org/renamed"); err != nil {
			t.Error(err)
		}
	}})
	r.get(302, "/org/model/resolve/main/model.bin", "")
	a := r.get(307, "/org/model/resolve/main/model.bin", "")
	r.get(302, a.header.Get("Location"), "")
}

// A file that is too large for one answer is sent in ranges.
func TestLargestWhole(t *testing.T) {
	for limit, want := range map[int64]int{int64(len(lfsData)) - 1: 400, int64(len(lfsData)): 200} {
		h, err := fakehub.New(fakehub.Options{LargestWhole: limit, Repos: repos()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(h.Close)
		for asked, want := range map[string]int{"": want, "bytes=0-9": 206} {
			req, err := http.NewRequest(http.MethodGet, h.URL(fakehub.API)+"/org/model/resolve/main/model.bin", nil)
			if err != nil {
				t.Fatal(err)
			}
			if asked != "" {
				req.Header.Set("Range", asked)
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != want {
				t.Errorf("limit %d, %q: %d", limit, asked, resp.StatusCode)
			}
		}
	}
}
