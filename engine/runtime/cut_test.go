package runtime_test

import (
	"context"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// cutter is a tunnel that cuts every request and every websocket after a while,
// answers in the name of its machine, and passes no other upgrades. The life of a
// websocket begins when it is there: on a computer on which that takes long, so does
// what follows. Where no request lives long enough to be answered, each lives longer.
type cutter struct {
	*httptest.Server
	least, most time.Duration // life of a request
	cuts        atomic.Int64
	unanswered  atomic.Int64 // cuts since the last answer
	unheard     atomic.Int64 // how many of the next DELETE requests do not get through
}

func cutting(t testing.TB, address string, least, most time.Duration, tls bool) *cutter {
	t.Helper()
	c := &cutter{least: least, most: most}
	transport := &http.Transport{MaxIdleConnsPerHost: 4}
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(p *httputil.ProxyRequest) { p.SetURL(&url.URL{Scheme: "http", Host: address}) },
		Transport:     transport,
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0),
		ErrorHandler:  func(w http.ResponseWriter, _ *http.Request, _ error) { misanswer(w) },
		ModifyResponse: func(resp *http.Response) error {
			c.unanswered.Store(0)
			if begin, ok := resp.Request.Context().Value(upgraded{}).(func()); ok {
				begin()
			}
			return nil
		},
	}
	c.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if u := r.Header.Get("Upgrade"); u != "" && u != "websocket" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		if r.Method == http.MethodDelete && c.unheard.Add(-1) >= 0 {
			misanswer(w)
			return
		}
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		stop := context.AfterFunc(ctx, func() { c.cuts.Add(1); c.unanswered.Add(1) })
		defer stop()
		began, life := time.Now(), (c.least+rand.N(c.most-c.least+1))*time.Duration(1+c.unanswered.Load()/8)
		timer := time.AfterFunc(life, cancel)
		defer timer.Stop()
		if r.Header.Get("Upgrade") != "" {
			timer.Reset(time.Minute)
			ctx = context.WithValue(ctx, upgraded{}, func() { timer.Reset(life + 4*time.Since(began)) })
		}
		r.Body = &slowBody{ReadCloser: r.Body, ctx: ctx}
		proxy.ServeHTTP(w, r.WithContext(ctx))
	}))
	c.Config.ErrorLog = log.New(io.Discard, "", 0)
	if tls {
		c.StartTLS()
	} else {
		c.Start()
	}
	t.Cleanup(func() {
		c.CloseClientConnections()
		c.Close()
		transport.CloseIdleConnections()
	})
	return c
}

// upgraded is the key of what is done when a websocket is there.
type upgraded struct{}

// misanswer is what tunnels say, or do not say, of a machine that they do not reach.
func misanswer(w http.ResponseWriter) {
	switch status := []int{0, 404, 502, 524}[rand.N(4)]; status {
	case 0:
		panic(http.ErrAbortHandler)
	default:
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "<html>"+http.StatusText(status)+"</html>")
	}
}

// slowBody lets some megabytes pass in a second, so that large requests are cut.
type slowBody struct {
	io.ReadCloser
	ctx context.Context
}

func (b *slowBody) Read(p []byte) (int, error) {
	if b.ctx.Err() != nil {
		return 0, b.ctx.Err()
	}
	time.Sleep(time.Millisecond)
	return b.ReadCloser.Read(p[:min(len(p), 32<<10)])
}

// upBehindCuts boots a machine with the real worker through a tunnel that cuts.
func upBehindCuts(t testing.TB, least, most time.Duration, tls bool) (*machine, *cutter) {
	t.Helper()
	m := startIn(t, nil, func(m *machine) {
		m.boot.Listen = "tcp:127.0.0.1:" + freePort(t)
		m.env = append(m.env, realWorkerVariable+"=1")
	})
	c := cutting(t, strings.TrimPrefix(m.boot.Listen, "tcp:"), least, most, tls)
	if !tls {
		m.client = newClient(t, c.URL, m.token)
	}
	m.push()
	return m, c
}
