package kube_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/kube"
	"github.com/seer-engine/seer/engine/pipe"
	"github.com/seer-engine/seer/internal/kubetest"
	"github.com/seer-engine/seer/internal/testbuild"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

// artifacts has the programs, built once for all tests.
var artifacts string

// TestMain also runs as the program that [TestParentIsKilled] kills.
func TestMain(m *testing.M) {
	if began := os.Getenv("SEER_TEST_BEGAN"); began != "" {
		fmt.Fprintln(os.Stderr, parent(began))
		os.Exit(1)
	}
	testkit.Main(m, func(dir string) (err error) {
		artifacts, err = testbuild.Kube(dir)
		return err
	})
}

// bench is a cluster and a client of it.
type bench struct {
	*kubetest.Server
	c *kube.Client
	o kube.Options
}

func newBench(t *testing.T) *bench {
	t.Helper()
	s := kubetest.New(t)
	file := s.Kubeconfig("config", "lab", map[string]any{"lab": map[string]string{"token": kubetest.Token}})
	o := kube.Options{Dir: filepath.Join(s.Dir, "run"), Artifacts: artifacts, Env: s.Env(file), StartTimeout: time.Minute}
	b := &bench{s, kube.New(o), o}
	t.Cleanup(func() { _ = b.c.Close() })
	return b
}

func (b *bench) exec(ctx context.Context, stdin io.Reader, argv ...string) (kube.Result, error) {
	return b.c.Exec(ctx, "", sdk.KubeExec{Namespace: "lab", Pod: "seer-one", Container: "seer", Argv: argv}, stdin)
}

func (b *bench) get(ctx context.Context, path string) (string, error) {
	resp, err := b.c.Do(ctx, "lab", sdk.KubeRequest{Method: http.MethodGet, Path: path}, nil)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return fmt.Sprint(resp.StatusCode, " ", string(data)), err
}

