package guesthttp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/sdk"
)

// answering is a backend that gives one answer.
func answering(t *testing.T, answer http.HandlerFunc) *Client {
	t.Helper()
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	return &Client{Name: "Pond", URL: s.URL, Transport: http.DefaultTransport, KeyHint: "make a key"}
}

func TestClientSendsAndDecodes(t *testing.T) {
	c := answering(t, func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Name string }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			t.Error(err)
		}
		if r.Method != "POST" || r.URL.String() != "/v1/machines?owner=a+b" || r.Header.Get("Content-Type") != "application/json" ||
			r.Header.Get("Idempotency-Key") != "k" || r.Header.Get("User-Agent") != "pond/1" {
			t.Errorf("%s %s %v", r.Method, r.URL, r.Header)
		}
		_ = json.NewEncoder(w).Encode(map[string]string{"id": in.Name + "-1"})
	})
	c.Header = http.Header{"user-agent": {"pond/1"}}
	var out struct{ ID string }
	err := c.Do(t.Context(), Request{Method: "POST", Path: "/v1/machines", Query: map[string][]string{"owner": {"a b"}},
		Header: http.Header{"Idempotency-Key": {"k"}}, Body: map[string]string{"name": "m"}}, &out)
	if err != nil || out.ID != "m-1" {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestClientSaysWhatAnAnswerMeans(t *testing.T) {
	for _, test := range []struct {
		status  int
		body    string
		code    sdk.Code
		message string
		doubt   bool
	}{
		{401, `{"error":"no such key"}`, sdk.Unauthorized, "listing: Pond refuses the credential: no such key; make a key", false},
		{402, `{}`, sdk.Unauthorized, "listing: Pond wants to be paid first; make a key", false},
		{403, `<html>go away</html>`, sdk.Unauthorized, "listing: Pond refuses access; make a key", false},
		{404, `{"message":"no machine m-1."}`, sdk.NotFound, "listing: Pond does not know it: no machine m-1", false},
		{405, ``, sdk.Unsupported, "listing: Pond cannot do it", false},
		{409, `{"error":{"code":"sold_out","message":"nothing is free"}}`, sdk.NoCapacity, "listing: Pond says no (HTTP 409): nothing is free", false},
		{409, `{"error":{"code":"busy","message":"it runs"}}`, sdk.Invalid, "listing: Pond says no (HTTP 409): it runs", false},
		{418, `short and stout`, sdk.NotFound, "listing: Pond says no (HTTP 418): short and stout", false},
		{422, `{"errors":[{"detail":"no\n such   GPU"}]}`, sdk.Invalid, "listing: Pond says no (HTTP 422): no such GPU", false},
		{429, `{"error":"slow_down","message":"60 a minute"}`, sdk.RateLimited, "listing: Pond asks to slow down: 60 a minute", false},
		{302, ``, sdk.Invalid, "listing: Pond sends elsewhere, which is not followed (https://else.example)", false},
		{500, `oops`, sdk.Unavailable, "listing: Pond is not available now (HTTP 500): oops", true},
		{503, `{"title":"maintenance"}`, sdk.Unavailable, "listing: Pond is not available now (HTTP 503): maintenance", true},
	} {
		c := answering(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "7")
			w.Header().Set("Location", "https://else.example/key?x=secret")
			w.WriteHeader(test.status)
			_, _ = w.Write([]byte(test.body))
		})
		c.Codes = map[string]sdk.Code{"sold_out": sdk.NoCapacity, "418": sdk.NotFound}
		err := c.Do(t.Context(), Request{Method: "GET", Path: "/v1/machines", Doing: "listing"}, nil)
		var e *sdk.Error
		if !errors.As(err, &e) || e.Code != test.code || e.Message != test.message || InDoubt(err) != test.doubt {
			t.Errorf("%d %s: %v (%s, in doubt %v)", test.status, test.body, err, sdk.CodeOf(err), InDoubt(err))
			continue
		}
		if waits := e.Code == sdk.RateLimited || e.Code == sdk.Unavailable; waits != (e.Seconds == 7) {
			t.Errorf("%d: after %v s", test.status, e.Seconds)
		}
	}
}

