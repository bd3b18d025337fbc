package cluster_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"

	"github.com/seer-engine/seer/engine/kube/cluster"
	"github.com/seer-engine/seer/internal/kubetest"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

// said is what a command has said, and what is for the log.
type said struct {
	stdout, stderr testkit.Buffer
	log            string
}

func run(t *testing.T, name, stdin string, argv ...string) (*said, int, error) {
	t.Helper()
	return runFrom(t, name, strings.NewReader(stdin), argv...)
}

func runFrom(t *testing.T, name string, stdin io.Reader, argv ...string) (*said, int, error) {
	t.Helper()
	c, err := cluster.Config{}.Open(name)
	if err != nil {
		return nil, 0, err
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	s := &said{}
	e := sdk.KubeExec{Namespace: "lab", Pod: "seer-one", Container: "seer", Argv: argv}
	code, err := c.Exec(ctx, e, cluster.Streams{Stdin: stdin, Stdout: &s.stdout, Stderr: &s.stderr}, func(line string) { s.log += line })
	return s, code, err
}

func newPod(t *testing.T) *kubetest.Server {
	t.Helper()
	s := kubetest.New(t)
	use(t, s, s.Kubeconfig("config", "lab", map[string]any{"lab": map[string]any{"token": kubetest.Token}, "bad": map[string]any{"token": "bad"}}))
	return s
}

func TestExec(t *testing.T) {
	newPod(t)
	s, code, err := run(t, "", "what is sent", "sh", "-c", "cat; echo err >&2; exit 9")
	if err != nil || code != 9 || s.stdout.String() != "what is sent" || s.stderr.String() != "err\n" || s.log != "" {
		t.Errorf("%q, %q, %d, %v, log %q", s.stdout.String(), s.stderr.String(), code, err, s.log)
	}
	if s, code, err = run(t, "", "", "no-such-program"); err != nil || code != 127 || !strings.Contains(s.stderr.String(), "no-such-program") {
		t.Errorf("%q, %d, %v", s.stderr.String(), code, err)
	}
	never, in := io.Pipe() // an input that does not end
	defer in.Close()
	if _, code, err = runFrom(t, "", never, "true"); err != nil || code != 0 {
		t.Errorf("%d, %v", code, err)
	}
	_, _, err = run(t, "bad", "", "true")
	testkit.WantCode(t, err, sdk.Unauthorized, "the token in the kubeconfig (401)")
}

func TestExecIsRefused(t *testing.T) {
	s := newPod(t)
	for _, c := range []struct {
		status          int
		reason, message string
		code            sdk.Code
		text            string
	}{
		{403, "Forbidden", `pods "seer-one" is forbidden`, sdk.Unauthorized, "the verbs get and create for pods/exec are needed"},
		{404, "NotFound", `pods "seer-one" not found`, sdk.NotFound, "run a command in the pod lab/seer-one: "},
		{404, "", "the server could not find\nthe requested resource", sdk.Unavailable, "could not find the requested"},
		{409, "Conflict", "busy", sdk.Unavailable, "busy; try again"},
		{400, "BadRequest", "pod seer-one does not have a host assigned", sdk.Unavailable, "does not have a host assigned; try again"},
		{400, "BadRequest", "container x is not valid for pod seer-one", sdk.Invalid, "container x"},
		{500, "InternalError", "cannot exec into a container in a completed pod; current phase is Succeeded", sdk.NotFound, "completed pod"},
		{500, "InternalError", `unable to upgrade connection: container not found ("seer")`, sdk.Unavailable, "container not found"},
	} {
		s.Handle = func(w http.ResponseWriter, _ *http.Request) bool {
			kubetest.Refuse(w, c.status, c.reason, c.message)
			return true
		}
		said, _, err := run(t, "", "", "true")
		testkit.WantCode(t, err, c.code, c.text)
		if said.log != "" || strings.Contains(err.Error(), "\n") {
			t.Errorf("log %q, error %q", said.log, err)
		}
	}
}

// A cluster that accepts connections and says nothing.
func TestExecIsNotAnswered(t *testing.T) {
	s := newPod(t)
	end := make(chan struct{})
	defer close(end)
	s.Handle = func(http.ResponseWriter, *http.Request) bool {
		<-end
		return true
	}
	c, err := cluster.Config{Patience: 50 * time.Millisecond}.Open("")
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Exec(t.Context(), sdk.KubeExec{Namespace: "lab", Pod: "seer-one", Container: "seer", Argv: []string{"true"}}, cluster.Streams{}, func(string) {})
	testkit.WantCode(t, err, sdk.Unavailable, "does not answer in time")
}

// hostile answers the upgrade, and then as a test says.
func hostile(s *kubetest.Server, do func(ctx context.Context, conn *websocket.Conn)) {
	s.Handle = func(w http.ResponseWriter, r *http.Request) bool {
		conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"v5.channel.k8s.io"}})
		if err == nil {
			do(r.Context(), conn)
			_ = conn.CloseNow()
		}
		return true
	}
}