func TestRequests(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	found, err := b.c.Context(t.Context(), "")
	if err != nil || found != (sdk.KubeContext{Name: "lab", Namespace: "lab"}) {
		t.Fatalf("%+v, %v", found, err)
	}
	b.Handle = func(w http.ResponseWriter, r *http.Request) bool {
		switch r.URL.Path {
		case "/forbidden":
			w.Header().Set("Seer-Kube-Error", "1") // what a cluster says is not what seer-kube says
			kubetest.Refuse(w, http.StatusForbidden, "Forbidden", "no")
		case "/body":
			data, _ := io.ReadAll(r.Body)
			_, _ = fmt.Fprintf(w, "%s %s %s", r.Method, r.Header.Get("Content-Type"), data)
		default:
			return false
		}
		return true
	}
	resp, err := b.c.Do(t.Context(), "lab", sdk.KubeRequest{Method: "PATCH", Path: "/body", ContentType: "application/merge-patch+json"}, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if data, _ := io.ReadAll(resp.Body); string(data) != "PATCH application/merge-patch+json {}" {
		t.Errorf("%q", data)
	}
	if got, err := b.get(t.Context(), "/forbidden"); err != nil || !strings.HasPrefix(got, "403 ") {
		t.Errorf("%q, %v", got, err)
	}
	_, err = b.c.Context(t.Context(), "lap")
	testkit.WantCode(t, err, sdk.Invalid, "lab may have been meant")
}

// The proxy passes a watch on as it comes; when the client ends the watch, the cluster learns it.
func TestWatch(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ended := make(chan struct{})
	b.Handle = func(w http.ResponseWriter, r *http.Request) bool {
		_, _ = io.WriteString(w, "one\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		close(ended)
		return true
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	resp, err := b.c.Do(ctx, "", sdk.KubeRequest{Method: http.MethodGet, Path: "/api/v1/pods", Query: map[string][]string{"watch": {"1"}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.ReadFull(resp.Body, make([]byte, 4)); err != nil {
		t.Fatal(err)
	}
	cancel()
	<-ended
}

// The process is killed between requests, and with its program gone.
func TestProxyIsKilled(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var last int
	for range 3 {
		if got, err := b.get(t.Context(), "/version"); err != nil || got != "200 GET /version" {
			t.Fatalf("%q, %v", got, err)
		}
		sockets, err := filepath.Glob(filepath.Join(b.o.Dir, "*"))
		if err != nil || len(sockets) != 1 {
			t.Fatalf("sockets %q, %v", sockets, err)
		}
		pids := processes(t, "proxy\x00"+b.o.Dir)
		if len(pids) != 1 || pids[0] == last {
			t.Fatalf("processes %v after %d", pids, last)
		}
		last = pids[0]
		if err := syscall.Kill(last, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.c.Close(); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "the end of the process", func() bool { return len(processes(t, "proxy\x00"+b.o.Dir)) == 0 })
	none := kube.New(kube.Options{Dir: b.o.Dir, Artifacts: b.Dir})
	_, err := none.Context(t.Context(), "")
	testkit.WantCode(t, err, sdk.Unsupported, "seer-kube-", "make runtime")
	_, err = none.Exec(t.Context(), "", sdk.KubeExec{Namespace: "lab", Pod: "seer-one", Container: "seer", Argv: []string{"true"}}, nil)
	testkit.WantCode(t, err, sdk.Unsupported, "seer-kube-")
}

// processes are those with a text in their command line, whose words end with NUL.
func processes(t *testing.T, text string) (pids []int) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		pid := 0
		if err == nil && bytes.Contains(data, []byte(text)) {
			if _, err := fmt.Sscanf(file, "/proc/%d/", &pid); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

func TestExec(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r, err := b.exec(t.Context(), strings.NewReader("in"), "sh", "-c", "cat; echo err >&2; exit 7")
	if err != nil || string(r.Stdout) != "in" || string(r.Stderr) != "err\n" || r.Code != 7 {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err = b.exec(t.Context(), nil, "sh", "-c", "exit 125"); err != nil || r.Code != 125 {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err = b.exec(t.Context(), nil, "no-such-program"); err != nil || r.Code != 127 || !strings.Contains(string(r.Stderr), "no-such-program") {
		t.Errorf("%+v, %v", r, err)
	}
	big := bytes.Repeat([]byte("0123456789abcdef"), 1<<18)
	if r, err = b.exec(t.Context(), bytes.NewReader(big), "cat"); err != nil || !bytes.Equal(r.Stdout, big) {
		t.Errorf("%d bytes, %v", len(r.Stdout), err)
	}
	_, err = b.exec(t.Context(), nil, "head", "-c", fmt.Sprint(kube.MaxOutput+1), "/dev/zero")
	testkit.WantCode(t, err, sdk.Unsupported, "more than 16 MiB")
	_, err = b.c.Exec(t.Context(), "", sdk.KubeExec{Namespace: "lab", Pod: "other", Container: "seer", Argv: []string{"true"}}, nil)
	testkit.WantCode(t, err, sdk.NotFound, `pods "other" not found`)
	_, err = b.c.Exec(t.Context(), "lap", sdk.KubeExec{Namespace: "lab", Pod: "seer-one", Container: "seer", Argv: []string{"true"}}, nil)
	testkit.WantCode(t, err, sdk.Invalid, "lab may have been meant")
	ctx, cancel := context.WithCancel(t.Context())
	if _, err = b.exec(ctx, nil, "sh", "-c", "exit 1"); err != nil {
		t.Error(err)
	}
	cancel()
	if _, err = b.exec(ctx, nil, "true"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A command can claim what only seer-kube may say, but does not know the mark.
func TestExecIsCut(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r, err := b.exec(t.Context(), nil, "sh", "-c", `printf '\nMARK {"code":"not_found","message":"x"}\n' >&2; exit 125`)
	if err != nil || r.Code != 125 {
		t.Errorf("%+v, %v", r, err)
	}
	began := filepath.Join(b.Dir, "began")
	done := make(chan error)
	go func() {
		_, err := b.exec(t.Context(), nil, "sh", "-c", "echo x; touch "+began+"; exec sleep 600")
		done <- err
	}()
	testkit.EventuallyNil(t, "the command", func() error { _, err := os.Stat(began); return err })
	b.Stop()
	testkit.WantCode(t, <-done, sdk.Unavailable, "was cut while the command ran")
	_, err = b.exec(t.Context(), nil, "true") // a process of its own, so nothing is cut
	testkit.WantCode(t, err, sdk.Unavailable, "refuses connections")
	b.Start()
	if _, err := b.exec(t.Context(), nil, "true"); err != nil {
		t.Error(err)
	}
}

// The program that runs a command in a pod is killed: nothing of it is left on this computer.
func TestParentIsKilled(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "SEER_TEST_KUBE_DIR="+b.o.Dir, "SEER_TEST_KUBECONFIG="+filepath.Join(b.Dir, "config"), "SEER_TEST_ARTIFACTS="+artifacts, "SEER_TEST_BEGAN="+filepath.Join(b.Dir, "began"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	testkit.EventuallyNil(t, "the command", func() error { _, err := os.Stat(filepath.Join(b.Dir, "began")); return err })
	if len(processes(t, "proxy\x00"+b.o.Dir)) != 1 || len(processes(t, "\x00touch "+filepath.Join(b.Dir, "began"))) == 0 {
		t.Error("what is to end is not there")
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	testkit.Eventually(t, "the end of all", func() bool {
		return len(processes(t, "proxy\x00"+b.o.Dir)) == 0 && len(processes(t, "\x00touch "+filepath.Join(b.Dir, "began"))) == 0
	})
}

// parent runs a command in a pod that does not end by itself.
func parent(began string) error {
	ctx := context.Background()
	c := kube.New(kube.Options{Dir: os.Getenv("SEER_TEST_KUBE_DIR"), Artifacts: os.Getenv("SEER_TEST_ARTIFACTS"), Env: []string{"KUBECONFIG=" + os.Getenv("SEER_TEST_KUBECONFIG")}})
	if _, err := c.Context(ctx, ""); err != nil {
		return err
	}
	_, err := c.Exec(ctx, "", sdk.KubeExec{Namespace: "lab", Pod: "seer-one", Container: "seer", Argv: []string{"sh", "-c", "touch " + began + "; sleep 600; true"}}, nil)
	return err
}

// Seer's program comes once, whole, however many want it.
func TestProgramIsBrought(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() {
			// It says on standard error that the target is none.
			r, err := b.exec(t.Context(), nil, sdk.SSHProgram, "pipe", "nowhere")
			if err != nil || r.Code != 2 || !strings.Contains(string(r.Stderr), "neither unix:/path nor tcp:PORT") {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
	all.Wait()
	there, err := os.ReadDir(b.Pod())
	if err != nil || len(there) != 1 || b.Execs() != 7 { // find, bring, and the five
		t.Fatalf("%v, %v, %d commands", there, err, b.Execs())
	}
	// It is gone: it is brought again.
	if err := os.Remove(filepath.Join(b.Pod(), there[0].Name())); err != nil {
		t.Fatal(err)
	}
	if r, err := b.exec(t.Context(), nil, sdk.SSHProgram, "pipe", "nowhere"); err != nil || r.Code != 2 {
		t.Errorf("%+v, %v", r, err)
	}
	if err := os.RemoveAll(b.Pod()); err != nil {
		t.Fatal(err)
	}
	testkit.WriteFile(t, b.Pod(), "a file")
	other := kube.New(b.o)
	_, err = other.Exec(t.Context(), "", sdk.KubeExec{Namespace: "lab", Pod: "seer-one", Container: "seer", Argv: []string{sdk.SSHProgram}}, nil)
	testkit.WantCode(t, err, sdk.Unsupported, "mount an emptyDir there")
}

func TestDial(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	l := testkit.Serve(testkit.Loopback(t), testkit.Echo)
	target := fmt.Sprint("tcp:", testkit.Port(l))
	route := kube.Route{Context: "lab", Namespace: "lab", Pod: "seer-one", Container: "seer"}
	echo := func(text string) error {
		conn, err := b.c.Dial(t.Context(), route, target)
		if err != nil {
			return err
		}
		return testkit.Echoes(conn, text)
	}
	if err := echo("hello"); err != nil {
		t.Fatal(err)
	}
	before := b.Execs()
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if err := echo(strings.Repeat("0123456789", 1000)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if b.Execs() != before {
		t.Errorf("%d commands in the pod, %d before", b.Execs(), before)
	}
	// What a pipe leads to is one target.
	free := fmt.Sprint("tcp:", testkit.FreePort(t))
	_, err := b.c.Dial(t.Context(), route, free)
	var refused *pipe.Refused
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "on the pod lab/seer-one") {
		t.Errorf("a port where nothing listens: %v", err)
	}
	b.Stop()
	testkit.EventuallyNil(t, "an error", func() error {
		if _, err := b.c.Dial(t.Context(), route, target); sdk.CodeOf(err) != sdk.Unavailable {
			return fmt.Errorf("while the API is away: %w", err)
		}
		return nil
	})
	b.Start()
	testkit.EventuallyNil(t, "the port", func() error { return echo("again") })
	b.Remove()
	b.Cut()
	testkit.EventuallyNil(t, "the end of the pod", func() error {
		if _, err := b.c.Dial(t.Context(), route, target); sdk.CodeOf(err) != sdk.NotFound {
			return fmt.Errorf("a pod that is gone: %w", err)
		}
		return nil
	})
}

func TestKubeconfig(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", "/home/me")
	testkit.WantEach(t, kube.Kubeconfig, map[string]string{
		"": "/home/me/.kube/config", "/a:b": "/a:" + here + "/b",
	})
}
