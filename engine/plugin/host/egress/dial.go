package egress

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"time"

	"github.com/seer-engine/seer/sdk"
)

// dialer connects to a name by an address of it that was checked.
type dialer struct {
	resolve    func(ctx context.Context, host string) ([]netip.Addr, error)
	connect    func(ctx context.Context, addr string) (net.Conn, error)
	timeout    time.Duration
	publicOnly bool
}

func connectTCP(ctx context.Context, addr string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "tcp", addr)
}

// How long an address may keep silent before the next one is tried beside it.
const dialStagger = 300 * time.Millisecond

// dial has the signature of [net.Dialer.DialContext].
func (d *dialer) dial(ctx context.Context, _, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	addrs, err := d.lookup(ctx, host)
	if err != nil {
		return nil, err
	}
	return d.race(ctx, addrs, port)
}

// lookup resolves a name once and refuses it when any address of it is refused.
func (d *dialer) lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	addrs := []netip.Addr{}
	if a, err := netip.ParseAddr(host); err == nil {
		addrs = append(addrs, a)
	} else if addrs, err = d.ask(ctx, host); err != nil {
		return nil, err
	}
	if len(addrs) == 0 {
		return nil, errors.New(host + " has no address")
	}
	for _, a := range addrs {
		if d.publicOnly && !public(a) {
			return nil, refuseAddress("%s is at %s, an address of a private network or of this computer; a plugin reaches one only at a destination that you have configured yourself", host, a.Unmap())
		}
	}
	return addrs, nil
}

// errPrivateAddress is a refusal that comes only when a name has been resolved.
var errPrivateAddress = errors.New("private address")

// refuseAddress is an error of the contract that is errPrivateAddress, too.
func refuseAddress(format string, args ...any) error {
	return addressError{sdk.Errorf(sdk.Unauthorized, format, args...)}
}

type addressError struct{ error }

func (e addressError) Unwrap() []error { return []error{e.error, errPrivateAddress} }

func (d *dialer) ask(ctx context.Context, host string) ([]netip.Addr, error) {
	if d.resolve != nil {
		return d.resolve(ctx, host)
	}
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}

// race connects to the first address that answers, trying one after the other with
// a small delay. It ends all attempts but one.
func (d *dialer) race(ctx context.Context, addrs []netip.Addr, port string) (net.Conn, error) {
	type result struct {
		conn net.Conn
		err  error
	}
	ctx, cancel := context.WithCancel(ctx)
	results := make(chan result)
	attempt := func(a netip.Addr) {
		conn, err := d.connect(ctx, net.JoinHostPort(a.Unmap().String(), port))
		select {
		case results <- result{conn, err}:
		case <-ctx.Done():
			if conn != nil {
				conn.Close()
			}
		}
	}
	defer cancel()
	tick := time.NewTimer(0)
	defer tick.Stop()
	var first error
	for started, failed := 0, 0; failed < len(addrs); {
		select {
		case <-ctx.Done():
			return nil, errors.Join(first, ctx.Err())
		case <-tick.C:
			if started < len(addrs) {
				go attempt(addrs[started])
				started++
				tick.Reset(dialStagger)
			}
		case r := <-results:
			if r.err == nil {
				return r.conn, nil
			}
			if failed++; first == nil {
				first = r.err
			}
			tick.Reset(0)
		}
	}
	return nil, first
}
