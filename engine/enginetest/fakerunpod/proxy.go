package fakerunpod

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"strconv"
	"strings"
	"time"
)

// statusCut is the edge's own: the pod did not answer in time.
const statusCut = 524

func newPool() *http.Transport {
	return &http.Transport{MaxIdleConnsPerHost: 32, IdleConnTimeout: time.Minute, DisableCompression: true}
}

// serveProxy is what stands before the pods: it finds the pod and its port in the
// first part of the path, and cuts whatever lasts too long.
func (c *Cloud) serveProxy(w http.ResponseWriter, r *http.Request) {
	first, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	id, text, _ := strings.Cut(first, "-")
	port, err := strconv.Atoi(text)
	target, known := c.target(id, port)
	upgrade := r.Header.Get("Upgrade")
	switch {
	case err != nil || !known:
		page(w, http.StatusNotFound)
	case upgrade != "" && !strings.EqualFold(upgrade, "websocket"):
		page(w, http.StatusBadRequest)
	case c.options.ProxyBody > 0 && r.ContentLength > c.options.ProxyBody:
		page(w, http.StatusRequestEntityTooLarge)
	case target == "":
		page(w, http.StatusBadGateway)
	default:
		c.forward(w, r, target, "/"+first)
	}
}

// target is where a port of a pod is on this computer; empty when nothing is there.
func (c *Cloud) target(id string, port int) (address string, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.pods {
		if p.id != id || p.status == terminated || !p.http(port) {
			continue
		}
		if p.machine == nil || c.behaviour.DeadProxy {
			return "", true
		}
		return p.machine.Address(port), true
	}
	return "", false
}

func (c *Cloud) forward(w http.ResponseWriter, r *http.Request, target, prefix string) {
	ctx, cancel := context.WithTimeout(r.Context(), c.options.ProxyCut)
	defer cancel()
	if r.ContentLength != 0 { // else what is left of the body would be waited for
		body := http.NewResponseController(w)
		defer context.AfterFunc(ctx, func() { _ = body.SetReadDeadline(time.Now()) })()
	}
	proxy := httputil.ReverseProxy{
		Transport:     c.pool,
		FlushInterval: -1,                         // at once
		ErrorLog:      log.New(io.Discard, "", 0), // a cut is no news
		Rewrite: func(pr *httputil.ProxyRequest) {
			pr.Out.URL.Scheme, pr.Out.URL.Host = "http", target
			pr.Out.URL.Path = strings.TrimPrefix(pr.In.URL.Path, prefix)
			pr.Out.URL.RawPath = strings.TrimPrefix(pr.In.URL.RawPath, prefix)
			pr.SetXForwarded()
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				page(w, statusCut)
				return
			}
			page(w, http.StatusBadGateway)
		},
	}
	if c.options.ProxyBody > 0 {
		r.Body = http.MaxBytesReader(w, r.Body, c.options.ProxyBody)
	}
	proxy.ServeHTTP(w, r.WithContext(ctx))
}

// page is an answer of the edge, for people.
func page(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "text/html; charset=UTF-8")
	w.Header().Set("Server", "cloudflare")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, "<html><head><title>%d %s</title></head></html>\n", status, http.StatusText(status)) // the client has gone
}
