// Package httpretry is how bundles come over the network: with patience that ends,
// limits on size and time, and redirects that lead to nothing less safe.
package httpretry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/seer-engine/seer/sdk"
)

// Progress is told how much has come of how much; total is -1 where nobody knows.
type Progress func(done, total int64)

// Options are the bounds of a transfer. The zero value is usable.
type Options struct {
	Transport http.RoundTripper // nil = like http.DefaultTransport
	Stall     time.Duration     // longest silence; 0 = 1 min
	Total     time.Duration     // all in all; 0 = 10 min
	Wait      time.Duration     // longest pause that a server may ask for by Retry-After; 0 = 30 s
	Progress  Progress
}

// Defaults fills in what was left out.
func (o Options) Defaults() Options {
	if o.Transport == nil {
		o.Transport = http.DefaultTransport
	}
	for _, d := range []struct {
		at   *time.Duration
		unit time.Duration
	}{{&o.Stall, time.Minute}, {&o.Total, 10 * time.Minute}, {&o.Wait, 30 * time.Second}} {
		if *d.at == 0 {
			*d.at = d.unit
		}
	}
	return o
}

// Client makes a client that asks again where a server says so, hands an answer's
// beginning on within the stall time, and follows a redirect only to https, or, from
// this computer's own http, to this computer.
func (o Options) Client() *http.Client {
	return &http.Client{Transport: patient{o}, CheckRedirect: func(req *http.Request, via []*http.Request) error {
		if len(via) >= 5 {
			return errors.New("redirected too often")
		}
		if req.URL.Scheme == "https" || via[0].URL.Scheme == "http" && Plain(req.URL) {
			return nil
		}
		return fmt.Errorf("refused: redirected to %s://%s, which is not https", req.URL.Scheme, req.URL.Host)
	}}
}

// Plain reports whether an address is http:// to this computer, the only one that may be.
func Plain(u *url.URL) bool { return u.Scheme == "http" && Loopback(u.Hostname()) }

// Loopback reports whether a host name is this computer's own.
func Loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}

var errStalled = errors.New("nothing came for too long")

// Read reads all of a body of at most limit bytes and closes it. want is the size that
// is promised, or -1; another size is an error.
func (o Options) Read(ctx context.Context, body io.ReadCloser, want, limit int64) ([]byte, error) {
	defer body.Close()
	if want > limit {
		return nil, sdk.Errorf(sdk.Invalid, "larger than %s: %s", size(limit), size(want))
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := time.AfterFunc(o.Stall, func() { cancel(errStalled) })
	defer watch.Stop()
	defer context.AfterFunc(ctx, func() { body.Close() })() // ends a read that hangs
	seen := &meter{r: body, each: func(done int64) {
		watch.Reset(o.Stall)
		if o.Progress != nil {
			o.Progress(done, want)
		}
	}}
	data, err := io.ReadAll(io.LimitReader(seen, limit+1))
	switch {
	case ctx.Err() != nil:
		return nil, Failure(ctx, context.Cause(ctx))
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled): // the request's own context was first
		return nil, Failure(ctx, err)
	case int64(len(data)) > limit:
		return nil, sdk.Errorf(sdk.Invalid, "larger than %s", size(limit))
	case err != nil && (want < 0 || int64(len(data)) >= want):
		return nil, sdk.Errorf(sdk.Unavailable, "broke off after %d bytes: %v; try again", len(data), err)
	case want >= 0 && int64(len(data)) < want:
		return nil, sdk.Errorf(sdk.Unavailable, "broke off after %d of %d bytes; try again", len(data), want)
	case want >= 0 && int64(len(data)) > want:
		return nil, sdk.Errorf(sdk.Invalid, "longer than the %d bytes that were promised", want)
	}
	return data, nil
}

type meter struct {
	r    io.Reader
	done int64
	each func(int64)
}

func (m *meter) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	if n > 0 {
		m.done += int64(n)
		m.each(m.done)
	}
	return n, err
}

// Failure says in the contract's words why a request brought no answer. A cancellation
// stays what it is. Addresses are left out: their queries may be credentials.
func Failure(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) && errors.Is(context.Cause(ctx), context.Canceled) {
		return context.Canceled
	}
	if ctx.Err() == nil && errors.Is(err, context.Canceled) { // the request heard of it first
		return context.Canceled
	}
	var wrapped *url.Error
	for errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	var timeout net.Error
	switch {
	case errors.Is(err, errStalled), errors.Is(context.Cause(ctx), errStalled):
		return sdk.Errorf(sdk.Unavailable, "%v; try again", errStalled)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(context.Cause(ctx), context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return sdk.Errorf(sdk.Unavailable, "took too long; try again")
	}
	var coded *sdk.Error
	if errors.As(err, &coded) {
		return err
	}
	return sdk.Errorf(sdk.Unavailable, "%v", err)
}

func size(n int64) string {
	if n >= 10<<20 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d KiB", (n+1023)>>10)
}
