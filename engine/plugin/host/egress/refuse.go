package egress

import (
	"context"
	"errors"
	"fmt"

	"github.com/seer-engine/seer/sdk"
)

// refused makes the error of a request that got no whole answer, and tells the audit.
func (x *exchange) refused(err error) *sdk.Error {
	e := x.s.g.failure(x.String(), err)
	x.record(Audit{Error: e.Message, Refused: !x.made || isRefusal(err)})
	return e
}

func (x *exchange) audit(status int) { x.record(Audit{Status: status}) }

func (x *exchange) record(a Audit) {
	a.Method, a.Path, a.Permission, a.Time = x.method, x.url.EscapedPath(), x.to.line, x.began
	a.Received = x.received.Load()
	if x.url.Host != "" {
		a.Destination = x.url.Scheme + "://" + x.url.Host
	}
	if x.sent != nil {
		a.Sent = x.sent.sent.Load()
	}
	x.s.g.audit(a)
}

// isRefusal reports whether the host kept a request that may be made from an address.
func isRefusal(err error) bool { return errors.Is(err, errPrivateAddress) }

// failure turns what the host ran into into the error that a guest sees.
func (g *Gateway) failure(what string, err error) *sdk.Error {
	var e *sdk.Error
	switch {
	case errors.As(err, &e):
		return &sdk.Error{Code: e.Code, Message: g.Scrub(e.Message), Seconds: e.Seconds}
	case errors.Is(err, context.DeadlineExceeded):
		return sdk.Errorf(sdk.Unavailable, "%s took too long", what)
	case errors.Is(err, context.Canceled):
		return sdk.Errorf(sdk.Unavailable, "%s was given up", what)
	default:
		return sdk.Errorf(sdk.Unavailable, "%s failed: %s%s", what, g.Scrub(fmt.Sprint(err)), g.o.proxyHint())
	}
}

// proxyHint reminds of a proxy that is not used.
func (o Options) proxyHint() string {
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "ALL_PROXY"} {
		if v, _ := o.env(name); v != "" {
			return " (" + name + " is set, but plugins connect directly)"
		}
	}
	return ""
}
