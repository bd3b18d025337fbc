package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/machine/local/proc"
	"github.com/seer-engine/seer/internal/attack"
	"github.com/seer-engine/seer/internal/fakenet"
	"github.com/seer-engine/seer/sdk"
)

// network is what attacks on an open network are made with: machines that all of them share.
type network struct {
	pl    *place
	kind  string
	boxes map[bool]*box
}

func newNetwork(t *testing.T, kind string) *network {
	return &network{pl: newPlace(t), kind: kind, boxes: map[bool]*box{}}
}

// box is a machine with the network open; an undefended one shares this computer's.
func (n *network) box(defended bool) *box {
	if b := n.boxes[defended]; b != nil {
		return b
	}
	n.pl.p.sharesOpen = !defended
	n.boxes[defended] = n.pl.up(n.pl.spec(fmt.Sprintf("defended %t", defended), n.kind))
	return n.boxes[defended]
}

// asking is how code inside reaches a service, which answers with a word.
const asking = `
import socket, struct, urllib.request
def tcp(host, port, family=socket.AF_INET):
    s = socket.socket(family); s.settimeout(10)
    s.connect((host, port)); s.sendall(b"x"); return s.recv(999).decode()
def udp(host, port, family=socket.AF_INET, data=b"x"):
    s = socket.socket(family, socket.SOCK_DGRAM); s.settimeout(10)
    s.connect((host, port)); s.send(data); return s.recv(999).decode("latin1")
def unix(name):
    s = socket.socket(socket.AF_UNIX); s.settimeout(10)
    s.connect(name); s.sendall(b"x"); return s.recv(999).decode()
`

// reach has code inside print what a service says. The attack succeeds if it is the word.
func (n *network) reach(word, code string) func(t *testing.T, defended bool) error {
	return func(t *testing.T, defended bool) error {
		n.pl.t = t
		out := n.box(defended).run("%s\nprint(%s)", asking, code)
		if strings.Contains(out, word) {
			return nil
		}
		return errors.New(out)
	}
}

func (n *network) rows() []attack.Row {
	const refused = "Error"
	return []attack.Row{
		{Name: "host-loopback", Isolation: n.kind, Want: "refused", Try: n.reach(fakenet.FromHost, `tcp("127.0.0.1", 8000)`)},
		{Name: "host-loopback-ipv6", Isolation: n.kind, Want: refused, Try: n.reach(fakenet.FromHost, `tcp("::1", 8000, socket.AF_INET6)`)},
		{Name: "host-loopback-udp", Isolation: n.kind, Want: "refused", Try: n.reach(fakenet.FromHost, `udp("127.0.0.1", 8000)`)},
		{Name: "host-address", Isolation: n.kind, Want: refused, Try: n.reach(fakenet.FromHost, `tcp("10.77.0.1", 8000)`)},
		{Name: "host-address-of-default-route", Isolation: n.kind, Want: refused, Try: n.reach(fakenet.FromHost, `tcp("198.51.100.1", 8000)`)},
		{Name: "host-address-ipv6", Isolation: n.kind, Want: refused, Try: n.reach(fakenet.FromHost, `tcp("2001:db8:4::1", 8000, socket.AF_INET6)`)},
		{Name: "host-address-mapped", Isolation: n.kind, Want: refused, Try: n.reach(fakenet.FromHost, `tcp("::ffff:10.77.0.1", 8000, socket.AF_INET6)`)},
		{Name: "host-stub-resolver", Isolation: n.kind, Want: refused, Try: n.reach("internet", `udp("127.0.0.53", 53, data=b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x08internet\x04test\0\0\x01\0\x01")`)},
		{Name: "metadata", Isolation: n.kind, Want: refused, Try: n.reach(fakenet.FromInternet, `tcp("169.254.169.254", 80)`)},
		{Name: "metadata-udp", Isolation: n.kind, Want: refused, Try: n.reach(fakenet.FromInternet, `udp("169.254.169.254", 80)`)},
		{Name: "metadata-ipv6", Isolation: n.kind, Want: refused, Try: n.reach(fakenet.FromInternet, `tcp("fd00:ec2::254", 80, socket.AF_INET6)`)},
		{Name: "metadata-mapped", Isolation: n.kind, Want: refused, Try: n.reach(fakenet.FromInternet, `tcp("::ffff:169.254.169.254", 80, socket.AF_INET6)`)},
	}
}

// never are attacks that no network of this computer's could make succeed either: they use
// what the tools add.
func (n *network) never(t *testing.T) {
	n.pl.t = t
	for _, code := range []string{`tcp("169.254.1.2", 8000)`, `tcp("169.254.1.3", 8000)`, `udp("169.254.1.3", 8000)`, `udp("224.0.0.1", 8000)`} {
		if out := n.box(true).run("%s\nprint(%s)", asking, code); !strings.Contains(out, "rror") {
			t.Errorf("%s: %s", code, out)
		}
	}
}

// works proves that the network is one.
func (n *network) works(t *testing.T) {
	n.pl.t = t
	for code, word := range map[string]string{
		`tcp("203.0.113.7", 80)`: fakenet.FromInternet, `udp("203.0.113.7", 80)`: fakenet.FromInternet, `tcp("10.20.30.40", 80)`: fakenet.FromInternet,
		`urllib.request.urlopen("http://internet.test/").read()`: fakenet.FromInternet,
	} {
		if out := n.box(true).run("%s\nprint(%s)", asking, code); !strings.Contains(out, word) {
			t.Errorf("%s: %s", code, out)
		}
	}
}

