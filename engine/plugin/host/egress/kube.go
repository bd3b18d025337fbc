package egress

import (
	"context"
	"io"
	"net/http"

	"github.com/seer-engine/seer/sdk"
)

// Kube reaches Kubernetes clusters by the user's kubeconfig. An empty name of a context is the
// current one. It is safe for concurrent use. Errors are *[sdk.Error] with one of the codes of
// [sdk.KubeOpen].
type Kube interface {
	// Do sends a request, and returns whatever the cluster answers. The caller closes the body.
	Do(ctx context.Context, contextName string, r sdk.KubeRequest, body io.Reader) (*http.Response, error)

	// Exec runs a command in a pod until it or ctx ends. An error says that the command did
	// not run to its end; a pod that is not there is [sdk.NotFound].
	Exec(ctx context.Context, contextName string, e sdk.KubeExec, stdin io.Reader) (KubeResult, error)

	// Context resolves a name, and says what its default namespace is.
	Context(ctx context.Context, contextName string) (sdk.KubeContext, error)
}

// KubeContexts remembers in which namespaces of which contexts plugins may have made something. It is
// safe for concurrent use.
type KubeContexts interface {
	Used(plugin string, c sdk.KubeContext) error
	Unused(plugin string, c sdk.KubeContext) error // forgets it; nothing was made there
	Of(plugin string) ([]sdk.KubeContext, error)   // sorted, each once
}

// KubeResult is what a command in a pod has said, and how it has ended.
type KubeResult = SSHResult
