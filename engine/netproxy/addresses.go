package netproxy

import (
	"net"
	"net/netip"
	"slices"
)

// closed are the addresses that an open network does not reach, beside this computer's
// own: loopback, what is valid on one link only, the metadata services of clouds, and
// IPv6 forms of IPv4 addresses. Private networks stay reachable.
var closed = [...]string{
	"0.0.0.0/8", "127.0.0.0/8", "224.0.0.0/4", "240.0.0.0/4",
	"169.254.0.0/16",                                                                           // link-local; metadata of AWS, Google, Azure, Oracle and others
	"168.63.129.16/32",                                                                         // Azure's host
	"100.100.100.200/32",                                                                       // metadata of Alibaba
	"192.0.0.192/32",                                                                           // metadata of Oracle
	"fd00:ec2::254/128", "fd20:ce::254/128", "fd00:c1::a9fe:a9fe/128", "fd00:a9fe:a9fe::1/128", // of AWS, Google, Oracle, Akamai
	"::/96", "::ffff:0:0/96", "::ffff:0:0:0/96", // compatible, mapped, translated
	"64:ff9b::7f00:0/104", "64:ff9b::a9fe:0/112", "64:ff9b::a83f:8110/128", "64:ff9b::6464:64c8/128", // NAT64 of what is above
	"64:ff9b:1::/48", "2002::/16", "2001::/32",
	"fe80::/10", "fec0::/10", "ff00::/8",
}

// nat64 is the prefix behind which a translator of the network reaches IPv4 addresses.
const nat64 = "64:ff9b::/96"

// open reports whether an open network reaches the address from a computer with the
// given addresses.
func open(addr netip.Addr, own []netip.Addr) bool {
	addr = addr.WithZone("").Unmap()
	if netip.MustParsePrefix(nat64).Contains(addr) {
		in := addr.As16()
		addr = netip.AddrFrom4([4]byte(in[12:]))
	}
	return !inClosed(addr) && !slices.Contains(own, addr)
}

func inClosed(addr netip.Addr) bool {
	for _, text := range closed {
		if netip.MustParsePrefix(text).Contains(addr) {
			return true
		}
	}
	return false
}

// ownAddresses are those of this computer's interfaces.
func ownAddresses() ([]netip.Addr, error) {
	found, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	own := make([]netip.Addr, 0, len(found))
	for _, f := range found {
		if prefix, err := netip.ParsePrefix(f.String()); err == nil {
			own = append(own, prefix.Addr().Unmap())
		}
	}
	return own, nil
}
