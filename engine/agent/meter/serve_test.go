package meter_test

import (
	"context"
	"net"
	"net/http"
	"testing"

	"github.com/seer-engine/seer/internal/testkit"
)

// listener listens for a proxy; the client connects to it, whatever the host of a request.
func listener(t *testing.T, network string) (net.Listener, *http.Client) {
	t.Helper()
	var l net.Listener
	if network == "unix" {
		l = testkit.UnixSocket(t)
	} else {
		l = testkit.Loopback(t)
	}
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, l.Addr().Network(), l.Addr().String())
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return l, &http.Client{Transport: transport}
}
