// Package egress is what a plugin may send where: destinations, credentials,
// streams. It makes every connection itself, so that a plugin reaches only what its
// manifest names, and never sees the credentials that go with its requests.
//
// A [Gateway] belongs to one plugin; a [Session] to one call of it. The checks of a
// request are the same whether the plugin asks for it or a server's redirect does:
//
//   - destination, method and path are permitted by the manifest,
//   - the name is resolved once, every address of it is checked, and the connection
//     is made to a checked address, so that a name that changes in between gains nothing,
//   - private addresses and http:// only for destinations that the user configured,
//   - a credential goes into the header that it is bound to, for the destination that
//     it is bound to, and is taken out of everything that comes back.
//
// Connections are direct: a proxy of the environment (HTTPS_PROXY) is not used, for
// the addresses that a proxy reaches cannot be checked.
package egress

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seer-engine/seer/sdk"
)

// Options say what the [Gateway] of a plugin works with.
type Options struct {
	Manifest sdk.Manifest // must have passed [Check]; what of it is granted

	// Asked is the whole manifest, to tell what is not granted from what is not asked
	// for. Empty = Manifest.
	Asked sdk.Manifest

	// Destinations limits where a plugin may send, whatever its manifest says: origins, or
	// *.example.com. Empty = no limit.
	Destinations []string

	// Env looks a variable up in the environment; where says in which, for people. nil =
	// there is none.
	Env func(name string) (value, where string, ok bool)

	// SecretEnv is where secrets, and nothing else, are looked for if neither Env nor the
	// profile has any secret of the manifest: a file that comes with a project must not say
	// where a credential is sent, nor replace the user's account. nil = nowhere.
	SecretEnv func(name string) (value, where string, ok bool)

	Home   string      // folder of the profiles that a manifest names by ~/; "" = there are none
	Limits Limits      // zero fields take the defaults
	Audit  func(Audit) // is told of every request when it has ended; nil = nobody. Calls may overlap

	Resolve func(ctx context.Context, host string) ([]netip.Addr, error) // nil = as the system does
	Roots   *x509.CertPool                                               // nil = the system's

	// Transport makes HTTP requests in place of the network, after all checks and with
	// credentials. What it answers is treated as the network's. gRPC is not made with it.
	// nil = the network.
	Transport http.RoundTripper

	SSH      SSH      // runs commands on hosts; nil = none can be reached
	SSHHosts SSHHosts // nil = none is remembered

	Kube         Kube         // reaches clusters; nil = none can be reached
	KubeContexts KubeContexts // nil = none is remembered

	connect      func(ctx context.Context, addr string) (net.Conn, error) // of tests
	projectFirst bool                                                     // of tests: SecretEnv wins over the profile
}

// Limits bound what a plugin may move.
type Limits struct {
	ResponseMB int           // the body of an HTTP answer; default 64
	HeaderKB   int           // all headers of a request or answer; default 64
	Connect    time.Duration // until a connection stands, TLS included; default 15 s
	Wait       time.Duration // the longest that one [Session.Wait] waits; default 1 s
}

func (l Limits) withDefaults() Limits {
	if l.ResponseMB <= 0 {
		l.ResponseMB = 64
	}
	if l.HeaderKB <= 0 {
		l.HeaderKB = 64
	}
	if l.Connect <= 0 {
		l.Connect = 15 * time.Second
	}
	if l.Wait <= 0 {
		l.Wait = time.Second
	}
	return l
}

// Audit is one request that was made or refused. It holds no credential.
type Audit struct {
	Plugin      string
	Destination string // origin; ssh://host; kube://context, escaped
	Method      string // of HTTP; "" for gRPC; SSH for a command on a host, EXEC for one in a pod
	Path        string // path, or /package.Service/Method; no query; / and the command on a host; /namespace/pod/container and the command in a pod
	Status      int    // of HTTP, code of gRPC, or exit code
	Sent        int64  // bytes of bodies or messages
	Received    int64
	Error       string // why there was no answer
	Permission  string // the line of the manifest that allowed it; "" where it was refused
	Refused     bool   // by the host: it was not sent
	Time        time.Time
	Duration    time.Duration
}

// Gateway is what one plugin may send where. Its sessions share connections and
// captured credentials. It is safe for concurrent use.
type Gateway struct {
	id       string
	o        Options
	limits   Limits
	bindings []binding
	withheld []binding // asked for and not granted
	captures []capture
	scrub    *scrubber
	vault    *vault
	public   *http.Transport // only to addresses of the internet
	anywhere *http.Transport // for destinations that the user configured
	rpcs     *pool
	number   atomic.Int64 // of the last stream

	mu       sync.Mutex
	sessions map[*Session]struct{}
	closed   bool
}

// New makes a gateway. It reads nothing yet: settings and secrets are looked up for
// each session, so that a token set later is found.
func New(o Options) *Gateway {
	if o.Asked.ID == "" {
		o.Asked = o.Manifest
	}
	g := &Gateway{id: o.Manifest.ID, o: o, limits: o.Limits.withDefaults(), scrub: newScrubber(), sessions: map[*Session]struct{}{}}
	g.vault = newVault(g.scrub)
	g.bindings, g.captures = parseBindings(o.Manifest), parseCaptures(o.Manifest)
	g.withheld = withheldBindings(o)
	anywhere := &dialer{resolve: o.Resolve, connect: o.connect, timeout: g.limits.Connect}
	if anywhere.connect == nil {
		anywhere.connect = connectTCP
	}
	public := &dialer{resolve: o.Resolve, connect: anywhere.connect, timeout: g.limits.Connect, publicOnly: true}
	g.public, g.anywhere = g.transport(public), g.transport(anywhere)
	g.rpcs = &pool{public: public, anywhere: anywhere, tls: g.tls(), headerBytes: uint32(g.limits.HeaderKB) << 10}
	return g
}

func (g *Gateway) tls() *tls.Config {
	return &tls.Config{RootCAs: g.o.Roots, MinVersion: tls.VersionTLS12}
}

func (g *Gateway) transport(d *dialer) *http.Transport {
	return &http.Transport{
		Proxy:                  nil, // see the package comment
		DialContext:            d.dial,
		TLSClientConfig:        g.tls(),
		TLSHandshakeTimeout:    g.limits.Connect,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true, // what is not unpacked cannot explode
		MaxResponseHeaderBytes: int64(g.limits.HeaderKB) << 10,
		IdleConnTimeout:        90 * time.Second,
		MaxIdleConnsPerHost:    8,
	}
}

// Scrub takes the credentials that this gateway has used out of a text.
func (g *Gateway) Scrub(text string) string { return g.scrub.text(text) }

// Close ends all sessions and connections and forgets the captured credentials.
func (g *Gateway) Close() {
	g.mu.Lock()
	g.closed = true
	var open []*Session
	for s := range g.sessions {
		open = append(open, s)
	}
	g.mu.Unlock()
	for _, s := range open {
		s.Close()
	}
	g.rpcs.close()
	g.public.CloseIdleConnections()
	g.anywhere.CloseIdleConnections()
	g.vault.close()
}

func (g *Gateway) audit(a Audit) {
	if g.o.Audit == nil {
		return
	}
	a.Plugin, a.Duration = g.id, time.Since(a.Time)
	if a.Refused {
		a.Permission = ""
	}
	a.Error, a.Path = g.Scrub(a.Error), g.Scrub(a.Path)
	g.o.Audit(a)
}
