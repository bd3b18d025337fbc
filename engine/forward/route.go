package forward

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/seer-engine/seer/engine/kube"
	"github.com/seer-engine/seer/engine/ssh"
	"github.com/seer-engine/seer/sdk"
)

// Wanted is a port of a sandbox that a [Forwarder] carries.
type Wanted struct {
	Port   int       `json:"port"`
	Route  Route     `json:"route"`
	Target string    `json:"target"`       // behind the route, as for Dial of its client
	End    time.Time `json:"end,omitzero"` // from when on it is not carried any more; zero = never
}

// leastLife is how long a port is carried after somebody has asked for it: clocks may differ.
const leastLife = 2 * time.Minute

func (w Wanted) ended(now time.Time) bool { return !w.End.IsZero() && !now.Before(w.End) }

// Route is a way to a target, of one kind.
type Route struct {
	*SSH            // by a host; beside kube in JSON, as in files of earlier versions
	Kube *KubeRoute `json:"kube,omitempty"` // in a pod
}

// SSH is a way by a host that is reached by SSH.
type SSH = ssh.Route

// KubeRoute is a way into a pod of Kubernetes.
type KubeRoute = kube.Route

func (r Route) key() string {
	switch {
	case r.SSH != nil:
		return "ssh " + r.SSH.Key()
	case r.Kube != nil:
		return "kube " + r.Kube.Key()
	}
	return ""
}

// ways connect to what routes lead to.
type ways struct {
	ssh  *ssh.Client
	kube *kube.Client
	busy sync.WaitGroup // connections that have not ended
}

func newWays(r routes) *ways {
	r.SSH.Interactive = false
	return &ways{ssh: ssh.New(r.SSH), kube: kube.New(r.Kube)}
}

func (w *ways) dial(ctx context.Context, to Wanted) (net.Conn, error) {
	switch r := to.Route; {
	case r.SSH != nil:
		return w.ssh.Dial(ctx, *r.SSH, to.Target)
	case r.Kube != nil:
		return w.kube.Dial(ctx, *r.Kube, to.Target)
	}
	return nil, sdk.Errorf(sdk.Unsupported, "this program does not know the way to port %d; use a newer version of it", to.Port)
}

func (w *ways) close() {
	_ = w.ssh.Close()
	_ = w.kube.Close()
}
