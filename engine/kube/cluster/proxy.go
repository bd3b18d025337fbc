package cluster

import (
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"

	"k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	"github.com/seer-engine/seer/engine/kube/kubewire"
	"github.com/seer-engine/seer/sdk"
)

// Proxy passes requests on to clusters, with the credentials of the kubeconfig. A client names the
// context by a header, see package kubewire. A program that can connect to it can do what its user can.
type Proxy struct {
	Config Config

	mu  sync.Mutex
	all map[string]*way // by context
}

// way is the connections to a cluster.
type way struct {
	print string
	rt    http.RoundTripper
}

func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, err := url.PathUnescape(r.Header.Get(kubewire.ContextHeader))
	if err != nil {
		fail(w, sdk.Errorf(sdk.Invalid, "%v", err))
		return
	}
	cluster, err := p.Config.Open(name)
	if err != nil {
		fail(w, err)
		return
	}
	if r.URL.Path == kubewire.ContextPath {
		_ = json.NewEncoder(w).Encode(cluster.Context)
		return
	}
	rt, err := p.transport(cluster)
	if err != nil {
		fail(w, cluster.explain(err))
		return
	}
	cluster.pass(rt).ServeHTTP(w, r)
}

// transport are the connections to a cluster, which stay as long as the kubeconfig does.
func (p *Proxy) transport(c *Cluster) (http.RoundTripper, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	have := p.all[c.Context.Name]
	if have != nil && have.print == c.print {
		return have.rt, nil
	}
	rt, err := rest.TransportFor(c.config)
	if err != nil {
		return nil, err
	}
	if have != nil {
		net.CloseIdleConnectionsFor(have.rt)
	}
	if p.all == nil {
		p.all = map[string]*way{}
	}
	p.all[c.Context.Name] = &way{c.print, rt}
	return rt, nil
}

// pass passes a request on.
func (c *Cluster) pass(rt http.RoundTripper) http.Handler {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(c.base)
			r.Out.Header.Del(kubewire.ContextHeader)
			r.Out.Header.Del("Authorization") // there is one, the kubeconfig's
		},
		Transport:     again{rt, c.config.ExecProvider != nil},
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0),
		ModifyResponse: func(r *http.Response) error {
			r.Header.Del(kubewire.ErrorHeader)
			if r.StatusCode == http.StatusUnauthorized {
				return c.refused()
			}
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) { fail(w, c.explain(err)) },
	}
}

func fail(w http.ResponseWriter, err error) {
	w.Header().Set(kubewire.ErrorHeader, "1")
	w.WriteHeader(http.StatusBadGateway)
	_, _ = w.Write(kubewire.Failure(err))
}

// again repeats a request once that was refused: an exec plugin may have kept a credential that is
// not valid any more, and gets another one after it was refused.
type again struct {
	http.RoundTripper
	useful bool
}

func (a again) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := a.RoundTripper.RoundTrip(r.Clone(r.Context())) // in which the transport sets the credential
	if err != nil || !a.useful || resp.StatusCode != http.StatusUnauthorized || (r.Body != nil && r.Body != http.NoBody) {
		return resp, err
	}
	_ = resp.Body.Close()
	return a.RoundTripper.RoundTrip(r)
}
