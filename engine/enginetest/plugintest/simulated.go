package plugintest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/sdk"
)

// The paths of a simulator for commands, and the header by which a request to a cluster names its
// context, escaped.
const (
	simulatedCommand = "/seer/command"
	contextHeader    = "Seer-Kube-Context"
)

// Command is what a simulator is asked to run: the body of a POST to /seer/command.
type Command struct {
	Host    string        `json:"host,omitempty"`    // by SSH
	Argv    []string      `json:"argv,omitempty"`    //
	Context string        `json:"context,omitempty"` // in a pod
	Exec    *sdk.KubeExec `json:"exec,omitempty"`
	Stdin   []byte        `json:"stdin,omitempty"` // base64
}

// CommandResult is what a simulator answers to a [Command].
type CommandResult struct {
	Stdout []byte     `json:"stdout,omitempty"` // base64
	Stderr []byte     `json:"stderr,omitempty"` // base64
	Code   int        `json:"code,omitempty"`
	Error  *sdk.Error `json:"error,omitempty"` // the command did not run to its end
}

// simulated are the hosts and clusters of a simulator. What is asked of them passes the world, in
// which requests and answers are lost.
type simulated struct {
	*pretended // remembers
	world      http.RoundTripper
}

// Run implements [host.SSH].
func (s simulated) Run(ctx context.Context, name string, argv []string, stdin io.Reader) (host.SSHResult, error) {
	return s.command(ctx, Command{Host: name, Argv: argv}, stdin)
}

// simulatedClusters are the clusters of a simulator, as a [host.Kube].
type simulatedClusters struct{ simulated }

// Exec implements [host.Kube].
func (s simulatedClusters) Exec(ctx context.Context, contextName string, e sdk.KubeExec, stdin io.Reader) (host.KubeResult, error) {
	return s.command(ctx, Command{Context: contextName, Exec: &e}, stdin)
}

// Do implements [host.Kube].
func (s simulatedClusters) Do(ctx context.Context, contextName string, r sdk.KubeRequest, body io.Reader) (*http.Response, error) {
	header := http.Header{contextHeader: {url.PathEscape(contextName)}}
	if body != nil {
		header.Set("Content-Type", r.ContentType)
	}
	address := url.URL{Scheme: "https", Host: "cluster.invalid", Path: r.Path, RawQuery: url.Values(r.Query).Encode()}
	return s.send(ctx, r.Method, address, header, body)
}

// Context implements [host.Kube]. A simulator has every context.
func (simulatedClusters) Context(_ context.Context, name string) (sdk.KubeContext, error) {
	if name == "" {
		name = "simulator"
	}
	return sdk.KubeContext{Name: name, Namespace: "default"}, nil
}

func (s simulated) command(ctx context.Context, c Command, stdin io.Reader) (host.SSHResult, error) {
	var err error
	if c.Stdin, err = readInput(ctx, stdin); err != nil {
		return host.SSHResult{}, err
	}
	body, err := json.Marshal(c)
	if err != nil {
		return host.SSHResult{}, err
	}
	resp, err := s.send(ctx, http.MethodPost, url.URL{Scheme: "https", Host: "command.invalid", Path: simulatedCommand},
		http.Header{"Content-Type": {"application/json"}}, bytes.NewReader(body))
	if err != nil {
		return host.SSHResult{}, err
	}
	defer resp.Body.Close()
	var r CommandResult
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxCommandResult))
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	switch {
	case ctx.Err() != nil:
		return host.SSHResult{}, ctx.Err()
	case resp.StatusCode != http.StatusOK:
		return host.SSHResult{}, refusal(resp)
	case err != nil:
		return host.SSHResult{}, sdk.Errorf(sdk.Unavailable, "the host cannot be reached: %v", err)
	case r.Error != nil:
		return host.SSHResult{}, r.Error
	}
	return host.SSHResult{Stdout: r.Stdout, Stderr: r.Stderr, Code: r.Code}, nil
}

// refusal is the error of a host that a fault of the kit stands for.
func refusal(resp *http.Response) error {
	code, known := map[int]sdk.Code{
		http.StatusUnauthorized: sdk.Unauthorized, http.StatusForbidden: sdk.Unauthorized, http.StatusNotFound: sdk.NotFound,
		http.StatusBadRequest: sdk.Invalid, http.StatusTooManyRequests: sdk.RateLimited,
	}[resp.StatusCode]
	if !known {
		code = sdk.Unavailable
	}
	e := sdk.Errorf(code, "the host does not run the command: %s", resp.Status)
	after := resp.Header.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(after, 64); err == nil {
		e.Seconds = seconds
	} else if when, err := http.ParseTime(after); err == nil {
		e.Seconds = max(time.Until(when).Seconds(), 0)
	}
	return e
}

const maxCommandResult = 64 << 20 // bytes

func (s simulated) send(ctx context.Context, method string, address url.URL, header http.Header, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, address.String(), body)
	if err != nil {
		return nil, sdk.Errorf(sdk.Invalid, "%v", err)
	}
	req.Header = header
	resp, err := s.world.RoundTrip(req)
	if err != nil && ctx.Err() == nil {
		err = sdk.Errorf(sdk.Unavailable, "%s cannot be reached: %v", address.Host, err)
	}
	return resp, err
}
