// Package guestkube uses Kubernetes clusters of the user's kubeconfig: it sends requests to their
// API and runs commands in pods. The host of the plugin connects with the user's credentials,
// which the plugin does not see, and its manifest names contexts and namespaces under
// permissions.kube.
package guestkube

import (
	"context"

	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/guest/internal/stream"
)

// Client uses clusters. The zero value is ready, and safe for concurrent use. A plugin keeps it
// behind an interface of its own, so that its tests need no host.
type Client struct {
	pump *stream.Pump // nil = that of the instance
}

// Response is what a cluster has answered to a request.
type Response struct {
	Status  int
	Headers map[string][]string
	Body    []byte
}

// Result is what a command in a pod has said, and how it has ended.
type Result struct {
	Stdout []byte
	Stderr string // the end of it, at most 4 KiB
	Code   int    // exit code
}

// Do sends a request to the API of a context of the kubeconfig, empty = the current one, and
// returns whatever the cluster answers: a status of 400 and above is no error. The errors are
// *sdk.Error, and say that no answer came; see [sdk.KubeOpen].
func (c Client) Do(ctx context.Context, contextName string, r sdk.KubeRequest, body []byte) (Response, error) {
	s, err := c.open(ctx, sdk.KubeOpen{Context: contextName, Request: &r, Body: len(body) > 0})
	if err != nil {
		return Response{}, err
	}
	out, _, err := s.Whole(cluster(contextName), body)
	head := s.Head()
	if err != nil {
		return Response{}, err
	}
	if head == nil {
		return Response{}, sdk.Errorf(sdk.Internal, "the host ended an answer that had not begun")
	}
	return Response{Status: head.Status, Headers: head.Headers, Body: out}, nil
}

// Exec runs a command in a pod and waits for its end, which the end of ctx brings about.
// [sdk.SSHProgram] as the first of e.Argv is Seer's own program in that pod. An exit code is no
// error: the errors are *sdk.Error, and say that the command did not run to its end.
func (c Client) Exec(ctx context.Context, contextName string, e sdk.KubeExec, stdin []byte) (Result, error) {
	s, err := c.open(ctx, sdk.KubeOpen{Context: contextName, Exec: &e, Body: len(stdin) > 0})
	if err != nil {
		return Result{}, err
	}
	out, end, err := s.Whole(cluster(contextName), stdin)
	if err != nil {
		return Result{}, err
	}
	return Result{Stdout: out, Stderr: end.Event.Message, Code: int(end.Event.Code)}, nil
}

// Contexts are the current context of the kubeconfig, and those with the namespaces in which
// this plugin has made something in the last 30 days, on behalf of the same user. Machines that
// an experiment no longer names are found there.
func (Client) Contexts() (sdk.KubeContexts, error) {
	return stream.Ask[sdk.KubeContexts](askContexts)
}

// Named is Contexts with one that is looked up by its name. A kubeconfig without it is
// [sdk.Invalid]. A host of before this function leaves Named empty.
func (Client) Named(name string) (sdk.KubeContexts, error) {
	return stream.AskFor[sdk.KubeContexts](askContexts, sdk.KubeContextsInput{Name: name})
}

func (c Client) open(ctx context.Context, in sdk.KubeOpen) (*stream.Stream, error) {
	pump := c.pump
	if pump == nil {
		pump = stream.Instance()
	}
	in.TimeoutSeconds = stream.Timeout(ctx)
	s, err := pump.OpenKube(ctx, in)
	return s, stream.Late(cluster(in.Context), err)
}

func cluster(contextName string) string {
	if contextName == "" {
		return "the cluster of the current context"
	}
	return "the cluster of the context " + contextName
}
