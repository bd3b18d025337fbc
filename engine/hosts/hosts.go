// Package hosts uses hosts that the user reaches by SSH, and clusters of Kubernetes, for providers
// of machines: it runs the commands of plugins there, passes their requests on to clusters, and
// carries ports of machines to this computer.
package hosts

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/seer-engine/seer/engine/forward"
	"github.com/seer-engine/seer/engine/kube"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/engine/ssh"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/sdk"
)

// Hosts implements [host.SSH] and [machine.Routes], and egress.Kube by [Hosts.Kube]. It is safe for concurrent use, also beside
// other programs with the same store. Nothing is made or started before it is used.
type Hosts struct {
	client   *ssh.Client
	clusters *kube.Client
	store    *state.Store
	o        ssh.Options
	kube     kube.Options
}

var (
	_ host.SSH       = (*Hosts)(nil)
	_ machine.Routes = (*Hosts)(nil)
)

// Open makes it with the folders of a store. artifacts is the folder with seer-runtime-OS-ARCH;
// interactive lets OpenSSH ask on this program's terminal.
func Open(in *state.Store, artifacts string, interactive bool) *Hosts {
	o := ssh.Options{Dir: filepath.Join(in.RuntimeDir(), "ssh"), Artifacts: artifacts, Interactive: interactive}
	k := kube.Options{Dir: filepath.Join(in.RuntimeDir(), "kube"), Artifacts: artifacts}
	return &Hosts{client: ssh.New(o), clusters: kube.New(k), store: in, o: o, kube: k}
}

// Close ends the process that passes requests on to clusters. What is carried stays, and so do
// the connections of OpenSSH.
func (h *Hosts) Close() error { return errors.Join(h.client.Close(), h.clusters.Close()) }

// Kube reaches clusters.
func (h *Hosts) Kube() Kube { return Kube{h.clusters} }

// Kube implements the interface of the same name of package host. Errors wrap an [sdk.Error].
type Kube struct{ client *kube.Client }

// Do sends a request, and returns whatever the cluster answers.
func (k Kube) Do(ctx context.Context, contextName string, r sdk.KubeRequest, body io.Reader) (*http.Response, error) {
	return k.client.Do(ctx, contextName, r, body)
}

// Exec runs a command in a pod.
func (k Kube) Exec(ctx context.Context, contextName string, e sdk.KubeExec, stdin io.Reader) (host.SSHResult, error) {
	r, err := k.client.Exec(ctx, contextName, e, stdin)
	return host.SSHResult(r), err
}

// Context resolves the name of a context.
func (k Kube) Context(ctx context.Context, contextName string) (sdk.KubeContext, error) {
	return k.client.Context(ctx, contextName)
}

// Run implements [host.SSH].
func (h *Hosts) Run(ctx context.Context, name string, argv []string, stdin io.Reader) (host.SSHResult, error) {
	r, err := h.client.Run(ctx, name, ssh.Command{Argv: argv, Stdin: stdin})
	return host.SSHResult{Stdout: r.Stdout, Stderr: r.Stderr, Code: r.Code}, err
}

// Ensure implements [machine.Routes].
func (h *Hosts) Ensure(ctx context.Context, sandbox string, end time.Time, routes []machine.RoutedPort) (map[int]string, error) {
	var wanted []forward.Wanted
	for _, r := range routes {
		w := forward.Wanted{Port: r.Port, End: end}
		switch {
		case r.Route.SSH != nil:
			w.Route.SSH, w.Target = &forward.SSH{Host: r.Route.SSH.Host, Command: r.Route.SSH.Command}, r.Route.SSH.Target
		case r.Route.Kube != nil:
			w.Route.Kube, w.Target = kubeRoute(*r.Route.Kube), r.Route.Kube.Target
		default:
			return nil, sdk.Errorf(sdk.Unsupported, "this program does not know the way to port %d; use a newer version of it", r.Port)
		}
		wanted = append(wanted, w)
	}
	return h.forwarder().Ensure(ctx, sandbox, wanted)
}

// kubeRoute is a route with the kubeconfig of this program: the process that carries ports may have
// another one.
func kubeRoute(r sdk.KubeRoute) *forward.KubeRoute {
	return &forward.KubeRoute{Context: r.Context, Namespace: r.Namespace, Pod: r.Pod, Container: r.Container, Kubeconfig: kube.Kubeconfig(os.Getenv("KUBECONFIG"))}
}

// Remove implements [machine.Routes].
func (h *Hosts) Remove(ctx context.Context, sandbox string) error {
	return h.forwarder().Remove(ctx, sandbox)
}

// forwarder has a folder that is made when something is carried for the first time.
func (h *Hosts) forwarder() *forward.Forwarder {
	dir := filepath.Join(h.store.StateDir(), "forward")
	return &forward.Forwarder{Dir: dir, Artifacts: h.o.Artifacts, SSH: h.o, Kube: h.kube}
}
