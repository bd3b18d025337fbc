package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	remote "k8s.io/apimachinery/pkg/util/remotecommand"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/transport/websocket"
	"k8s.io/client-go/util/exec"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/seer-engine/seer/sdk"
)

// Streams are those of a command in a pod.
type Streams struct {
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
}

// Exec runs a command in a container until it ends, and returns its exit code. An error says that
// it did not run to its end. The end of Stdin is that of the command's standard input. log gets a
// line where the cluster wants the older protocol.
func (c *Cluster) Exec(ctx context.Context, e sdk.KubeExec, s Streams, log func(string)) (int, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	rt, holder, err := websocket.RoundTripperFor(c.config)
	if err != nil {
		return 0, c.explain(err)
	}
	address := c.execURL(e)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return 0, c.errorf(sdk.Invalid, "%v", err)
	}
	conn, err := websocket.Negotiate(rt, holder, r, remote.StreamProtocolV5Name)
	if older(err) {
		log(fmt.Sprintf("the API of the context %s does not know exec over WebSocket (%s); SPDY is used", c.Context.Name, oneLine(err)))
		return c.execSPDY(ctx, address, e, s)
	}
	if err != nil {
		return 0, c.explainExec(e, err)
	}
	status, err := newSocket(conn, s).run(ctx)
	if err != nil {
		return 0, c.cut(e, err)
	}
	return c.ended(e, status, s.Stderr)
}

// execURL is the address of the subresource of the pod.
func (c *Cluster) execURL(e sdk.KubeExec) *url.URL {
	u := c.base.JoinPath("api", "v1", "namespaces", e.Namespace, "pods", e.Pod, "exec")
	u.RawQuery = url.Values{
		"container": {e.Container}, "command": e.Argv, "stdin": {"true"}, "stdout": {"true"}, "stderr": {"true"},
	}.Encode()
	return u
}

// older reports whether the API, or a proxy before it, does not know exec over WebSocket. An API
// that knows it answers with a status; versions before 1.30 refuse the protocol without one.
func older(err error) bool {
	var upgrade *httpstream.UpgradeFailureError
	if !errors.As(err, &upgrade) {
		return false
	}
	status := statusOf(err)
	switch {
	case status == nil:
		return !is401(err)
	case status.Code == http.StatusBadRequest:
		return strings.Contains(status.Message, "Upgrade request required")
	}
	return false
}

// statusOf is the answer of the API in an error, where there is one.
func statusOf(err error) *metav1.Status {
	var upgrade *httpstream.UpgradeFailureError
	if errors.As(err, &upgrade) {
		err = upgrade.Cause
	}
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return nil
	}
	status := answer.Status()
	return &status
}

// execSPDY is for older APIs.
func (c *Cluster) execSPDY(ctx context.Context, address *url.URL, e sdk.KubeExec, s Streams) (int, error) {
	executor, err := remotecommand.NewSPDYExecutor(c.config, http.MethodPost, address)
	if err != nil {
		return 0, c.explain(err)
	}
	err = executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: s.Stdin, Stdout: s.Stdout, Stderr: s.Stderr})
	var code exec.CodeExitError
	switch {
	case err == nil:
		return 0, nil
	case errors.As(err, &code):
		return code.Code, nil
	}
	return 0, c.explainExec(e, err)
}

// explainExec makes an error of why a command did not begin.
func (c *Cluster) explainExec(e sdk.KubeExec, err error) error {
	status := statusOf(err)
	if status == nil {
		if is401(err) {
			return c.refused()
		}
		return c.explain(err)
	}
	return c.explainStatus(e, status)
}

func (c *Cluster) explainStatus(e sdk.KubeExec, status *metav1.Status) error {
	what, said := "run a command in the pod "+e.Namespace+"/"+e.Pod+": ", OneLine(status.Message)
	switch {
	case status.Code == http.StatusUnauthorized:
		return c.refused()
	case status.Code == http.StatusForbidden:
		return sdk.Errorf(sdk.Unauthorized, "%s%s; the verbs get and create for pods/exec are needed", what, said)
	case status.Code == http.StatusNotFound && status.Details != nil && status.Details.Kind == "pods", strings.Contains(said, "completed pod"):
		return sdk.Errorf(sdk.NotFound, "%s%s", what, said)
	case status.Code == http.StatusBadRequest && strings.Contains(said, "is not valid for pod"):
		return sdk.Errorf(sdk.Invalid, "%s%s", what, said)
	}
	return sdk.Errorf(sdk.Unavailable, "%s%s; try again", what, said)
}

// cut is for a command that ran, or may have run.
func (c *Cluster) cut(e sdk.KubeExec, err error) error {
	return c.errorf(sdk.Unavailable, "the connection to the pod %s/%s was cut while the command ran (%s); it may have run to its end", e.Namespace, e.Pod, oneLine(err))
}

// ended is how a command has ended, as the cluster says it. As in a shell, a program that cannot
// be started gives 127 or 126.
func (c *Cluster) ended(e sdk.KubeExec, answer []byte, stderr io.Writer) (int, error) {
	var status metav1.Status
	if err := json.Unmarshal(bytes.TrimSpace(answer), &status); err != nil {
		return 0, c.cut(e, fmt.Errorf("%.100q is not a status", answer))
	}
	if status.Status == metav1.StatusSuccess {
		return 0, nil
	}
	if status.Reason == remote.NonZeroExitCodeReason && status.Details != nil {
		for _, cause := range status.Details.Causes {
			if code, err := strconv.Atoi(cause.Message); cause.Type == remote.ExitCodeCauseType && err == nil {
				return code, nil
			}
		}
	}
	for code, signs := range map[int][]string{127: {"executable file not found", "no such file or directory"}, 126: {"permission denied"}} {
		for _, sign := range signs {
			if strings.Contains(status.Message, "exec") && strings.Contains(status.Message, sign) {
				_, err := fmt.Fprintln(stderr, OneLine(status.Message))
				return code, err
			}
		}
	}
	return 0, c.explainStatus(e, &status)
}
