package acceptance

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// badProxy stands before a runtime as the worst of tunnels would: it cuts every
// request after a while, delays each on its own, so that they overtake one another,
// sends some that are to be sent once a second time, before or beside the first, and
// passes no upgrades but websockets.
type badProxy struct {
	next              http.Handler
	through           http.RoundTripper
	least, most       time.Duration // life of a request
	cuts, doubled     atomic.Int64
	duplicates, pause bool
}

func newBadProxy(t *testing.T, socket string, least, most time.Duration) (*badProxy, string) {
	t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 4, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}
	b := &badProxy{through: transport, least: least, most: most}
	b.next = &httputil.ReverseProxy{
		Rewrite:       func(p *httputil.ProxyRequest) { p.SetURL(&url.URL{Scheme: "http", Host: "sandbox"}) },
		Transport:     transport,
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0),
		ErrorHandler:  func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	server := httptest.NewUnstartedServer(b)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.Start()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		transport.CloseIdleConnections()
	})
	return b, server.URL
}

func (b *badProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if u := r.Header.Get("Upgrade"); u != "" && u != "websocket" {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), b.least+rand.N(b.most-b.least))
	defer cancel()
	stop := context.AfterFunc(ctx, func() { b.cuts.Add(1) })
	defer stop()
	r = r.WithContext(ctx)
	if b.pause {
		time.Sleep(rand.N(100 * time.Millisecond))
	}
	if b.duplicates && r.Method == http.MethodPost && rand.N(2) == 0 {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		b.doubled.Add(1)
		again := func() { b.double(r, body) }
		if rand.N(2) == 0 {
			again()
		} else {
			go again()
		}
	}
	b.next.ServeHTTP(w, r)
}

// double sends a request whose answer nobody reads; half of those break off.
func (b *badProxy) double(r *http.Request, body []byte) {
	ctx, cancel := context.WithTimeout(context.Background(), rand.N(200*time.Millisecond))
	defer cancel()
	again, err := http.NewRequestWithContext(ctx, r.Method, "http://sandbox"+r.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		return
	}
	again.Header = r.Header.Clone()
	resp, err := b.through.RoundTrip(again)
	if err != nil {
		return
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, rand.N(int64(4096))))
}

const proxyClient = `
import threading
me, pause = sys.argv[1], float(sys.argv[2])
errors = []

def work(n):
    try:
        for i in range(12):
            name = "%s-%d-%d" % (me, n, i)
            assert (tools.add, tools.beside)[i % 2](name, i) == i + 1, name
        if n == 0:
            assert list(tools.count(me + "-stream", 15, pause)) == list(range(15))
            call = tools.count.submit(me + "-detached", 10, pause)
            assert call.result() == list(range(10))
        if n == 1:
            got = tools.array(me + "-array", 1_000_000)
            assert len(got) == 1_000_000 and int(got[999_999]) == 999_999
            long = me + "-" + "x" * 3_000_000
            assert tools.size(long) == len(long)
        if n == 2:
            call = tools.add.submit(me + "-submit", 5)
            assert call.result() == 6 and tools.attach(call.id).result() == 6
    except BaseException as e:
        errors.append("%d: %s %s" % (n, type(e).__name__, e))

all = [threading.Thread(target=work, args=(n,)) for n in range(4)]
[t.start() for t in all]
[t.join() for t in all]
print(errors or "done")
`

// largest prints how many seconds the largest calls take that are made through the proxy:
// the least of some, for the computer may have been busy with something else.
const largest = `
import time
def once(n):
    began = time.monotonic()
    tools.array("alone-array-%d" % n, 1_000_000)
    half = time.monotonic()
    tools.size("x" * 3_000_000)
    return max(half - began, time.monotonic() - half)
print(min(once(n) for n in range(3)))
`

// TestCallsThroughABadProxy: whatever it does to requests, each call runs once and has
// its answer.
func TestCallsThroughABadProxy(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("exp.yaml", "name: test\nsandbox: {timeout: 10m}\n")
	p.up("lab")
	p.write("iface.py", callTools+"\n@expose(concurrent=True)\ndef size(text: str) -> int:\n    note('ran', text[:10])\n    return len(text)\n")
	p.ok("serve", "lab", "iface.py", "--name", "tools", "--out", "out")
	original := p.read("out/tools/connection.json")
	endpoint := strings.Split(strings.Split(original, `"endpoint": "`)[1], `"`)[0]
	// A request lives long enough for the largest call, as slow as the computer is; what comes in pieces takes several lives.
	alone := p.library(largest).wait()
	p.check(alone, 0)
	took, err := time.ParseDuration(strings.TrimSpace(alone.out) + "s")
	if err != nil {
		t.Fatal(err)
	}
	life := max(300*time.Millisecond, 4*took)
	t.Logf("a request lives %v to %v", life, 3*life)
	pause := fmt.Sprint(life.Seconds() / 3)
	b, to := newBadProxy(t, strings.TrimPrefix(endpoint, "unix:"), life, 3*life)
	b.duplicates, b.pause = true, true
	p.write("out/tools/connection.json", strings.Replace(original, endpoint, to, 1))

	var jobs []*job
	for i := range 3 {
		jobs = append(jobs, p.library(proxyClient, fmt.Sprint("program", i), pause))
	}
	file := []string{"call", "--connection", "out/tools/connection.json"}
	seer := []*job{
		p.seer(append(file, "add", "name=seer-add", "x=1")...),
		p.seer(append(file, "count", "name=seer-count", "n=20", "pause="+pause)...),
		p.seer(append(file, "array", "name=seer-array", "n=1000000", "--out", "array.npy")...),
	}
	names := []string{"seer-add", "seer-count", "seer-array"}
	for i, j := range jobs {
		p.check(j.wait(), 0, "done")
		for n := range 4 {
			for k := range 12 {
				names = append(names, fmt.Sprintf("program%d-%d-%d", i, n, k))
			}
		}
		for _, kind := range []string{"stream", "detached", "array", "submit"} {
			names = append(names, fmt.Sprintf("program%d-%s", i, kind))
		}
	}
	p.check(seer[0].wait(), 0, "2")
	p.check(seer[1].wait(), 0, "19")
	p.check(seer[2].wait(), 0)
	if data := p.read("array.npy"); len(data) != 4_000_128 {
		t.Errorf("the array came as %d bytes", len(data))
	}
	p.once(names...)
	for name, n := range p.lines("ran") {
		if n != 1 && strings.Trim(name, "x") != "" && !strings.HasSuffix(name, "-x") {
			t.Errorf("%s ran %d times", name, n)
		}
	}
	t.Logf("%d requests were cut, %d were sent twice", b.cuts.Load(), b.doubled.Load())
	if b.cuts.Load() < 5 || b.doubled.Load() < 20 {
		t.Errorf("that was no bad proxy: %d cuts, %d doubled", b.cuts.Load(), b.doubled.Load())
	}
}