// A connection that ends without a status is no success, in whatever way it ends.
func TestExecIsCut(t *testing.T) {
	s := newPod(t)
	for name, do := range map[string]func(context.Context, *websocket.Conn){
		"at once": func(context.Context, *websocket.Conn) {},
		"properly": func(ctx context.Context, conn *websocket.Conn) {
			_ = conn.Write(ctx, websocket.MessageBinary, []byte("\x01half of"))
			_ = conn.Close(websocket.StatusNormalClosure, "")
		},
		"going away": func(_ context.Context, conn *websocket.Conn) { _ = conn.Close(websocket.StatusGoingAway, "drain") },
		"empty": func(ctx context.Context, conn *websocket.Conn) {
			_ = conn.Write(ctx, websocket.MessageBinary, nil)
		},
		"nonsense": func(ctx context.Context, conn *websocket.Conn) {
			_ = conn.Write(ctx, websocket.MessageBinary, []byte("\x03nonsense"))
		},
		"huge": func(ctx context.Context, conn *websocket.Conn) {
			_ = conn.Write(ctx, websocket.MessageBinary, append([]byte{3}, make([]byte, 1<<20)...))
		},
	} {
		hostile(s, do)
		_, _, err := run(t, "", "", "true")
		if sdk.CodeOf(err) != sdk.Unavailable || !strings.Contains(err.Error(), "was cut while the command ran") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What nobody knows of is left out, and a status counts also where the connection is cut after it.
func TestExecUnknownChannels(t *testing.T) {
	s := newPod(t)
	hostile(s, func(ctx context.Context, conn *websocket.Conn) {
		for _, text := range []string{"\x07what", "\xff\x00", "\x01out", `` + "\x03" + `{"status":"Failure","reason":"NonZeroExitCode",`, "\x03" + `"details":{"causes":[{"reason":"ExitCode","message":"137"}]}}`} {
			_ = conn.Write(ctx, websocket.MessageBinary, []byte(text))
		}
	})
	said, code, err := run(t, "", "", "true")
	if err != nil || code != 137 || said.stdout.String() != "out" {
		t.Errorf("%d, %v, %q", code, err, said.stdout.String())
	}
}

// An API that does not know WebSocket refuses the protocol without a status.
func TestExecOverSPDY(t *testing.T) {
	s := newPod(t)
	s.Handle = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet {
			w.WriteHeader(http.StatusForbidden)
			return true
		}
		if err := serveSPDY(w, r); err != nil {
			t.Error(err)
		}
		return true
	}
	said, code, err := run(t, "", "what is sent", "cat")
	if err != nil || code != 5 || said.stdout.String() != "what is sent" || !strings.Contains(said.log, "SPDY is used") {
		t.Errorf("%d, %v, %q, log %q", code, err, said.stdout.String(), said.log)
	}
}

// serveSPDY says what was sent, and ends with exit code 5.
func serveSPDY(w http.ResponseWriter, r *http.Request) error {
	if _, err := httpstream.Handshake(r, w, []string{"v4.channel.k8s.io"}); err != nil {
		return err
	}
	all := make(chan httpstream.Stream, 4)
	conn := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(stream httpstream.Stream, _ <-chan struct{}) error {
		all <- stream
		return nil
	})
	if conn == nil {
		return fmt.Errorf("it was not upgraded")
	}
	defer conn.Close()
	streams := map[string]httpstream.Stream{}
	for len(streams) < 4 {
		stream := <-all
		streams[stream.Headers().Get("streamType")] = stream
	}
	if _, err := io.Copy(streams["stdout"], streams["stdin"]); err != nil {
		return err
	}
	_, err := io.WriteString(streams["error"], `{"status":"Failure","reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"5"}]}}`)
	for _, stream := range streams {
		_ = stream.Close()
	}
	return err
}

// Rancher and Teleport serve the APIs of many clusters, each below a path.
func TestBelowAPath(t *testing.T) {
	s := kubetest.New(t)
	to, err := url.Parse(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	defer transport.CloseIdleConnections()
	front := httptest.NewTLSServer(http.StripPrefix("/k8s/clusters/c-1", &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }, Transport: transport,
	}))
	defer front.Close()
	use(t, s, clusterConfig(t, s, "below", map[string]any{"server": front.URL + "/k8s/clusters/c-1", "insecure-skip-tls-verify": true}))
	if got, err := ask(t, &cluster.Proxy{}, "below", "/api/v1/pods?limit=2"); err != nil || got != "200 GET /api/v1/pods?limit=2" {
		t.Errorf("%q, %v", got, err)
	}
	said, code, err := run(t, "below", "sent", "sh", "-c", "cat; exit 3")
	if err != nil || code != 3 || said.stdout.String() != "sent" || said.log != "" {
		t.Errorf("%q, %d, %v, log %q", said.stdout.String(), code, err, said.log)
	}
}
