package notebook_test

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/notebook"
	"github.com/seer-engine/seer/engine/protocol"
	programs "github.com/seer-engine/seer/engine/python"
	"github.com/seer-engine/seer/engine/runtime"
	"github.com/seer-engine/seer/engine/runtime/loader"
	"github.com/seer-engine/seer/internal/testbuild"
	"github.com/seer-engine/seer/internal/testkit"
)

// TestMain makes the test binary double as the runtime, so that Jupyter is started by
// the real one, in a sandbox without isolation.
func TestMain(m *testing.M) {
	if os.Getenv(loader.BootVariable) != "" {
		os.Exit(runtime.Main(runtime.Worker{Files: fstest.MapFS{"none.py": {Data: []byte{}, Mode: fs.ModePerm}}, Entry: "none.py"}))
	}
	os.Exit(m.Run())
}

// machine boots the runtime. Its /workspace is a folder with a name that shells do not
// like.
func machine(t *testing.T) (*client.Client, string) {
	t.Helper()
	dir := t.TempDir()
	workspace := filepath.Join(dir, "work é 'q'")
	for _, d := range []string{workspace, filepath.Join(dir, "home")} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	admin := protocol.NewToken()
	env, err := loader.BootEnv(loader.Boot{
		Listen: "unix:" + filepath.Join(dir, "s"), AdminSHA256: protocol.HashToken(admin), Cache: filepath.Join(dir, "cache"), Scratch: filepath.Join(dir, "scratch"),
		Machine: "test-" + admin[:12], Roots: map[string]string{"/workspace": workspace}, EndUnix: time.Now().Add(30 * time.Minute).Unix(),
	})
	if err != nil {
		t.Fatal(err)
	}
	argv := loader.Command("python3")
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(dir, "home"), "GOCOVERDIR=" + dir}
	cmd.Env = append(cmd.Env, testkit.RaceEnv()...)
	for k, v := range env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(log.String())
		}
	})
	m, err := client.New("unix:"+filepath.Join(dir, "s"), admin)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	if _, err := m.Boot(ctx, client.BootOptions{Binary: func(string, string) (string, error) { return os.Executable() }}); err != nil {
		t.Fatal(err)
	}
	return m, workspace
}

func TestStart(t *testing.T) {
	python := testbuild.Jupyter(t)
	rt, workspace := machine(t)
	ctx, cancel := context.WithTimeout(t.Context(), 9*time.Minute)
	defer cancel()

	// A port that was asked for and is taken; no Jupyter in the Python.
	// Who has it answers as the service would, and must not be shown the token.
	var visits atomic.Int32
	neighbour := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		visits.Add(1)
		_, _ = io.WriteString(w, `{"seer_notebook":1}`)
	}))
	defer neighbour.Close()
	port := neighbour.Listener.Addr().(*net.TCPAddr).Port
	// What was compiled in advance cannot be read: it is compiled there.
	compiled, err := programs.CompileNotebook(ctx, python)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	_, err = notebook.Start(ctx, rt, notebook.Spec{Python: python, Port: port, Compiled: compiled[:len(compiled)/2]}, func(line string) { lines = append(lines, line) })
	if protocol.CodeOf(err) != protocol.Conflict || !strings.Contains(err.Error(), "is taken") {
		t.Errorf("%v; printed %q", err, lines)
	}
	if n := visits.Load(); n != 0 {
		t.Errorf("who listened at the port was asked %d times", n)
	}
	bare := filepath.Join(t.TempDir(), "python")
	testkit.WriteProgram(t, bare, "#!/bin/sh\nexec python3 -I -S \"$@\"\n")
	if _, err := notebook.Start(ctx, rt, notebook.Spec{Python: bare}, nil); err == nil || !strings.Contains(err.Error(), "No module named") {
		t.Errorf("without the packages: %v", err)
	}

	// Where no port was asked for and 8888 is taken, another is found.
	if l, err := net.Listen("tcp", "127.0.0.1:8888"); err == nil {
		defer l.Close()
	}
	spec := notebook.Spec{Python: python, Compiled: compiled, Setup: []notebook.SetupCell{{Name: "greeting", Code: "greeting = 'hi'"}}}
	server, err := notebook.Start(ctx, rt, spec, nil)
	if err != nil || server.Port == 8888 || !strings.Contains(server.URL, server.Token) {
		t.Fatalf("%+v, %v", server, err)
	}
	c := notebook.NewClient(server.Address)
	defer c.Close()
	s, _, err := c.StartSession(ctx, notebook.NewSession{Mode: notebook.New, Name: "x"})
	if err != nil {
		t.Fatal(err)
	}
	if got := said(ctx, t, c, s.ID, "import os; print(greeting, os.getcwd())"); got != "hi "+filepath.Join(workspace)+"\n" && got != "hi "+filepath.Join(workspace, "notebooks")+"\n" {
		t.Errorf("%q", got)
	}
	if _, err := os.Stat(filepath.Join(workspace, s.Path)); err != nil {
		t.Error(err)
	}
	p, err := rt.Processes().Get(ctx, "jupyter")
	if err != nil || !p.Background {
		t.Errorf("%+v, %v", p, err)
	}
	e, err := rt.Files().Stat(ctx, "~/.seer/notebook/config.json")
	if err != nil || e.Mode != "0600" {
		t.Errorf("%+v, %v", e, err)
	}
	unchanged(t, compiled, filepath.Join(filepath.Dir(workspace), "home", ".seer", "notebook", "python"))
	// Killed, it comes back on its own, under the same URL.
	before, err := c.Info(ctx)
	if err != nil || len(before.Sessions) == 0 {
		t.Fatalf("%+v, %v", before, err)
	}
	const killSupervisor = "import os\nparent = lambda p: int(open(f'/proc/{p}/stat').read().rsplit(')', 1)[1].split()[1])\nos.kill(parent(os.getppid()), 9)"
	if _, err := c.AddCell(ctx, s.ID, notebook.NewCell{Type: "code", Source: killSupervisor, Run: true}); err != nil {
		t.Fatal(err)
	}
	testkit.EventuallyNil(t, "the restart of Jupyter", func() error {
		p, err := rt.Processes().Get(ctx, "jupyter")
		if err == nil && p.Restarts == 0 {
			err = fmt.Errorf("%+v", p)
		}
		return err
	})
	if _, err := c.Info(ctx); err != nil {
		t.Errorf("after its restart: %v", err)
	}
}

// unchanged checks that a service has used what was compiled in advance: it would have
// put its own in the place of what it cannot use.
func unchanged(t *testing.T, compiled []byte, dir string) {
	t.Helper()
	files, err := zip.NewReader(bytes.NewReader(compiled), int64(len(compiled)))
	if err != nil || len(files.File) == 0 {
		t.Fatalf("%+v, %v", files, err)
	}
	for _, f := range files.File {
		want, err := fs.ReadFile(files, f.Name)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(f.Name))); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %v, or it is another one", f.Name, err)
		}
	}
}

// said runs code and returns what it has printed.
func said(ctx context.Context, t *testing.T, c *notebook.Client, session, code string) string {
	t.Helper()
	run, err := c.AddCell(ctx, session, notebook.NewCell{Type: "code", Source: code, Run: true})
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for e, err := range c.Events(ctx, run.Execution.ID, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Output != nil {
			out.WriteString(string(e.Output.Text))
			out.WriteString(strings.Join(e.Output.Traceback, "\n"))
		}
	}
	return out.String()
}
