package egress

import (
	"net/http"
	"slices"
	"strings"

	"github.com/seer-engine/seer/internal/lazyregexp"
	"github.com/seer-engine/seer/sdk"
)

// kubeNeed is the permission that something in a cluster needs. The namespace is "" with
// [sdk.KubeCluster].
type kubeNeed struct{ namespace, use string }

// everyNamespace as the namespace of a need stands for a list over all of them, for which a
// permission must name the pattern * itself.
const everyNamespace = "*"

func (n kubeNeed) String() string {
	switch n.namespace {
	case "":
		return n.use
	case everyNamespace:
		return n.use + " in all namespaces"
	}
	return n.use + " in the namespace " + n.namespace
}

const maxKubePath = 1024

var (
	// A path in one spelling: nothing of it is encoded, and no segment is empty or of dots, so
	// that the cluster, and a proxy before it, cannot read it differently than kubePathNeed does.
	kubePath = lazyregexp.New(`^(/[a-z0-9]([a-z0-9.:_-]{0,251}[a-z0-9])?)+$`)

	kubeMethods = []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

	// Reads outside of all resources.
	kubeProbes = []string{"version", "readyz", "livez", "healthz"}

	// Streams into a pod, and by the cluster into its networks.
	kubeTunnels = []string{"exec", "attach", "portforward", "proxy"}

	kubeSubresources = []string{"log", "status", "scale", "eviction"}

	// What belongs to no namespace, and holds no credential. All else is read in all namespaces:
	// a path does not say whether a resource has them.
	kubeClusterResources = []string{
		"/namespaces", "/nodes", "/persistentvolumes", "storage.k8s.io/storageclasses", "node.k8s.io/runtimeclasses",
		"scheduling.k8s.io/priorityclasses", "networking.k8s.io/ingressclasses", "resource.k8s.io/deviceclasses",
		"resource.k8s.io/resourceslices", "apiextensions.k8s.io/customresourcedefinitions",
		"kueue.x-k8s.io/clusterqueues", "kueue.x-k8s.io/resourceflavors", "kueue.x-k8s.io/workloadpriorityclasses",
		"metrics.k8s.io/nodes",
	}

	// Questions about the user's own rights.
	kubeQuestions = []string{"authorization.k8s.io/selfsubjectaccessreviews", "authorization.k8s.io/selfsubjectrulesreviews"}
)

// kubeObject is what a path of resources names.
type kubeObject struct{ group, namespace, resource, name, sub string }

// kubePathNeed finds what a request needs. The error says why no plugin may make it.
func kubePathNeed(method, path string) (kubeNeed, error) {
	cluster := kubeNeed{use: sdk.KubeCluster}
	if !slices.Contains(kubeMethods, method) {
		return cluster, sdk.Errorf(sdk.Invalid, "%.20q is none of %s", method, strings.Join(kubeMethods, ", "))
	}
	if len(path) > maxKubePath || !kubePath().MatchString(path) {
		return cluster, sdk.Errorf(sdk.Invalid, "%.200q is not a plain path of a cluster: /segments of small letters, digits and inner . : _ -, nothing encoded", path)
	}
	segments := strings.Split(path[1:], "/")
	rest, group, known := kubeGroup(segments)
	switch {
	case !known:
		return cluster, sdk.Errorf(sdk.Unauthorized, "%s is not a path that plugins may use: they are below /api and /apis", path)
	case len(rest) == 0 && method != http.MethodGet:
		return cluster, sdk.Errorf(sdk.Unauthorized, "plugins may only GET %s", path)
	case len(rest) == 0:
		return cluster, nil
	}
	o, err := parseKubeObject(group, rest)
	if err != nil {
		return cluster, err
	}
	if err := o.refused(method); err != nil {
		return cluster, err
	}
	switch {
	case o.namespace == "":
		return o.outside(method)
	case method == http.MethodGet:
		return kubeNeed{o.namespace, sdk.KubeRead}, nil
	default:
		return kubeNeed{o.namespace, sdk.KubeWrite}, nil
	}
}