func TestClientInAHostileWorld(t *testing.T) {
	endless := func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := w.Write(make([]byte, 64<<10)); err != nil {
				return
			}
		}
	}
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		code   sdk.Code
		words  string
	}{
		"page":    {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }, sdk.Internal, "something else than its API describes"},
		"empty":   {func(http.ResponseWriter, *http.Request) {}, sdk.Internal, "something else than its API describes"},
		"other":   {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"id":1}`)) }, sdk.Internal, "something else"},
		"endless": {endless, sdk.Internal, "more than 1048576 bytes"},
		"broken": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "9")
			_, _ = w.Write([]byte(`{"i`))
		}, sdk.Unavailable, "broke off its answer"},
		"hung up": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, sdk.Unavailable, "cannot be reached"},
		"slow":    {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, sdk.Unavailable, "did not answer in time"},
		"half slow": {func(w http.ResponseWriter, r *http.Request) {
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, sdk.Unavailable, "did not answer in time"},
		"endless error": {func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(500)
			endless(w, r)
		}, sdk.Unavailable, "is not available now (HTTP 500)"},
	} {
		t.Run(name, func(t *testing.T) {
			c := answering(t, test.answer)
			c.MaxAnswer = 1 << 20
			if strings.Contains(name, "slow") {
				c.Timeout = 100 * time.Millisecond
			}
			var out struct{ ID string }
			err := c.Do(t.Context(), Request{Method: "GET", Path: "/x"}, &out)
			if sdk.CodeOf(err) != test.code || !strings.Contains(err.Error(), test.words) || !InDoubt(err) {
				t.Errorf("%v (%s, in doubt %v)", err, sdk.CodeOf(err), InDoubt(err))
			}
			if text := err.Error(); strings.Count(text, "Pond") != 1 || strings.Count(text, "/x") != 1 {
				t.Errorf("says it more than once: %s", text)
			}
		})
	}
}

func TestClientPassesOnWhatTheHostRefuses(t *testing.T) {
	refusal := sdk.Errorf(sdk.Unauthorized, "plugin provider-pond may not send to https://evil.example: its manifest does not name it")
	c := &Client{Name: "Pond", URL: "https://evil.example", Transport: refusing{refusal}}
	err := c.Do(t.Context(), Request{Method: "GET", Path: "/v1/prices"}, nil)
	if sdk.CodeOf(err) != sdk.Unauthorized || err.Error() != "Pond: "+refusal.Message || InDoubt(err) {
		t.Errorf("%v (%s)", err, sdk.CodeOf(err))
	}
	for _, address := range []string{"", "pond", "https://a b", ":"} {
		c := &Client{URL: address}
		if err := c.Do(t.Context(), Request{Method: "GET", Path: "/"}, nil); sdk.CodeOf(err) != sdk.Invalid {
			t.Errorf("%q: %v", address, err)
		}
	}
}

type refusing struct{ err error }

func (r refusing) RoundTrip(*http.Request) (*http.Response, error) { return nil, r.err }

// Whatever a backend is asked for, a message is one short line.
func TestClientKeepsMessagesShort(t *testing.T) {
	c := answering(t, http.NotFound)
	name := strings.Repeat("x", 5000) + "\n\x1b[2J"
	for _, r := range []Request{{Doing: "asking for " + name}, {Path: "/" + url.PathEscape(name)}} {
		r.Method = "GET"
		err := c.Do(t.Context(), r, nil)
		if text := err.Error(); len(text) > 1000 || strings.ContainsAny(text, "\n\x1b") || sdk.CodeOf(err) != sdk.NotFound {
			t.Errorf("%d bytes: %q", len(text), text)
		}
	}
}

func TestClientEndsWithItsCaller(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := answering(t, func(_ http.ResponseWriter, r *http.Request) { cancel(); <-r.Context().Done() })
	if err := c.Do(ctx, Request{Method: "GET", Path: "/"}, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// The same through the bridge that a guest has.
func TestClientInAGuest(t *testing.T) {
	c := answering(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, `{"error":"gone"}`, http.StatusGone) })
	c.Transport = client(t).Transport
	if err := c.Do(t.Context(), Request{Method: "DELETE", Path: "/m/1"}, nil); sdk.CodeOf(err) != sdk.NotFound || !strings.HasSuffix(err.Error(), "Pond does not know it: gone") {
		t.Errorf("%v (%s)", err, sdk.CodeOf(err))
	}
	c.URL = "http://127.0.0.1:1"
	if err := c.Do(t.Context(), Request{Method: "GET", Path: "/m/1"}, nil); sdk.CodeOf(err) != sdk.Unavailable || !InDoubt(err) {
		t.Errorf("%v (%s)", err, sdk.CodeOf(err))
	}
}
