// Package cluster reaches Kubernetes clusters as the user's kubeconfig says, with client-go. Only
// the program seer-kube links it.
package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/klog/v2"

	"github.com/seer-engine/seer/engine/kube/kubewire"
	"github.com/seer-engine/seer/internal/spelling"
	"github.com/seer-engine/seer/sdk"
)

// Quiet has client-go log nothing: what it logs are errors that it returns as well.
func Quiet() { klog.SetLogger(logr.Discard()) }

// A Cluster is what a context of the kubeconfig leads to.
type Cluster struct {
	Context sdk.KubeContext

	config *rest.Config
	base   *url.URL
	print  string        // the same for clusters that are reached in the same way
	said   func() string // what an exec plugin has said last
}

// Config finds clusters. It reads the kubeconfig anew each time.
type Config struct {
	// PluginSaid returns the last line that exec plugins have written to standard error; nil =
	// it is not known.
	PluginSaid func() string
}

// Open finds the cluster of a context; the empty name is the current one.
func (c Config) Open(name string) (*Cluster, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.WarnIfAllMissing = false
	files, err := rules.Load()
	if err != nil {
		return nil, sdk.Errorf(sdk.Invalid, "read the kubeconfig: %s; correct the file", oneLine(err))
	}
	if api.IsConfigEmpty(files) {
		return c.inCluster(name, rules)
	}
	if name == "" {
		if name = files.CurrentContext; name == "" {
			return nil, sdk.Errorf(sdk.Invalid, "use the current context of Kubernetes: the kubeconfig names none; name one of %s", names(files))
		}
	}
	context := files.Contexts[name]
	if context == nil {
		return nil, unknown(name, files)
	}
	loader := clientcmd.NewNonInteractiveClientConfig(*files, name, &clientcmd.ConfigOverrides{}, rules)
	config, err := loader.ClientConfig()
	var file *fs.PathError
	if errors.As(err, &file) {
		return nil, sdk.Errorf(sdk.Unauthorized, "use the Kubernetes context %s: a file of its credential cannot be read: %s; make it, or correct the kubeconfig", name, oneLine(err))
	}
	if err != nil {
		return nil, sdk.Errorf(sdk.Invalid, "use the Kubernetes context %s: %s; correct the kubeconfig", name, oneLine(err))
	}
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, sdk.Errorf(sdk.Invalid, "use the Kubernetes context %s: %s; correct the kubeconfig", name, oneLine(err))
	}
	return c.cluster(sdk.KubeContext{Name: name, Namespace: namespace}, config)
}

// inCluster is the cluster of the pod in which this program runs.
func (c Config) inCluster(name string, rules *clientcmd.ClientConfigLoadingRules) (*Cluster, error) {
	config, err := rest.InClusterConfig()
	if err != nil || (name != "" && name != kubewire.InCluster) {
		place := strings.Join(rules.GetLoadingPrecedence(), ", ")
		what := "reach Kubernetes"
		if name != "" {
			what = "use the Kubernetes context " + name
		}
		return nil, sdk.Errorf(sdk.Invalid, "%s: there is no kubeconfig (%s); make one, or say with KUBECONFIG where it is", what, place)
	}
	namespace, err := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
	if err != nil {
		return nil, sdk.Errorf(sdk.Unavailable, "reach the cluster of this pod: %s", oneLine(err))
	}
	return c.cluster(sdk.KubeContext{Name: kubewire.InCluster, Namespace: strings.TrimSpace(string(namespace))}, config)
}

func (c Config) cluster(context sdk.KubeContext, config *rest.Config) (*Cluster, error) {
	config.UserAgent = "seer"
	config.WarningHandler = rest.NoWarnings{}
	if plugin := config.ExecProvider; plugin != nil {
		plugin.StdinUnavailable = true // it would take what is for others
	}
	said := c.PluginSaid
	if said == nil {
		said = func() string { return "" }
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, sdk.Errorf(sdk.Invalid, "use the Kubernetes context %s: %s; correct the kubeconfig", context.Name, oneLine(err))
	}
	return &Cluster{Context: context, config: config, base: base, print: fingerprint(config), said: said}, nil
}

// fingerprint tells configurations apart, also where only a file has changed.
func fingerprint(config *rest.Config) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %q %q %q %q", config.Host, config.BearerToken, config.BearerTokenFile, config.Username, config.Password)
	fmt.Fprintf(&b, "%q %v %q", config.TLSClientConfig.ServerName, config.Insecure, config.Impersonate.UserName)
	fmt.Fprintf(&b, "%q %q %q", config.CAData, config.CertData, config.KeyData)
	if config.Proxy != nil {
		proxy, err := config.Proxy(&http.Request{URL: &url.URL{Scheme: "https", Host: config.Host}})
		fmt.Fprintf(&b, "%v %v", proxy, err)
	}
	if p := config.ExecProvider; p != nil {
		fmt.Fprintf(&b, "%q %q %v %q", p.Command, p.Args, p.Env, p.APIVersion)
	}
	for _, file := range []string{config.CAFile, config.CertFile, config.KeyFile} {
		if info, err := os.Stat(file); err == nil {
			fmt.Fprintf(&b, "%s %d %d", file, info.Size(), info.ModTime().UnixNano())
		}
	}
	return b.String()
}

func unknown(name string, files *api.Config) error {
	all := slices.Sorted(func(yield func(string) bool) {
		for name := range files.Contexts {
			if !yield(name) {
				return
			}
		}
	})
	if near := spelling.Nearest(name, all); near != "" {
		return sdk.Errorf(sdk.Invalid, "use the Kubernetes context %s: the kubeconfig does not have it; %s may have been meant", name, near)
	}
	return sdk.Errorf(sdk.Invalid, "use the Kubernetes context %s: the kubeconfig does not have it; name one of %s", name, names(files))
}

// names lists the first contexts of a kubeconfig.
func names(files *api.Config) string {
	var all []string
	for name := range files.Contexts {
		all = append(all, name)
	}
	if len(all) == 0 {
		return "those that you add to it"
	}
	slices.Sort(all)
	if len(all) > 10 {
		all = append(all[:10], "…")
	}
	return strings.Join(all, ", ")
}

// server is the address of the API, for people.
func (c *Cluster) server() string {
	if _, _, err := net.SplitHostPort(c.base.Host); err != nil && c.base.Scheme == "https" {
		return c.base.Host + ":443"
	}
	return c.base.Host
}
