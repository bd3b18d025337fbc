package kube

import (
	"bytes"
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/seer-engine/seer/engine/bring"
	"github.com/seer-engine/seer/engine/pipe"
	"github.com/seer-engine/seer/sdk"
)

//go:embed find.sh
var findScript string

// programDir is where Seer's program is in a pod; the provider mounts an emptyDir there.
const programDir = "/var/lib/seer"

// Route is a way to a target in a pod.
type Route struct {
	Context   string `json:"context"`
	Namespace string `json:"namespace"`
	Pod       string `json:"pod"`
	Container string `json:"container"`

	// Kubeconfig is the value of KUBECONFIG, with absolute paths; empty = that of the program
	// that connects.
	Kubeconfig string `json:"kubeconfig,omitempty"`
}

// Kubeconfig makes the paths in a value of KUBECONFIG absolute. Without a value it is the usual
// file, where the user has a home folder.
func Kubeconfig(value string) string {
	if home, err := os.UserHomeDir(); err == nil && value == "" {
		return filepath.Join(home, ".kube", "config")
	}
	files := filepath.SplitList(value)
	for i, file := range files {
		if full, err := filepath.Abs(file); err == nil && file != "" {
			files[i] = full
		}
	}
	return strings.Join(files, string(filepath.ListSeparator))
}

func (r Route) pod() pod { return pod{r.Context, r.Kubeconfig, r.Namespace, r.Pod, r.Container} }

// Key is the same for routes that are the same.
func (r Route) Key() string { return r.pod().key() }

// Dial connects to a port of a pod's loopback, tcp:PORT. The connections to a port share one
// process and one command in the pod; when that is dead, another one is started. An error wraps an
// [sdk.Error], [sdk.NotFound] where the pod is gone; it is a *[pipe.Refused] where nothing listens.
func (c *Client) Dial(ctx context.Context, route Route, target string) (net.Conn, error) {
	conn, err := c.pipes.Dial(ctx, route.Key()+"\x00"+target, way{c, route.pod(), target}, target)
	var (
		cut     *pipe.Cut
		refused *pipe.Refused
	)
	switch {
	case errors.As(err, &cut):
		return nil, sdk.Errorf(sdk.Unavailable, "connect to the pod %s: %v; try again when it can be reached", route.pod(), err)
	case errors.As(err, &refused):
		return nil, refused.On("the pod " + route.pod().String())
	}
	return conn, err
}

// way begins sessions: commands in a pod that serve connections to one target.
type way struct {
	c      *Client
	in     pod
	target string
}

// Lost has nothing to end: no other session uses what is below this one.
func (way) Lost() {}

func (w way) Begin(ctx context.Context) (*pipe.Session, error) {
	path, err := w.c.runtime(ctx, w.in)
	if err != nil {
		return nil, err
	}
	mark := rand.Text()
	script := "echo " + mark + `; exec "$@"`
	cmd, end, err := w.c.process(context.WithoutCancel(ctx), w.in, mark, []string{"/bin/sh", "-c", script, "sh", path, "pipe", w.target})
	if err != nil {
		return nil, err
	}
	said := &kept{limit: maxSaid}
	cmd.Stderr = said
	process, err := pipe.StartProcess(cmd)
	if err != nil {
		end()
		return nil, sdk.Errorf(sdk.Unsupported, "reach Kubernetes clusters: %v", err)
	}
	if err := process.AwaitMark(ctx, mark, w.c.o.StartTimeout); err != nil {
		_ = process.Close()
		end()
		return nil, w.unbegun(ctx, err, said.bytes(), mark)
	}
	session, err := pipe.Begin(process)
	if err != nil {
		_ = process.Close()
		end()
		return nil, sdk.Errorf(sdk.Unavailable, "connect to the pod %s: %v", w.in, err)
	}
	go func() {
		<-session.Done()
		_ = process.Close()
		end()
		if bytes.Contains(said.bytes(), []byte(path)) {
			w.c.place(w.in).Forget() // it may be gone
		}
	}()
	return session, nil
}

// unbegun is why a command did not begin.
func (w way) unbegun(ctx context.Context, err error, said []byte, mark string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if own := failure(said, mark); own != nil {
		return own
	}
	if errors.Is(err, pipe.ErrSilent) {
		return sdk.Errorf(sdk.Unavailable, "connect to the pod %s: it did not answer within %v; see whether the cluster can be reached", w.in, w.c.o.StartTimeout)
	}
	return sdk.Errorf(sdk.Unavailable, "connect to the pod %s: the command there has ended%s; try again", w.in, because(said))
}

// runtime brings Seer's program to a pod, and returns its path there.
func (c *Client) runtime(ctx context.Context, in pod) (string, error) {
	run := func(ctx context.Context, script string, stdin io.Reader, args ...string) (string, error) {
		result, err := c.exec(ctx, in, append([]string{"/bin/sh", "-c", script, "sh"}, args...), stdin)
		if err != nil {
			return "", err
		}
		lines := strings.Split(strings.TrimSpace(string(result.Stdout)), "\n")
		if line := lines[len(lines)-1]; line != "" {
			return line, nil
		}
		return "", &bring.Failed{Why: fmt.Sprintf("a script ended with exit code %d%s", result.Code, because(result.Stderr))}
	}
	path, err := c.place(in).Path(ctx, &c.programs, run, findScript, programDir)
	if failed, ok := bring.AsFailed(err); ok {
		return "", sdk.Errorf(sdk.Unsupported, "use the pod %s: %v", in, failed)
	}
	return path, err
}

func (c *Client) place(in pod) *bring.Place {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.pods[in.key()]
	if p == nil {
		p = &bring.Place{}
		c.pods[in.key()] = p
	}
	return p
}
