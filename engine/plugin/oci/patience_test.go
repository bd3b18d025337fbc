package oci_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seer-engine/seer/sdk"
)

const short = 100 * time.Millisecond

func TestTooSlow(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	r := lying(t)
	r.serve(t, nil)
	hangs := func(w http.ResponseWriter, req *http.Request) { <-req.Context().Done() }
	begins := func(w http.ResponseWriter, req *http.Request) {
		_, _ = w.Write([]byte{0x28})
		w.(http.Flusher).Flush()
		<-req.Context().Done()
	}
	for name, page := range map[string]http.HandlerFunc{"hangs": hangs, "begins": begins} {
		r.on(r.wasm, page)
		c := plain()
		c.Transfer.Stall = short
		if _, _, err := c.Pull(t.Context(), r.ref()); sdk.CodeOf(err) != sdk.Unavailable || !strings.Contains(err.Error(), "nothing came for too long") {
			t.Errorf("%s: %v", name, err)
		}
		c = plain()
		c.Transfer.Total = short
		if _, _, err := c.Pull(t.Context(), r.ref()); sdk.CodeOf(err) != sdk.Unavailable || !strings.Contains(err.Error(), "took too long") {
			t.Errorf("%s: %v", name, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(short, cancel)
		if _, _, err := plain().Pull(ctx, r.ref()); !errors.Is(err, context.Canceled) {
			t.Errorf("%s, Ctrl-C: %v", name, err)
		}
	}
}

func TestAskedTooOften(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	r := lying(t)
	r.serve(t, nil)
	page, _ := r.pages.Load("/v2/acme/tiny/manifests/1")
	var asked atomic.Int32
	r.on("manifests/1", func(w http.ResponseWriter, req *http.Request) {
		if asked.Add(1) == 1 {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(429)
			return
		}
		page.(http.HandlerFunc)(w, req)
	})
	if _, _, err := plain().Pull(t.Context(), r.ref()); err != nil || asked.Load() != 2 {
		t.Errorf("asked %d times: %v", asked.Load(), err)
	}
	r.on("manifests/1", func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Retry-After", "900")
		w.WriteHeader(429)
	})
	_, _, err := plain().Pull(t.Context(), r.ref())
	var limited *sdk.Error
	if !errors.As(err, &limited) || limited.Code != sdk.RateLimited || limited.Seconds != 900 || !strings.Contains(err.Error(), "try again in 900 s") {
		t.Errorf("%v", err)
	}
}
