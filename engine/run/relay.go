package run

import (
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
)

// relay is a socket of this computer that leads to services elsewhere, so that an
// agent without a network reaches its services and nothing else.
type relay struct {
	socket string
	dir    string
	server *http.Server
}

func newRelay(endpoint string) (*relay, error) {
	to, err := url.Parse(endpoint)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "seer-relay-")
	if err != nil {
		return nil, err
	}
	r := &relay{socket: filepath.Join(dir, "s"), dir: dir}
	l, err := net.Listen("unix", r.socket)
	if err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	proxy := &httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(to)
			p.Out.Host = to.Host
		},
	}
	r.server = &http.Server{Handler: proxy}
	go func() { _ = r.server.Serve(l) }() // ends with close
	return r, nil
}

func (r *relay) close() {
	_ = r.server.Close()
	_ = os.RemoveAll(r.dir)
}
