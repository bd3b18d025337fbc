package netproxy

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// filter is the packet filter of a connected namespace, in the language of nft. It
// refuses what [open] does. Routes would not do: a socket that is bound to the interface
// ignores those that prohibit.
//
// Without replace, it is refused where there is one already. Loading it with replace takes
// the place of an older one in one step, and takes three times as long: the kernel waits
// until nobody uses what it deletes.
func filter(own []netip.Addr, replace bool) string {
	var refused [2][]string // IPv4, IPv6
	add := func(prefix netip.Prefix) {
		family := 0
		if prefix.Addr().Is6() {
			family = 1
		}
		if text := prefix.String(); !slices.Contains(refused[family], text) {
			refused[family] = append(refused[family], text)
		}
	}
	for _, text := range closed {
		add(netip.MustParsePrefix(text))
	}
	for _, addr := range own {
		for _, form := range forms(addr.WithZone("").Unmap()) {
			if !inClosed(form) { // nft refuses intervals that overlap
				add(netip.PrefixFrom(form, form.BitLen()))
			}
		}
	}
	first := "create table inet seer\n"
	if replace {
		first = "table inet seer\ndelete table inet seer\n"
	}
	return first + fmt.Sprintf(`table inet seer {
	chain out {
		type filter hook output priority 0; policy accept;
		oifname "lo" accept
		ip daddr %s meta l4proto { tcp, udp } th dport 53 accept
		icmpv6 type { nd-router-solicit, nd-neighbor-solicit, nd-neighbor-advert, mld2-listener-report } accept
		ip daddr { %s } reject with icmpx admin-prohibited
		ip6 daddr { %s } reject with icmpx admin-prohibited
	}
}
`, Nameserver, strings.Join(refused[0], ", "), strings.Join(refused[1], ", "))
}

// forms are an address and, of an IPv4 one, that by which NAT64 reaches it.
func forms(addr netip.Addr) []netip.Addr {
	if !addr.Is4() {
		return []netip.Addr{addr}
	}
	in, four := netip.MustParsePrefix(nat64).Addr().As16(), addr.As4()
	copy(in[12:], four[:])
	return []netip.Addr{addr, netip.AddrFrom16(in)}
}
