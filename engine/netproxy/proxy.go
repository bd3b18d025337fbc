package netproxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"time"
)

const (
	dialLimit   = 30 * time.Second
	headerLimit = time.Minute
	maxHeader   = 64 << 10
	maxLogged   = 1000 // refused hosts; who asks for more is told, but not written down
)

// Proxy is an HTTP proxy that reaches listed hosts only, or with Open all but this
// computer, its link and metadata services: CONNECT, and plain http.
type Proxy struct {
	Hosts Hosts
	Open  bool      // Hosts is not used
	Log   io.Writer // a line for each host that was refused, once

	// What it uses of this computer; nil is the real thing.
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	Dial   func(ctx context.Context, network, address string) (net.Conn, error)
	Own    func() ([]netip.Addr, error) // its addresses, which may be some of the Internet

	unguarded bool // tests of attacks: Open without a look at addresses

	mu     sync.Mutex
	logged map[string]bool
}

// refusal is the answer 403.
type refusal struct{ text string }

func (r *refusal) Error() string { return r.text }

// Serve answers until the listener is closed.
func (p *Proxy) Serve(l net.Listener) error {
	transport := &http.Transport{
		DialContext:        func(ctx context.Context, _, address string) (net.Conn, error) { return p.reach(ctx, address) },
		DisableCompression: true, IdleConnTimeout: 30 * time.Second, MaxIdleConnsPerHost: 8,
	}
	plain := &httputil.ReverseProxy{
		Transport: transport, FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL, r.Out.Host = r.In.URL, r.In.URL.Host // the host that was checked, whatever the header says
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) { fail(w, err) },
	}
	server := &http.Server{
		ReadHeaderTimeout: headerLimit, IdleTimeout: 5 * time.Minute, MaxHeaderBytes: maxHeader, ErrorLog: log.New(io.Discard, "", 0),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.Method == http.MethodConnect:
				p.connect(w, r)
			case r.URL.Scheme == "http" && r.URL.Host != "":
				plain.ServeHTTP(w, r)
			default:
				http.Error(w, "this is the proxy of a sandbox: ask for http://HOST/… or CONNECT HOST:PORT", http.StatusBadRequest)
			}
		}),
	}
	return server.Serve(l)
}

func fail(w http.ResponseWriter, err error) {
	var no *refusal
	if errors.As(err, &no) {
		http.Error(w, no.text, http.StatusForbidden)
		return
	}
	http.Error(w, "the sandbox's proxy: "+err.Error(), http.StatusBadGateway)
}

func (p *Proxy) connect(w http.ResponseWriter, r *http.Request) {
	there, err := p.reach(r.Context(), r.Host)
	if err != nil {
		fail(w, err)
		return
	}
	hijacker, ok := w.(http.Hijacker)
	if !ok {
		_ = there.Close()
		fail(w, errors.New("this connection cannot be a tunnel"))
		return
	}
	here, buffered, err := hijacker.Hijack()
	if err != nil {
		_ = there.Close()
		return
	}
	if _, err := io.WriteString(here, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		_, _ = here.Close(), there.Close()
		return
	}
	if n := buffered.Reader.Buffered(); n > 0 { // sent without waiting for the answer
		early, _ := buffered.Peek(n)
		if _, err := there.Write(early); err != nil {
			_, _ = here.Close(), there.Close()
			return
		}
	}
	Join(here, there)
}