// kubeGroup cuts what comes before the resources off. known is false for what is not of the API.
func kubeGroup(segments []string) (rest []string, group string, known bool) {
	n := len(segments)
	switch {
	case segments[0] == "api":
		return segments[min(n, 2):], "", true
	case segments[0] == "apis" && n < 2:
		return nil, "", true
	case segments[0] == "apis":
		return segments[min(n, 3):], segments[1], true
	default:
		return nil, "", n == 1 && slices.Contains(kubeProbes, segments[0])
	}
}

// parseKubeObject reads a path as the API server does: what follows namespaces/NAME is in that
// namespace, but for the subresources of the namespace itself.
func parseKubeObject(group string, rest []string) (kubeObject, error) {
	o := kubeObject{group: group}
	if rest[0] == "namespaces" && len(rest) > 2 && rest[2] != "status" && rest[2] != "finalize" {
		o.namespace, rest = rest[1], rest[2:]
		if !dnsLabel().MatchString(o.namespace) {
			return o, sdk.Errorf(sdk.Invalid, "%.100q is not a name of a namespace", o.namespace)
		}
	}
	for i, field := range []*string{&o.resource, &o.name, &o.sub} {
		if i < len(rest) {
			*field = rest[i]
		}
	}
	if len(rest) > 3 && !slices.Contains(kubeTunnels, o.sub) {
		return o, sdk.Errorf(sdk.Invalid, "a path of a cluster ends with a resource, its name and a subresource, and %q follows", rest[3])
	}
	return o, nil
}

// refused is why no plugin may do something with an object, whatever its manifest asks for.
func (o kubeObject) refused(method string) error {
	switch {
	case o.resource == "secrets":
		return sdk.Errorf(sdk.Unauthorized, "plugins may not see or change the Secrets of a cluster, which hold credentials")
	case o.sub == "token":
		return sdk.Errorf(sdk.Unauthorized, "plugins may not ask a cluster for tokens, which are credentials")
	case slices.Contains(kubeTunnels, o.sub), o.resource == "proxy", o.resource == "watch":
		return sdk.Errorf(sdk.Unauthorized, "plugins may not open streams into a cluster by requests; run a command by exec, or answer a route")
	case o.sub != "" && !slices.Contains(kubeSubresources, o.sub):
		return sdk.Errorf(sdk.Unauthorized, "plugins may use of the subresources only %s, and not %s", strings.Join(kubeSubresources, ", "), o.sub)
	case method == http.MethodGet:
		return nil
	case o.group == "rbac.authorization.k8s.io":
		return sdk.Errorf(sdk.Unauthorized, "plugins may not change rights in a cluster")
	case method == http.MethodDelete && o.name == "":
		return sdk.Errorf(sdk.Unauthorized, "plugins may delete in a cluster only what they name, and not all of %s", o.resource)
	default:
		return nil
	}
}

// outside is what something outside of single namespaces needs, or why no plugin may do it.
func (o kubeObject) outside(method string) (kubeNeed, error) {
	name, cluster := o.group+"/"+o.resource, kubeNeed{use: sdk.KubeCluster}
	switch {
	case method == http.MethodPost && o.name == "" && slices.Contains(kubeQuestions, name):
		return cluster, nil
	case method != http.MethodGet:
		return cluster, sdk.Errorf(sdk.Unauthorized, "plugins may change nothing in a cluster that belongs to no namespace; name one in the path")
	case slices.Contains(kubeClusterResources, name):
		return cluster, nil
	case o.name != "":
		return cluster, sdk.Errorf(sdk.Unauthorized, "plugins may not read %s outside of namespaces; name one in the path", o.resource)
	default:
		return kubeNeed{everyNamespace, sdk.KubeRead}, nil
	}
}
