package netproxy

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/seer-engine/seer/internal/attack"
)

const secretOfHost = "what only this computer's user may read"

// openProxy is a proxy of an open network, and a service on this computer's loopback. What
// is sent to ownAddress gets there, too: as if it was one of this computer's.
func openProxy(t *testing.T, defended bool) (socket, service string) {
	t.Helper()
	own := netip.MustParseAddr("198.51.100.7")
	here := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/redirect" {
			http.Redirect(w, r, "http://"+r.URL.Query().Get("to")+"/", http.StatusFound)
			return
		}
		_, _ = io.WriteString(w, secretOfHost)
	}))
	t.Cleanup(here.Close)
	service = here.Listener.Addr().String()
	p := &Proxy{
		Open: true, unguarded: !defended, Own: func() ([]netip.Addr, error) { return []netip.Addr{own}, nil },
		Lookup: func(_ context.Context, host string) ([]netip.Addr, error) {
			return map[string][]netip.Addr{"evil.test": {netip.MustParseAddr("127.0.0.1")}, "internet.test": {netip.MustParseAddr("203.0.113.7")}}[host], nil
		},
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			if host, _, _ := net.SplitHostPort(address); host == "203.0.113.7" || host == own.String() {
				address = service
			}
			return (&net.Dialer{}).DialContext(ctx, network, address)
		},
	}
	return served(t, p), service
}

// TestAttacksProxy makes the attacks by the proxy that stands in for an open network.
func TestAttacksProxy(t *testing.T) {
	get := func(target string) func(t *testing.T, defended bool) error {
		return func(t *testing.T, defended bool) error {
			socket, service := openProxy(t, defended)
			_, port, _ := net.SplitHostPort(service)
			c := client(socket)
			defer c.CloseIdleConnections()
			answer, err := c.Get(strings.NewReplacer("PORT", port, "SERVICE", service).Replace(target))
			if err != nil {
				return err
			}
			defer answer.Body.Close()
			body, err := io.ReadAll(answer.Body)
			if string(body) == secretOfHost {
				return nil
			}
			return errors.Join(errors.New(answer.Status), err)
		}
	}
	attack.Run(t, []attack.Row{
		{Name: "proxy-loopback", Want: "403", Try: get("http://127.0.0.1:PORT/")},
		{Name: "proxy-name-of-loopback", Want: "403", Try: get("http://evil.test:PORT/")},
		{Name: "proxy-redirect-to-loopback", Want: "403", Try: get("http://internet.test/redirect?to=SERVICE")},
		{Name: "proxy-mapped-loopback", Want: "403", Try: get("http://[::ffff:127.0.0.1]:PORT/")},
		{Name: "proxy-host-address", Want: "403", Try: get("http://198.51.100.7:PORT/")},
		{Name: "proxy-connect-loopback", Want: "403", Try: func(t *testing.T, defended bool) error {
			socket, service := openProxy(t, defended)
			answer := raw(t, socket, "CONNECT "+service+" HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.0\r\n\r\n")
			if strings.Contains(answer, secretOfHost) {
				return nil
			}
			return errors.New(answer)
		}},
	})
}

func TestOpenAddresses(t *testing.T) {
	own := []netip.Addr{netip.MustParseAddr("198.51.100.7"), netip.MustParseAddr("2001:db8::1")}
	for text, want := range map[string]bool{
		"93.184.216.34": true, "10.0.0.1": true, "192.168.1.1": true, "100.64.0.1": true, "2606:2800:220:1::1": true, "fd00::5": true, "64:ff9b::5db8:d822": true,
		"127.0.0.1": false, "127.9.9.9": false, "0.0.0.0": false, "::": false, "::1": false, "169.254.169.254": false, "fd00:ec2::254": false, "224.0.0.1": false,
		"255.255.255.255": false, "fe80::1%eth0": false, "ff02::1": false, "::ffff:127.0.0.1": false, "::ffff:169.254.169.254": false, "::127.0.0.1": false,
		"64:ff9b::7f00:1": false, "64:ff9b::a9fe:a9fe": false, "2002:7f00:1::": false, "168.63.129.16": false, "100.100.100.200": false,
		"198.51.100.7": false, "::ffff:198.51.100.7": false, "2001:db8::1": false, "64:ff9b::c633:6407": false,
	} {
		if got := open(netip.MustParseAddr(text), own); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
	rules := filter(own, true)
	for _, want := range []string{"198.51.100.7/32", "64:ff9b::c633:6407/128", "2001:db8::1/128", "169.254.0.0/16"} {
		if !strings.Contains(rules, want) {
			t.Errorf("%s is not in %s", want, rules)
		}
	}
}
