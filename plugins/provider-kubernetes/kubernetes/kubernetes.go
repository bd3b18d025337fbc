// Package kubernetes runs machines as pods of Kubernetes clusters, with the objects of the API
// and nothing else. A handle is NAMESPACE/POD@CONTEXT.
package kubernetes

import (
	"context"
	"regexp"
	"strings"
	"time"

	"github.com/seer-engine/seer/plugins/internal/bare"
	"github.com/seer-engine/seer/sdk"
)

const (
	// Name is the value of `provider:` in an experiment.
	Name = "kubernetes"
	// Version is that of the plugin.
	Version = "0.1.0"
)

const (
	callTime = 25 * time.Second // for one call of the contract; the host's limit is 30
	pollTime = 1                // seconds; one list shows all machines of a namespace
)

// Provider implements [sdk.Provider], [sdk.Router], [sdk.Checker] and [sdk.Cleaner]. It is safe
// for concurrent use, and has no memory.
type Provider struct {
	API API
}

// API reaches clusters of the user's kubeconfig. An empty name of a context is the current one.
// Errors are *[sdk.Error], and say that no answer came.
type API interface {
	Do(ctx context.Context, contextName string, r sdk.KubeRequest, body []byte) (Answer, error)
	Exec(ctx context.Context, contextName string, e sdk.KubeExec) (Ended, error)
	Contexts(name string) (sdk.KubeContexts, error)
}

// Answer is what a cluster has answered to a request.
type Answer struct {
	Status  int
	Headers map[string][]string
	Body    []byte
}

// Ended is what a command in a pod has said, and how it has ended.
type Ended struct {
	Stdout []byte
	Stderr string
	Code   int
}

var _ bare.Provider = (*Provider)(nil)

// Describe implements [sdk.Provider].
func (p *Provider) Describe(context.Context) (sdk.ProviderInfo, error) {
	return sdk.ProviderInfo{
		Name:  Name,
		Title: "a Kubernetes cluster of yours",
		Features: []sdk.Feature{
			sdk.FeatureTags, sdk.FeatureVolumes, sdk.FeatureSelfEnd, sdk.FeatureFree, sdk.FeatureRoutes, sdk.FeatureQueue, sdk.FeatureNoNetwork, sdk.FeatureCheck, sdk.FeatureClean,
		},
		PollSeconds: pollTime,
	}, nil
}

// handle names a machine.
type handle struct{ context, namespace, pod string }

// dnsName is the form of names of namespaces and pods.
var dnsName = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$`)

func (h handle) String() string { return h.namespace + "/" + h.pod + "@" + h.context }

// parseHandle takes a handle apart; ok is false for one that is not of this provider. The name of
// a context may hold every character.
func parseHandle(text string) (h handle, ok bool) {
	h.namespace, text, ok = strings.Cut(text, "/")
	if !ok {
		return h, false
	}
	h.pod, h.context, ok = strings.Cut(text, "@")
	return h, ok && h.context != "" && dnsName.MatchString(h.namespace) && dnsName.MatchString(h.pod) && strings.HasPrefix(h.pod, podPrefix)
}

// podPrefix begins the names of all pods of Seer. Keys begin with it as well.
const podPrefix = "seer-"

func podName(key string) string { return podPrefix + strings.TrimPrefix(key, podPrefix) }
