package sdk

// KubeOpen is the input of [HostKubeOpen]: a request to the API of a Kubernetes cluster, or a
// command in a pod. The host connects as the user's kubeconfig says; the plugin sees no
// credential. One of Request and Exec is set.
//
// Events of a request are those of [HostHTTPOpen]. Those of a command are those of
// [HostSSHOpen]. EventEnd has an Error where no answer came: [Invalid] for a context that the
// kubeconfig does not have, [Unauthorized] if the credentials cannot be had, [Unavailable] if
// the cluster cannot be reached.
type KubeOpen struct {
	Context        string       `json:"context,omitempty"` // of the kubeconfig; empty = the current one
	Request        *KubeRequest `json:"request,omitempty"`
	Exec           *KubeExec    `json:"exec,omitempty"`
	Body           bool         `json:"body,omitempty"`            // the body, or standard input, follows with stream_send
	TimeoutSeconds float64      `json:"timeout_seconds,omitempty"` // of the whole; 0 = that of the call
}

// KubeRequest is a request to the API of a cluster. It cannot be one of those that open a stream
// into a pod: exec, attach, portforward and proxy.
type KubeRequest struct {
	Method      string              `json:"method"`
	Path        string              `json:"path"` // /api/v1/namespaces/…, /apis/…
	Query       map[string][]string `json:"query,omitempty"`
	ContentType string              `json:"content_type,omitempty"` // of the body; empty = application/json
}

// KubeExec is a command in a container of a pod.
type KubeExec struct {
	Namespace string   `json:"namespace"`
	Pod       string   `json:"pod"`
	Container string   `json:"container"`
	Argv      []string `json:"argv"` // [SSHProgram] as the first is seer-runtime there; the engine brings it
}

// KubeContextsInput is the input of [HostKubeContexts].
type KubeContextsInput struct {
	Name string `json:"name,omitempty"` // of a context to resolve, too; an unknown one is [Invalid]
}

// KubeContexts is the result of [HostKubeContexts].
type KubeContexts struct {
	Current KubeContext   `json:"current"`        // zero without a kubeconfig
	Named   KubeContext   `json:"named,omitzero"` // the one that was asked for; zero also from a host of before it
	Used    []KubeContext `json:"used"`           // in which the plugin has made something, sorted, each once
}

// KubeContext is a context of the user's kubeconfig and a namespace in it.
type KubeContext struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
}

// KubeRoute leads into a pod by a command there, which carries connections between its standard
// streams and a port. It needs a permission of the manifest with [KubeForward].
type KubeRoute struct {
	Context   string `json:"context"`
	Namespace string `json:"namespace"`
	Pod       string `json:"pod"`
	Container string `json:"container"`
	Target    string `json:"target"` // tcp:PORT of the pod's loopback
}

// KubePermission lets a plugin use clusters of the user's kubeconfig.
type KubePermission struct {
	// Contexts and Namespaces are patterns of path.Match for names of the kubeconfig and of
	// the cluster, or {setting}: those that a setting lists, separated by commas or white
	// space. With [KubeCluster], Namespaces is empty.
	Contexts   []string `json:"contexts" yaml:"contexts"`
	Namespaces []string `json:"namespaces,omitempty" yaml:"namespaces,omitempty"`
	Use        []string `json:"use" yaml:"use"`       // of [KubeRead] and those below it
	Reason     string   `json:"reason" yaml:"reason"` // for the user: why
}

// The values of [KubePermission].Use.
const (
	KubeRead    = "read"    // GET in a namespace
	KubeWrite   = "write"   // all other methods in a namespace
	KubeExecute = "exec"    // run commands in pods of a namespace
	KubeForward = "forward" // have the engine carry ports of pods to this computer
	KubeCluster = "cluster" // GET what belongs to no namespace, and ask what the user may do
)
