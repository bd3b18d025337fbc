package netproxy

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// Hosts are the hosts that may be reached.
type Hosts struct{ entries []entry }

type entry struct {
	name   string     // exact, or the part behind "*"
	below  bool       // every name below it, at any depth
	addr   netip.Addr // instead of a name
	port   int        // 0 = 80 and 443
	source string
}

// ParseHosts reads a list of hosts: example.org, *.example.org (what is below it, not
// itself), 192.0.2.7, [2001:db8::1], each of them with :PORT or, without, for 80 and
// 443.
func ParseHosts(list []string) (Hosts, error) {
	var out Hosts
	for _, text := range list {
		e, err := parseEntry(text)
		if err != nil {
			return Hosts{}, fmt.Errorf("the host %q in sandbox.network: %w", text, err)
		}
		out.entries = append(out.entries, e)
	}
	return out, nil
}

func parseEntry(text string) (entry, error) {
	e := entry{source: text}
	host, port := text, ""
	if addr, err := netip.ParseAddr(strings.Trim(text, "[]")); err == nil && addr.Zone() == "" {
		e.addr = addr.Unmap()
		return e, nil
	}
	if strings.Contains(text, ":") {
		var err error
		if host, port, err = net.SplitHostPort(text); err != nil {
			return e, fmt.Errorf("it must be a name or an address, with or without :PORT, and no URL")
		}
		if e.port, err = strconv.Atoi(port); err != nil || e.port < 1 || e.port > 65535 {
			return e, fmt.Errorf("%q is not a port", port)
		}
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		if addr.Zone() != "" {
			return e, fmt.Errorf("an address with a zone cannot be reached from a sandbox")
		}
		e.addr = addr.Unmap()
		return e, nil
	}
	e.name = canonical(host)
	if rest, ok := strings.CutPrefix(e.name, "*."); ok {
		e.name, e.below = rest, true
	}
	if !validName(e.name) {
		return e, fmt.Errorf("it must be a name like example.org, *.example.org or example.org:8443; other alphabets in their ASCII form (xn--…)")
	}
	return e, nil
}

func canonical(host string) string { return strings.ToLower(strings.TrimSuffix(host, ".")) }

func validName(name string) bool {
	if name == "" || len(name) > 253 {
		return false
	}
	for _, label := range strings.Split(name, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' ||
			strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	return true
}

// Match reports whether the host, a name or an address, may be asked for at the port.
func (h Hosts) Match(host string, port int) bool {
	addr, err := netip.ParseAddr(host)
	isAddr := err == nil
	if isAddr && addr.Zone() != "" {
		return false
	}
	name := canonical(host)
	for _, e := range h.entries {
		switch {
		case e.port != 0 && e.port != port, e.port == 0 && port != 80 && port != 443:
		case isAddr:
			if e.addr.IsValid() && e.addr == addr.Unmap() {
				return true
			}
		case e.addr.IsValid():
		case !e.below && name == e.name, e.below && strings.HasSuffix(name, "."+e.name) && validName(name):
			return true
		}
	}
	return false
}

// inner are networks that belong to this computer or its neighbours, beyond those
// that netip knows. A name that leads there was not meant.
var inner = [...]string{
	"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "198.18.0.0/15", "240.0.0.0/4",
	"fec0::/10", "2002::/16", "2001::/32", "64:ff9b::/96", "64:ff9b:1::/48", "::/96", "::ffff:0:0:0/96", "192.88.99.0/24",
}

// public reports whether an address that a name resolves to is one of the Internet.
func public(addr netip.Addr) bool {
	addr = addr.Unmap()
	if !addr.IsGlobalUnicast() || addr.IsPrivate() {
		return false // loopback, link-local, multicast, unspecified among them
	}
	for _, text := range inner {
		if netip.MustParsePrefix(text).Contains(addr) {
			return false
		}
	}
	return true
}
