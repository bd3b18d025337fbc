package netproxy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seer-engine/seer/internal/testkit"
)

// world is an Internet with two names and one server behind every address.
type world struct {
	t      *testing.T
	origin *httptest.Server
	names  map[string][]netip.Addr
	log    testkit.Buffer

	mu      sync.Mutex
	dialled []string
	lookups int
}

func newWorld(t *testing.T, list ...string) (*world, string) {
	t.Helper()
	w := &world{t: t, names: map[string][]netip.Addr{
		"example.org":     {netip.MustParseAddr("93.184.216.34")},
		"api.example.org": {netip.MustParseAddr("2606:2800:220:1::1"), netip.MustParseAddr("93.184.216.35")},
		"inner.test":      {netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("10.1.2.3"), netip.MustParseAddr("169.254.169.254")},
	}}
	w.origin = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = fmt.Fprintf(rw, "host=%s path=%s body=%s hop=%q", r.Host, r.URL.RequestURI(), body, r.Header.Get("Proxy-Authorization"))
	}))
	t.Cleanup(w.origin.Close)
	hosts, err := ParseHosts(list)
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{Hosts: hosts, Log: &w.log, Lookup: w.lookup, Dial: w.dial,
		Own: func() ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("198.51.100.7"), netip.MustParseAddr("2606:4700::7")}, nil
		}}
	return w, served(t, p)
}

// served serves a proxy until the test ends, and returns its socket.
func served(t *testing.T, p *Proxy) string {
	t.Helper()
	l := testkit.UnixSocket(t)
	go func() { _ = p.Serve(l) }()
	return l.Addr().String()
}

func (w *world) lookup(_ context.Context, host string) ([]netip.Addr, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lookups++
	if a, ok := w.names[host]; ok {
		return a, nil
	}
	return nil, errors.New("no such host")
}

func (w *world) dial(ctx context.Context, network, address string) (net.Conn, error) {
	w.mu.Lock()
	w.dialled = append(w.dialled, address)
	w.mu.Unlock()
	if strings.HasPrefix(address, "[2606:") {
		return nil, errors.New("no route")
	}
	return (&net.Dialer{}).DialContext(ctx, network, w.origin.Listener.Addr().String())
}

// raw sends bytes to the proxy and returns all that comes back.
func raw(t *testing.T, socket, text string) string {
	t.Helper()
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func client(socket string) *http.Client {
	return &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{
		Proxy:       http.ProxyURL(&url.URL{Scheme: "http", Host: "proxy"}),
		DialContext: func(context.Context, string, string) (net.Conn, error) { return net.Dial("unix", socket) },
	}}
}

