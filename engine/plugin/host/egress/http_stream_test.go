package egress

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

// The host reads no further ahead than the guest allows.
func TestCreditHoldsTheServerBack(t *testing.T) {
	var wrote atomic.Int64
	base, w := serve(t, func(w http.ResponseWriter, r *http.Request) {
		for range 40 {
			n, err := w.Write(bytes.Repeat([]byte("y"), 1<<20))
			if wrote.Add(int64(n)); err != nil {
				return
			}
		}
	})
	g := w.guest(t)
	o, err := g.s.OpenHTTP(sdk.HTTPOpen{Method: "GET", URL: base + "/v2/x"})
	if err != nil {
		t.Fatal(err)
	}
	got := 0
	for got < sdk.StreamWindow {
		got += len(g.next(o.Stream).payload)
	}
	if got != sdk.StreamWindow {
		t.Errorf("%d bytes came on a credit of %d", got, sdk.StreamWindow)
	}
	if out := g.s.Wait(30 * time.Millisecond); out != nil {
		t.Error("more came without credit")
	}
	g.s.Credit(o.Stream, 100)
	if e := g.next(o.Stream); len(e.payload) != 100 {
		t.Errorf("%d bytes came on a credit of 100", len(e.payload))
	}
	g.s.Credit(o.Stream, 64<<20)
	if a := g.read(o.Stream); got+100+len(a.body) != 40<<20 {
		t.Errorf("%d bytes in all", got+100+len(a.body))
	}
}

// A body that the server does not read fills the queue; room is told of.
func TestSendFull(t *testing.T) {
	read := make(chan struct{})
	base, w := serve(t, func(w http.ResponseWriter, r *http.Request) {
		<-read
		n, _ := io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, n)
	})
	g := w.guest(t)
	o, err := g.s.OpenHTTP(sdk.HTTPOpen{Method: "POST", URL: base + "/v2/x", Body: true})
	if err != nil {
		t.Fatal(err)
	}
	sent, piece := 0, bytes.Repeat([]byte("z"), 256<<10)
	for g.s.Send(o.Stream, piece, sdk.SendData) == sdk.SendOK {
		if sent += len(piece); sent > 1<<30 {
			t.Fatal("the queue has no bound")
		}
	}
	close(read)
	for e := g.next(o.Stream); e.Kind != sdk.EventRoom; e = g.next(o.Stream) {
	}
	g.send(o.Stream, string(piece), sdk.SendEnd)
	if a := g.read(o.Stream); a.body != fmt.Sprint(sent+len(piece)) {
		t.Errorf("the server read %s bytes of %d", a.body, sent+len(piece))
	}
}

func TestManyStreams(t *testing.T) {
	base, w := serve(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.URL.Query().Get("n")) })
	g := w.guest(t)
	ids := map[int64]int{}
	for i := range sdk.MaxStreams {
		o, err := g.s.OpenHTTP(sdk.HTTPOpen{Method: "POST", URL: fmt.Sprintf("%s/v2/x?n=%d", base, i), Body: true})
		if err != nil {
			t.Fatal(err)
		}
		ids[o.Stream] = i
	}
	if len(ids) != sdk.MaxStreams {
		t.Fatal("a number was used twice")
	}
	_, err := g.get(base + "/v2/x")
	testkit.WantCode(t, err, sdk.Invalid, "64 streams are open")
	for id, i := range ids {
		g.send(id, "", sdk.SendEnd)
		if a := g.read(id); a.body != fmt.Sprint(i) {
			t.Errorf("stream %d: %q, want %d", id, a.body, i)
		}
	}
	if _, err := g.get(base + "/v2/x?n=1"); err != nil {
		t.Errorf("after all have ended: %v", err)
	}
}

func TestCancelledStreamIsSilent(t *testing.T) {
	gone := make(chan struct{})
	base, w := serve(t, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "begin")
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(gone)
	})
	g := w.guest(t)
	o, err := g.s.OpenHTTP(sdk.HTTPOpen{Method: "GET", URL: base + "/v2/x"})
	if err != nil {
		t.Fatal(err)
	}
	g.next(o.Stream)
	if g.s.Send(o.Stream, nil, sdk.SendCancel) != sdk.SendOK || g.s.Send(o.Stream, nil, sdk.SendCancel) != sdk.SendOver {
		t.Error("answers of cancel")
	}
	<-gone
	if out := g.s.Wait(20 * time.Millisecond); out != nil {
		t.Errorf("events after cancel: %q", out)
	}
}

// What a call leaves behind ends with it.
func TestCloseEndsStreams(t *testing.T) {
	came, gone := make(chan struct{}), make(chan struct{})
	base, w := serve(t, func(_ http.ResponseWriter, r *http.Request) { close(came); <-r.Context().Done(); close(gone) })
	gw := w.gateway(t)
	g := guestOf(t, gw)
	if _, err := g.s.OpenHTTP(sdk.HTTPOpen{Method: "GET", URL: base + "/v2/x"}); err != nil {
		t.Fatal(err)
	}
	<-came
	done := make(chan []byte)
	go func() { done <- g.s.Wait(time.Hour) }()
	gw.Close()
	<-done
	<-gone
	_, err := g.s.OpenHTTP(sdk.HTTPOpen{Method: "GET", URL: base + "/v2/x"})
	testkit.WantCode(t, err, sdk.Unavailable, "ended")
	_, err = guestOf(t, gw).get(base + "/v2/x")
	testkit.WantCode(t, err, sdk.Unavailable, "ended")
}

func TestSoftCancelArrives(t *testing.T) {
	_, w := serve(t, nil)
	g := w.guest(t)
	if g.s.Used() {
		t.Error("used before anything was")
	}
	g.s.Cancel()
	g.pump()
	if !g.cancel || !g.s.Used() {
		t.Error("no cancel came")
	}
}

func TestConcurrentSessions(t *testing.T) {
	base, w := serve(t, func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) })
	gw := w.gateway(t)
	var wg sync.WaitGroup
	for i := range 8 {
		g := guestOf(t, gw)
		wg.Go(func() {
			for k := range 8 {
				want := fmt.Sprint(i, k)
				o, err := g.s.OpenHTTP(sdk.HTTPOpen{Method: "POST", URL: base + "/v2/x", Body: true})
				if err != nil {
					t.Error(err)
					return
				}
				g.send(o.Stream, want, sdk.SendEnd)
				if a := g.read(o.Stream); a.body != want {
					t.Errorf("%q, want %q", a.body, want)
				}
			}
		})
	}
	wg.Wait()
}
