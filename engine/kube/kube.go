// Package kube uses Kubernetes clusters by the program seer-kube, which reads the user's
// kubeconfig: it passes requests of plugins on, runs commands in pods, brings seer-runtime there,
// and connects to what listens there.
package kube

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/seer-engine/seer/engine/bring"
	"github.com/seer-engine/seer/engine/pipe"
	"github.com/seer-engine/seer/sdk"
)

// Options say what a [Client] works with.
type Options struct {
	// Dir is a private folder with a short path (at most 90 bytes) for sockets; it is made
	// where it is missing.
	Dir string `json:"dir"`

	// Artifacts is the folder with seer-kube-OS-ARCH of this computer and with the programs that
	// are brought to pods, seer-runtime-OS-ARCH.
	Artifacts string `json:"artifacts"`

	// Env is the environment of seer-kube; default this program's.
	Env []string `json:"-"`

	// StartTimeout is how long a command may take to begin; default 30 seconds. An exec plugin
	// that gets a credential runs within it.
	StartTimeout time.Duration `json:"start_timeout,omitempty"`
}

// Client uses clusters. It is safe for concurrent use.
type Client struct {
	o        Options
	programs bring.Programs
	pipes    pipe.Pool

	mu    sync.Mutex
	pods  map[string]*bring.Place // by container
	proxy *proxy
}

// New makes a client. It touches and starts nothing until it is used.
func New(o Options) *Client {
	if o.StartTimeout <= 0 {
		o.StartTimeout = 30 * time.Second
	}
	return &Client{o: o, programs: bring.Programs{Dir: o.Artifacts}, pods: map[string]*bring.Place{}}
}

// Close ends the connections that [Client.Dial] has made, and the process that passes requests on.
// The client may be used again.
func (c *Client) Close() error {
	c.pipes.Close()
	c.mu.Lock()
	p := c.proxy
	c.proxy = nil
	c.mu.Unlock()
	if p != nil {
		p.end()
	}
	return nil
}

// program is seer-kube.
func (c *Client) program() (string, error) {
	path := filepath.Join(c.o.Artifacts, "seer-kube-"+runtime.GOOS+"-"+runtime.GOARCH)
	if _, err := os.Stat(path); err != nil {
		return "", sdk.Errorf(sdk.Unsupported, "reach Kubernetes clusters: the program that does is missing: %v; build it with make runtime, or say where it is with SEER_ARTIFACTS_DIR", err)
	}
	return path, nil
}

// group has a process lead a group of its own: what a terminal sends to the programs in its
// foreground is for this one, which may still need clusters.
func group(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// environ is the environment of seer-kube with another kubeconfig; empty = this program's.
func (c *Client) environ(kubeconfig string) []string {
	env := c.o.Env
	if env == nil {
		env = os.Environ()
	}
	if kubeconfig != "" {
		env = append(env[:len(env):len(env)], "KUBECONFIG="+kubeconfig) // the last one counts
	}
	return env
}
