package forward

import (
	"context"
	"net"

	"github.com/seer-engine/seer/engine/ssh"
	"github.com/seer-engine/seer/sdk"
)

// Wanted is a port of a sandbox that a [Forwarder] carries.
type Wanted struct {
	Port   int    `json:"port"`
	Route  Route  `json:"route"`
	Target string `json:"target"` // behind the route, as for [ssh.Client.Dial]
}

// Route is a way to a target, of one kind.
type Route struct {
	*SSH // by a host
}

// SSH is a way by a host that is reached by SSH.
type SSH = ssh.Route

func (r Route) key() string {
	if r.SSH != nil {
		return "ssh " + r.SSH.Key()
	}
	return ""
}

// ways connect to what routes lead to.
type ways struct {
	ssh *ssh.Client
}

func newWays(r routes) *ways {
	r.SSH.Interactive = false
	return &ways{ssh: ssh.New(r.SSH)}
}

func (w *ways) dial(ctx context.Context, to Wanted) (net.Conn, error) {
	if to.Route.SSH != nil {
		return w.ssh.Dial(ctx, *to.Route.SSH, to.Target)
	}
	return nil, sdk.Errorf(sdk.Unsupported, "this program does not know the way to port %d; use a newer version of it", to.Port)
}

func (w *ways) close() { _ = w.ssh.Close() }
