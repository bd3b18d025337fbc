package guestkube

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/guest/internal/call"
	"github.com/seer-engine/seer/sdk/guest/internal/stream"
	"github.com/seer-engine/seer/sdk/guest/internal/stream/streamtest"
)

func client(t *testing.T, host func(*streamtest.Exchange)) Client {
	t.Helper()
	h := streamtest.New(t)
	h.Kube = host
	return Client{pump: stream.New(h, &call.Calls{})}
}

// echo answers with what it is sent: a request, or the standard input of a command.
func echo(x *streamtest.Exchange) {
	if r := x.Kube.Request; r != nil {
		x.Head(201, map[string][]string{"Seen": {x.Kube.Context, r.Method, r.Path, r.Query["a"][0]}})
	}
	if x.Kube.Body && !x.Echo() {
		return
	}
	end := sdk.Event{}
	if e := x.Kube.Exec; e != nil {
		end = sdk.Event{Code: 3, Message: strings.Join(append([]string{e.Namespace, e.Pod, e.Container}, e.Argv...), " ")}
	}
	x.End(end, nil)
}

func bodies() [][]byte {
	return [][]byte{nil, []byte("{}"), bytes.Repeat([]byte("0123456789abcdef"), 1<<18)}
}

func TestDo(t *testing.T) {
	t.Parallel()
	c := client(t, echo)
	for _, body := range bodies() {
		r, err := c.Do(t.Context(), "lab", sdk.KubeRequest{Method: "POST", Path: "/version", Query: map[string][]string{"a": {"b"}}}, body)
		if err != nil || r.Status != 201 || !bytes.Equal(r.Body, body) || strings.Join(r.Headers["Seen"], " ") != "lab POST /version b" {
			t.Errorf("%d bytes: %d came back, %d %q %v", len(body), len(r.Body), r.Status, r.Headers, err)
		}
	}
}

func TestExec(t *testing.T) {
	t.Parallel()
	c := client(t, echo)
	for _, stdin := range bodies() {
		r, err := c.Exec(t.Context(), "lab", sdk.KubeExec{Namespace: "agents", Pod: "seer-1", Container: "seer", Argv: []string{"cat", "-"}}, stdin)
		if err != nil || !bytes.Equal(r.Stdout, stdin) || r.Code != 3 || r.Stderr != "agents seer-1 seer cat -" {
			t.Errorf("%d bytes: %d came back, %d %q %v", len(stdin), len(r.Stdout), r.Code, r.Stderr, err)
		}
	}
}

func TestNoAnswer(t *testing.T) {
	t.Parallel()
	version := sdk.KubeRequest{Method: "GET", Path: "/version"}
	refused := client(t, func(x *streamtest.Exchange) {
		x.End(sdk.Event{Error: sdk.Errorf(sdk.Invalid, "there is no context lob")}, nil)
	})
	if _, err := refused.Do(t.Context(), "lob", version, nil); sdk.CodeOf(err) != sdk.Invalid {
		t.Errorf("a context that there is not: %v", err)
	}
	if _, err := client(t, nil).Do(t.Context(), "lab", version, nil); sdk.CodeOf(err) != sdk.Unauthorized {
		t.Errorf("without a permission: %v", err)
	}
	headless := client(t, func(x *streamtest.Exchange) { x.End(sdk.Event{}, nil) })
	if _, err := headless.Do(t.Context(), "lab", version, nil); sdk.CodeOf(err) != sdk.Internal {
		t.Errorf("an answer without a head: %v", err)
	}
	if _, err := (Client{}).Contexts(); sdk.CodeOf(err) != sdk.Unsupported {
		t.Errorf("contexts outside Wasm: %v", err)
	}
	if _, err := (Client{}).Named("lab"); sdk.CodeOf(err) != sdk.Unsupported {
		t.Errorf("a context outside Wasm: %v", err)
	}
}

func TestGivenUp(t *testing.T) {
	t.Parallel()
	silent := client(t, func(x *streamtest.Exchange) { <-x.Gone() })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	exec := sdk.KubeExec{Namespace: "agents", Pod: "p", Container: "c", Argv: []string{"sleep", "60"}}
	if _, err := silent.Exec(ctx, "lab", exec, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
	late, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := silent.Exec(late, "lab", exec, nil); sdk.CodeOf(err) != sdk.Unavailable || !strings.Contains(err.Error(), "the context lab did not answer in time") {
		t.Errorf("too late: %v", err)
	}
}