func TestPlainRequests(t *testing.T) {
	w, socket := newWorld(t, "example.org", "*.example.org:8080")
	c := client(socket)
	defer c.CloseIdleConnections()
	answer, err := c.Post("http://example.org/a%20b?c=d", "text/plain", strings.NewReader("hello"))
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	if string(body) != `host=example.org path=/a%20b?c=d body=hello hop=""` {
		t.Errorf("it answers %s", body)
	}
	if got := raw(t, socket, "GET http://api.example.org:8080/x HTTP/1.1\r\nHost: evil.test\r\nProxy-Authorization: secret\r\nConnection: close\r\n\r\n"); !strings.Contains(got, `host=api.example.org:8080 path=/x body= hop=""`) {
		t.Errorf("another Host header: %s", got)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if want := "[93.184.216.34:80 [2606:2800:220:1::1]:8080 93.184.216.35:8080]"; fmt.Sprint(w.dialled) != want || w.lookups != 2 {
		t.Errorf("it connected to %v after %d lookups", w.dialled, w.lookups)
	}
}

func TestTunnel(t *testing.T) {
	_, socket := newWorld(t, "example.org")
	// The first bytes of the tunnel come with the question, and it ends half by half.
	got := raw(t, socket, "CONNECT Example.org.:443 HTTP/1.1\r\nHost: x\r\n\r\nGET /in HTTP/1.1\r\nHost: tunnel\r\nConnection: close\r\n\r\n")
	if !strings.HasPrefix(got, "HTTP/1.1 200 ") || !strings.Contains(got, "host=tunnel path=/in") {
		t.Errorf("the tunnel: %s", got)
	}
}

func TestRefusedHosts(t *testing.T) {
	w, socket := newWorld(t, "example.org", "*.example.org", "inner.test", "127.0.0.1:1", "missing.test")
	for _, tc := range []struct{ ask, status, text string }{
		{"CONNECT evil.test:443", "403", "evil.test:443"},
		{"CONNECT example.org:22", "403", "example.org:22"},
		{"CONNECT notexample.org:443", "403", "notexample.org"},
		{"CONNECT example.org.evil.test:443", "403", "sandbox.network"},
		{"CONNECT 93.184.216.34:443", "403", "93.184.216.34"},
		{"CONNECT 127.0.0.1:443", "403", "127.0.0.1:443"},
		{"CONNECT [::ffff:93.184.216.34]:443", "403", "sandbox.network"},
		{"CONNECT [fe80::1%25lo]:443", "403", ""},
		{"CONNECT inner.test:443", "403", "not on the Internet"},
		{"CONNECT missing.test:443", "502", "missing.test"},
		{"CONNECT example.org:99999", "403", ""},
		{"CONNECT example.org", "403", "HOST:PORT"},
		{"GET http://evil.test/", "403", "evil.test:80"},
		{"GET http://inner.test/latest/meta-data", "403", "169.254.169.254"},
		{"GET https://example.org/", "400", ""},
		{"GET ftp://example.org/", "400", ""},
		{"GET /", "400", "proxy of a sandbox"},
	} {
		got := raw(t, socket, tc.ask+" HTTP/1.1\r\nHost: example.org\r\nConnection: close\r\n\r\n")
		if !strings.HasPrefix(got, "HTTP/1.1 "+tc.status) || !strings.Contains(got, tc.text) {
			t.Errorf("%s: %s", tc.ask, got)
		}
	}
	raw(t, socket, "CONNECT evil.test:443 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.dialled) != 0 {
		t.Errorf("it connected to %v", w.dialled)
	}
	if log := w.log.String(); strings.Count(log, "evil.test:443:") != 2 || !strings.HasPrefix(log, "netproxy: ") { // evil.test and example.org.evil.test
		t.Errorf("the log:\n%s", log)
	}
}

func TestListedAddressIsMeant(t *testing.T) {
	w, socket := newWorld(t, "127.0.0.1:9", "[::1]:9")
	for _, host := range []string{"127.0.0.1:9", "[::1]:9"} {
		if got := raw(t, socket, "GET http://"+host+"/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 200") {
			t.Errorf("%s: %s", host, got)
		}
	}
	if w.lookups != 0 {
		t.Error("an address was looked up")
	}
}

// A listed name may lead anywhere: never to this computer, under whatever address, nor to
// what is beside it; and the answer of another time is not the one that counts.
func TestNamesThatLeadBack(t *testing.T) {
	w, socket := newWorld(t, "evil.test", "localhost", "198.51.100.7")
	ask := func() string {
		return raw(t, socket, "CONNECT evil.test:443 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	}
	set := func(name string, addrs ...string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.names[name] = nil
		for _, a := range addrs {
			w.names[name] = append(w.names[name], netip.MustParseAddr(a))
		}
	}
	for _, own := range []string{"198.51.100.7", "2606:4700::7", "::ffff:198.51.100.7", "2606:4700::7%eth0", "127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1",
		"0.0.0.0", "::", "169.254.169.254", "fd00:ec2::254", "fe80::1%eth0", "10.0.0.5", "192.168.1.1", "100.64.0.1", "64:ff9b::c633:6407", "64:ff9b::7f00:1", "2002:c633:6407::1"} {
		set("evil.test", own)
		if got := ask(); !strings.HasPrefix(got, "HTTP/1.1 403") || !strings.Contains(got, "list that address itself") {
			t.Errorf("%s: %s", own, got)
		}
	}
	set("localhost", "127.0.0.1")
	if got := raw(t, socket, "GET http://localhost/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 403") {
		t.Errorf("localhost: %s", got)
	}
	w.mu.Lock()
	if len(w.dialled) != 0 {
		t.Errorf("it connected to %v", w.dialled)
	}
	w.mu.Unlock()
	// Among others it is left out; and it is asked anew for each connection.
	set("evil.test", "198.51.100.7", "93.184.216.34", "127.0.0.1")
	if got := raw(t, socket, "GET http://evil.test/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 200") {
		t.Errorf("a good one among them: %s", got)
	}
	set("evil.test", "198.51.100.7")
	if got := ask(); !strings.HasPrefix(got, "HTTP/1.1 403") {
		t.Errorf("after its name leads elsewhere: %s", got)
	}
	// Who lists an address means it.
	if got := raw(t, socket, "GET http://198.51.100.7/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 200") {
		t.Errorf("the address itself: %s", got)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if want := "[93.184.216.34:80 198.51.100.7:80]"; fmt.Sprint(w.dialled) != want {
		t.Errorf("it connected to %v", w.dialled)
	}
}

func TestOwnAddresses(t *testing.T) {
	own, err := ownAddresses()
	if err != nil || !slices.Contains(own, netip.MustParseAddr("127.0.0.1")) {
		t.Errorf("%v, %v", own, err)
	}
}

func TestHostLists(t *testing.T) {
	for _, bad := range []string{"", "*", "*.", "https://example.org", "example.org/x", "a b", "exämple.org", "example.org:0", "example.org:http", ":80",
		"*.*.org", "-a.org", "a..b", "fe80::1%eth0", "example.org:80:81", strings.Repeat("a", 64) + ".org"} {
		if _, err := ParseHosts([]string{"example.org", bad}); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
	if _, err := ParseHosts([]string{"Example.ORG.", "*.x.org", "1.2.3.4", "::1", "[::1]", "[::1]:8", "1.2.3.4:5", "localhost", "a_b.org"}); err != nil {
		t.Error(err)
	}
}

func TestInnerAddresses(t *testing.T) {
	for text, want := range map[string]bool{
		"93.184.216.34": true, "2606:2800:220:1::1": true, "127.0.0.1": false, "10.0.0.1": false, "172.16.3.4": false, "192.168.1.1": false,
		"169.254.169.254": false, "100.64.0.1": false, "0.0.0.0": false, "0.1.2.3": false, "224.0.0.1": false, "255.255.255.255": false,
		"::": false, "::1": false, "fe80::1": false, "fc00::1": false, "fd00:ec2::254": false, "::ffff:127.0.0.1": false, "::127.0.0.1": false,
		"64:ff9b::7f00:1": false, "64:ff9b:1::a00:1": false, "::ffff:0:127.0.0.1": false, "::ffff:169.254.169.254": false, "::ffff:93.184.216.34": true,
		"192.88.99.1": false, "fec0::1": false, "2001::1": false, "198.18.0.1": false, "2002:7f00:1::": false, "ff02::1": false,
	} {
		if got := public(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// FuzzHosts: whatever is listed and asked for, a name is only let through if it is
// listed or below one that is.
func FuzzHosts(f *testing.F) {
	f.Add("example.org", "example.org", 443)
	f.Add("*.example.org:8080", "a.example.org.", 8080)
	f.Add("[::1]:80", "::1", 80)
	f.Add("1.2.3.4", "::ffff:1.2.3.4", 80)
	f.Fuzz(func(t *testing.T, listed, asked string, port int) {
		hosts, err := ParseHosts([]string{listed})
		if err != nil || !hosts.Match(asked, port) {
			return
		}
		e := hosts.entries[0]
		if e.port != 0 && e.port != port || e.port == 0 && port != 80 && port != 443 {
			t.Errorf("%q lets %q:%d through", listed, asked, port)
		}
		if addr, err := netip.ParseAddr(asked); err == nil {
			if addr.Unmap() != e.addr {
				t.Errorf("%q lets the address %q through", listed, asked)
			}
		} else if name := strings.ToLower(strings.TrimSuffix(asked, ".")); name != e.name && !(e.below && strings.HasSuffix(name, "."+e.name)) {
			t.Errorf("%q lets %q through", listed, asked)
		}
	})
}

// FuzzProxy sends anything to a proxy that lets nobody through.
func FuzzProxy(f *testing.F) {
	f.Add("CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n")
	f.Add("GET http://a/ HTTP/1.0\r\n\r\n")
	f.Add("GET http://[::1%25lo]:80/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello")
	dialled := func(context.Context, string, string) (net.Conn, error) { panic("it connected") }
	f.Fuzz(func(t *testing.T, text string) {
		l := &pipeListener{conns: make(chan net.Conn, 1), done: make(chan struct{})}
		here, there := net.Pipe()
		l.conns <- there
		p := &Proxy{Dial: dialled, Lookup: func(context.Context, string) ([]netip.Addr, error) { panic("it asked for a name") }}
		go func() { _ = p.Serve(l) }()
		_ = here.SetDeadline(time.Now().Add(50 * time.Millisecond))
		go func() { _, _ = io.WriteString(here, text) }()
		if answer, err := http.ReadResponse(bufio.NewReader(here), nil); err == nil && answer.StatusCode < 400 && answer.StatusCode != http.StatusContinue {
			t.Errorf("%q is answered with %s", text, answer.Status)
		}
		_ = here.Close()
		close(l.done)
	})
}

type pipeListener struct {
	conns chan net.Conn
	done  chan struct{}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}
func (l *pipeListener) Close() error   { return nil }
func (l *pipeListener) Addr() net.Addr { return &net.UnixAddr{} }