// abstract is of bubblewrap: gVisor has abstract sockets of its own in any network.
func (n *network) abstract() []attack.Row {
	return []attack.Row{{Name: "host-abstract-socket", Isolation: n.kind, Want: "refused", Try: n.reach(fakenet.FromHost, `unix("\0seer-fakenet")`)}}
}

func attackNetwork(t *testing.T, kind string) {
	if !fakenet.Enter(t) {
		return
	}
	n := newNetwork(t, kind)
	_, err := n.pl.p.OpenNetwork(t.Context())
	if err != nil && fakenet.Device() {
		t.Fatal(err)
	}
	rows := n.rows()
	if kind == isolation.Bubblewrap {
		rows = append(rows, n.abstract()...)
	}
	attack.Run(t, rows)
	t.Run("never", n.never)
	if err == nil {
		t.Run("works", n.works)
	}
	n.pl.t = t
}

func TestAttacksNetwork(t *testing.T) { attackNetwork(t, isolation.Bubblewrap) }

func TestGVisorAttacksNetwork(t *testing.T) {
	if os.Getenv("SEER_TEST_GVISOR") == "" {
		t.Skip("gVisor is built by make e2e")
	}
	attackNetwork(t, isolation.GVisor)
}

// TestProxyStandsIn: where nothing connects a namespace, the sandbox has a proxy, and its
// user hears of it.
func TestProxyStandsIn(t *testing.T) {
	if !fakenet.Enter(t) {
		return
	}
	for _, kind := range confined(few()) {
		pl := newPlace(t)
		pl.p.trials.detectUplink = func(context.Context) (string, error) { return "", errors.New("no tool") }
		b := pl.up(pl.spec("proxied", kind))
		if log := strings.Join(b.log, "\n"); !strings.Contains(log, "only programs that know HTTP proxies reach the Internet") || !strings.Contains(log, "no tool") {
			t.Errorf("the start says %q", log)
		}
		for url, want := range map[string]string{
			"http://internet.test/": fakenet.FromInternet, "http://10.20.30.40/": fakenet.FromInternet,
			"http://127.0.0.1:8000/": "403", "http://loopback.test:8000/": "403", "http://host.test:8000/": "403", "http://10.77.0.1:8000/": "403",
			"http://metadata.test/": "403", "http://[::ffff:127.0.0.1]:8000/": "403", "http://[fd00:ec2::254]/": "403", "http://internet.test/redirect": "403",
		} {
			if out := b.run(viaProxy, url); !strings.Contains(out, want) || want == "403" && strings.Contains(out, fakenet.FromHost) {
				t.Errorf("%s, %s: %s", kind, url, out)
			}
		}
		b.down()
	}
}

// viaProxy speaks to the proxy's own socket, where the runtime would lead to.
const viaProxy = `
import http.client, socket, urllib.parse
def get(url):
    c = http.client.HTTPConnection("proxy")
    c.sock = socket.socket(socket.AF_UNIX); c.sock.connect("/run/seer/proxy")
    c.request("GET", url, headers={"Connection": "close"})
    a = c.getresponse(); body = a.read().decode()
    return get(a.headers["Location"]) if a.status == 302 else "%%d %%s" %% (a.status, body)
print(get(%q))
`

// TestHostPorts: listed ports of this computer are reached, and no others.
func TestHostPorts(t *testing.T) {
	if !fakenet.Enter(t) {
		return
	}
	for _, kind := range confined(few()) {
		pl := newPlace(t)
		spec := pl.spec("listed", kind)
		spec.Env[HostPortsVariable] = "8000"
		b := pl.up(spec)
		if out := b.run("%s\nprint(unix('/run/seer/host-8000'))", asking); !strings.Contains(out, fakenet.FromHost) {
			t.Errorf("%s: %s", kind, out)
		}
		if out := b.run("import os; print('SEER_HOST_PORTS' in os.environ, os.environ['SEER_GATE'])"); !strings.Contains(out, "False") || !strings.Contains(out, `"host_ports":[{"port":8000`) {
			t.Errorf("%s: %s", kind, out)
		}
		b.down()
		spec.Env[HostPortsVariable] = "80"
		if _, err := pl.p.Create(t.Context(), spec, nil); sdk.CodeOf(err) != sdk.Invalid {
			t.Errorf("port 80: %v", err)
		}
	}
}

// TestUplinkEndsAndComesBack: the tool is started again when it dies, and so is the network proxy; it
// is gone with the machine.
func TestUplinkEndsAndComesBack(t *testing.T) {
	if !fakenet.Enter(t) {
		return
	}
	if !fakenet.Device() {
		return // it reaches others by HTTP proxy
	}
	pl := newPlace(t)
	b := pl.up(pl.spec("helper", isolation.Bubblewrap))
	answers := func() bool {
		return strings.Contains(b.run("%s\nprint(tcp('203.0.113.7', 80))", asking), fakenet.FromInternet)
	}
	if !answers() {
		t.Fatal("it does not reach the Internet at first")
	}
	proxyPID := func() int {
		n, err := pl.p.folder(b.handle).read()
		if err != nil {
			t.Fatal(err)
		}
		return n.NetProxy.Process.PID
	}
	for _, victim := range []string{"the tool", "the network proxy"} {
		first := proxyPID()
		children, err := proc.Below(first)
		if err != nil || len(children) == 0 {
			t.Fatalf("the network proxy has started %v, %v", children, err)
		}
		if victim == "the network proxy" {
			children = []process{{PID: first}}
		}
		for _, c := range children {
			p, _ := os.FindProcess(c.PID)
			_ = p.Kill()
		}
		eventually(t, "the network after the end of "+victim, func() bool { pl.observe(b.handle); return answers() })
	}
	b.down()
	pl.empty()
}
