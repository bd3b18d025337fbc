package kube

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/seer-engine/seer/engine/kube/kubewire"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/sdk"
)

// Do sends a request to the API of a cluster, and returns whatever that answers. The caller closes
// the body.
func (c *Client) Do(ctx context.Context, contextName string, r sdk.KubeRequest, body io.Reader) (*http.Response, error) {
	address := url.URL{Scheme: "http", Host: "seer-kube", Path: r.Path, RawQuery: url.Values(r.Query).Encode()}
	for again := false; ; again = true {
		resp, p, err := c.send(ctx, r.Method, &address, contextName, r.ContentType, body)
		switch {
		case err == nil:
			return answered(resp)
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case p == nil:
			return nil, err
		}
		c.drop(p)
		if again || body != nil { // only the caller knows whether a body may be sent twice
			return nil, sdk.Errorf(sdk.Unavailable, "reach Kubernetes: the program that does ended before it answered%s; try again", p.because())
		}
	}
}

// Context resolves the name of a context; the empty one is the current context.
func (c *Client) Context(ctx context.Context, contextName string) (sdk.KubeContext, error) {
	resp, err := c.Do(ctx, contextName, sdk.KubeRequest{Method: http.MethodGet, Path: kubewire.ContextPath}, nil)
	if err != nil {
		return sdk.KubeContext{}, err
	}
	defer resp.Body.Close()
	var found sdk.KubeContext
	if err := json.NewDecoder(io.LimitReader(resp.Body, 64<<10)).Decode(&found); err != nil {
		return sdk.KubeContext{}, sdk.Errorf(sdk.Internal, "resolve the Kubernetes context %s: %v", contextName, err)
	}
	return found, nil
}

// send sends a request by the process, which it starts where there is none.
func (c *Client) send(ctx context.Context, method string, address *url.URL, contextName, contentType string, body io.Reader) (*http.Response, *proxy, error) {
	p, err := c.running(ctx)
	if err != nil {
		return nil, nil, err
	}
	req, err := http.NewRequestWithContext(ctx, method, address.String(), body)
	if err != nil {
		return nil, nil, sdk.Errorf(sdk.Invalid, "%v", err)
	}
	req.Header.Set(kubewire.ContextHeader, url.PathEscape(contextName))
	if body != nil {
		if contentType == "" {
			contentType = "application/json"
		}
		req.Header.Set("Content-Type", contentType)
	}
	resp, err := p.client.Do(req)
	return resp, p, err
}

// answered tells answers of the cluster from those of the process.
func answered(resp *http.Response) (*http.Response, error) {
	if resp.Header.Get(kubewire.ErrorHeader) == "" {
		return resp, nil
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil {
		return nil, sdk.Errorf(sdk.Unavailable, "reach Kubernetes: %v; try again", err)
	}
	return nil, kubewire.ParseFailure(data)
}

// proxy is a process of `seer-kube proxy`.
type proxy struct {
	client *http.Client
	stdin  io.Closer
	said   *kept
	done   chan struct{}
}

func (p *proxy) end() {
	_ = p.stdin.Close()
	<-p.done
	p.client.CloseIdleConnections()
}

func (p *proxy) because() string {
	select {
	case <-p.done:
		return because(p.said.bytes())
	default:
		return ""
	}
}

// running is the process that passes requests on.
func (c *Client) running(ctx context.Context) (*proxy, error) {
	c.turn.Lock()
	defer c.turn.Unlock()
	if p := c.proxy; p != nil {
		select {
		case <-p.done:
		default:
			return p, nil
		}
	}
	p, err := c.start(ctx)
	if err != nil {
		return nil, err
	}
	c.proxy = p
	return p, nil
}

// drop ends a process that has not answered.
func (c *Client) drop(p *proxy) {
	c.turn.Lock()
	if c.proxy == p {
		c.proxy = nil
	}
	c.turn.Unlock()
	p.end()
}

// start starts a process, and waits until it listens.
func (c *Client) start(ctx context.Context) (*proxy, error) {
	program, err := c.program()
	if err != nil {
		return nil, err
	}
	if err := state.Private(c.o.Dir); err != nil {
		return nil, sdk.Errorf(sdk.Unsupported, "reach Kubernetes clusters: %v", err)
	}
	sweep(c.o.Dir)
	socket := filepath.Join(c.o.Dir, strings.ToLower(rand.Text())[:10])
	cmd := exec.CommandContext(context.WithoutCancel(ctx), program, "proxy", socket)
	group(cmd)
	p := &proxy{said: &kept{limit: maxSaid}, done: make(chan struct{})}
	cmd.Env, cmd.Stderr, cmd.WaitDelay = c.environ(""), p.said, time.Second
	p.client = &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		},
		MaxIdleConnsPerHost: 16, IdleConnTimeout: time.Minute,
	}}
	if p.stdin, err = cmd.StdinPipe(); err != nil {
		return nil, sdk.Errorf(sdk.Unavailable, "reach Kubernetes clusters: %v", err)
	}
	ready, in, err := os.Pipe()
	if err != nil {
		return nil, sdk.Errorf(sdk.Unavailable, "reach Kubernetes clusters: %v", err)
	}
	defer ready.Close()
	cmd.Stdout = in
	err = cmd.Start()
	_ = in.Close()
	if err != nil {
		return nil, sdk.Errorf(sdk.Unsupported, "reach Kubernetes clusters: %v", err)
	}
	go func() { defer close(p.done); _ = cmd.Wait() }()
	_ = ready.SetReadDeadline(time.Now().Add(c.o.StartTimeout))
	if n, _ := ready.Read(make([]byte, 1)); n == 0 {
		p.end()
		return nil, sdk.Errorf(sdk.Unsupported, "reach Kubernetes clusters: %s does not begin%s; run it by hand", program, p.because())
	}
	return p, nil
}

// sweep removes the sockets of processes that were killed.
func sweep(dir string) {
	entries, _ := os.ReadDir(dir) // what cannot be read cannot be removed
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		conn, err := net.Dial("unix", path)
		if err == nil {
			_ = conn.Close()
		} else if errors.Is(err, syscall.ECONNREFUSED) {
			_ = os.Remove(path)
		}
	}
}

// because is the last line of what a process has said, as a part of an error.
func because(said []byte) string {
	lines := bytes.Split(bytes.TrimSpace(said), []byte("\n"))
	if line := lines[len(lines)-1]; len(line) > 0 {
		return fmt.Sprintf(" (%.300q)", line)
	}
	return ""
}