// reach connects to a listed host. A name is resolved once, and what was checked is
// what is connected to.
func (p *Proxy) reach(ctx context.Context, address string) (net.Conn, error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return nil, &refusal{fmt.Sprintf("%q is not HOST:PORT", address)}
	}
	port, err := strconv.Atoi(text)
	switch {
	case p.Open && (err != nil || port < 1 || port > 65535):
		return nil, &refusal{fmt.Sprintf("%q is not HOST:PORT", address)}
	case !p.Open && (err != nil || !p.Hosts.Match(host, port)):
		return nil, p.refuse(address, "it is not in the list of hosts; add it to sandbox.network")
	}
	ctx, cancel := context.WithTimeout(ctx, dialLimit)
	defer cancel()
	addr, err := netip.ParseAddr(host)
	if err == nil && !p.Open { // listed as such
		return p.dial(ctx, []netip.Addr{addr}, port)
	}
	addrs := []netip.Addr{addr}
	if err != nil {
		if addrs, err = p.lookup(ctx, canonical(host)); err != nil {
			return nil, fmt.Errorf("find %s: %w", host, err)
		}
	}
	allowed, err := p.outside(addrs)
	if err != nil {
		return nil, err
	}
	if len(allowed) == 0 && p.Open {
		return nil, p.refuse(address, fmt.Sprintf("%v is this computer, its link or a metadata service; for a port of this computer, list it in sandbox.host_ports", addrs))
	}
	if len(allowed) == 0 {
		return nil, p.refuse(address, fmt.Sprintf("its name leads to %v, which is not on the Internet, or this computer; list that address itself in sandbox.network if it is meant", addrs))
	}
	return p.dial(ctx, allowed, port)
}

// outside are those of the addresses that a name may lead to: with a list, what is on the
// Internet and not this computer's, because what listens here, as for a neighbour of the
// LAN, takes a sandbox for its own user.
func (p *Proxy) outside(addrs []netip.Addr) (allowed []netip.Addr, err error) {
	find := p.Own
	if find == nil {
		find = ownAddresses
	}
	own, err := find() // each time: networks come and go
	if err != nil {
		return nil, fmt.Errorf("find the addresses of this computer: %w", err)
	}
	for _, a := range addrs {
		a = a.WithZone("").Unmap()
		if p.Open && (open(a, own) || p.unguarded) || !p.Open && public(a) && !slices.Contains(own, a) {
			allowed = append(allowed, a)
		}
	}
	return allowed, nil
}

func (p *Proxy) lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	if p.Lookup != nil {
		return p.Lookup(ctx, host)
	}
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host+".") // not below a domain of this computer
}

func (p *Proxy) dial(ctx context.Context, addrs []netip.Addr, port int) (conn net.Conn, err error) {
	dial := p.Dial
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	for i, addr := range addrs {
		try, cancel := context.WithTimeout(ctx, share(ctx, len(addrs)-i))
		conn, err = dial(try, "tcp", netip.AddrPortFrom(addr, uint16(port)).String())
		cancel()
		if err == nil || ctx.Err() != nil {
			break
		}
	}
	return conn, err
}

// share divides what is left of the time, so that one dead address leaves some to
// the others.
func share(ctx context.Context, parts int) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return dialLimit
	}
	return time.Until(deadline) / time.Duration(parts)
}

func (p *Proxy) refuse(address, why string) error {
	text := fmt.Sprintf("the sandbox may not reach %s: %s", address, why)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.logged == nil {
		p.logged = map[string]bool{}
	}
	if p.Log != nil && !p.logged[address] && len(p.logged) < maxLogged {
		p.logged[address] = true
		_, _ = fmt.Fprintf(p.Log, "netproxy: %q\n", text)
	}
	return &refusal{text}
}

type halfCloser interface{ CloseWrite() error }

// Join leads two connections into each other until both directions have ended.
func Join(a, b net.Conn) {
	var wg sync.WaitGroup
	pipe := func(to, from net.Conn) {
		if _, err := io.Copy(to, from); err != nil {
			_, _ = to.Close(), from.Close()
			return
		}
		if half, ok := to.(halfCloser); !ok || half.CloseWrite() != nil {
			_ = to.Close()
		}
	}
	wg.Go(func() { pipe(a, b) })
	wg.Go(func() { pipe(b, a) })
	wg.Wait()
	_, _ = a.Close(), b.Close()
}
