package runtime_test

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/python"
	"github.com/seer-engine/seer/engine/runtime"
	"github.com/seer-engine/seer/engine/runtime/loader"
	"github.com/seer-engine/seer/internal/testkit"
)

//go:embed testdata/worker
var fakeWorker embed.FS

// TestMain makes the test binary double as the runtime: the loader starts it
// like the real one, and the race detector watches it.
func TestMain(m *testing.M) {
	if os.Getenv(loader.BootVariable) != "" {
		if os.Getenv(realWorkerVariable) != "" {
			os.Exit(runtime.Main(runtime.Worker{Files: python.Files, Entry: python.Main}))
		}
		files, err := fs.Sub(fakeWorker, "testdata/worker")
		if err != nil {
			panic(err)
		}
		os.Exit(runtime.Main(runtime.Worker{Files: files, Entry: "fake_worker.py"}))
	}
	os.Exit(m.Run())
}

const realWorkerVariable = "SEER_TEST_REAL_WORKER"

// machine is a loader that runs on this computer as it would on any other.
type machine struct {
	t      testing.TB
	boot   loader.Boot
	token  string
	cmd    *exec.Cmd
	exited chan struct{}
	log    *testkit.Buffer
	client *client.Client
	dir    string
	env    []string // further variables of the loader
	wrap   []string // a command that starts the loader
}

// start starts a loader without a runtime. Nothing of it outlives the test.
func start(t testing.TB, change func(*loader.Boot)) *machine {
	t.Helper()
	return startIn(t, nil, func(m *machine) {
		if change != nil {
			change(&m.boot)
		}
	})
}

// startIn starts a loader by way of another command.
func startIn(t testing.TB, wrap []string, change func(*machine)) *machine {
	t.Helper()
	m := &machine{t: t, token: protocol.NewToken(), exited: make(chan struct{}), log: &testkit.Buffer{}, dir: t.TempDir()}
	workspace := filepath.Join(m.dir, "workspace")
	mustMkdir(t, workspace)
	m.boot = loader.Boot{
		Listen: "unix:" + filepath.Join(m.dir, "s"), AdminSHA256: protocol.HashToken(m.token),
		Cache: filepath.Join(m.dir, "cache"), Scratch: filepath.Join(m.dir, "scratch"),
		Machine: "test-" + protocol.NewToken()[:12], Roots: map[string]string{"/workspace": workspace},
		EndUnix: time.Now().Add(time.Hour).Unix(),
	}
	m.wrap = wrap
	if change != nil {
		change(m)
	}
	m.launch()
	t.Cleanup(m.end)
	endpoint := m.boot.Listen
	if address, ok := strings.CutPrefix(endpoint, "tcp:"); ok {
		endpoint = "http://" + address
	}
	m.client = newClient(t, endpoint, m.token)
	return m
}

func newClient(t testing.TB, endpoint, token string) *client.Client {
	t.Helper()
	c := testkit.Must(client.New(endpoint, token))(t)
	t.Cleanup(c.Close)
	return c
}

func (m *machine) configure(c protocol.Config) {
	m.t.Helper()
	if err := m.client.PutConfig(testContext(m.t), c); err != nil {
		m.t.Fatal(err)
	}
}

// startAgain kills the machine's command and starts it anew.
func (m *machine) startAgain() {
	m.t.Helper()
	_ = m.cmd.Process.Kill()
	<-m.exited
	m.gone()
	m.exited = make(chan struct{})
	m.launch()
	m.push()
}

func (m *machine) launch() {
	argv := append(slices.Clone(m.wrap), loader.Command("python3")...)
	m.cmd = exec.Command(argv[0], argv[1:]...)
	env, err := loader.BootEnv(m.boot)
	if err != nil {
		m.t.Fatal(err)
	}
	m.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + m.dir, "GOCOVERDIR=" + m.dir}
	m.cmd.Env = append(append(m.cmd.Env, testkit.RaceEnv()...), m.env...)
	for k, v := range env {
		m.cmd.Env = append(m.cmd.Env, k+"="+v)
	}
	m.cmd.Stdout, m.cmd.Stderr = m.log, m.log
	if err := m.cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	go func() {
		_ = m.cmd.Wait()
		close(m.exited)
	}()
}

// end ends the machine and checks that nothing of it is left.
func (m *machine) end() {
	_ = m.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-m.exited:
	case <-time.After(2 * time.Minute):
		m.t.Errorf("the loader does not end; its log:\n%s", m.log)
		_ = m.cmd.Process.Kill()
	}
	m.gone()
	if m.t.Failed() {
		m.t.Logf("log of the machine:\n%s", m.log)
	}
}

// gone waits until no process carries the machine's cookie.
func (m *machine) gone() {
	m.t.Helper()
	testkit.EventuallyNil(m.t, "every process of the machine to end", func() error {
		if left := marked("SEER_MACHINE=" + m.boot.Machine); len(left) > 0 {
			return fmt.Errorf("still there: %v", left)
		}
		return nil
	})
}

// up starts a machine with its runtime.
func up(t testing.TB, change func(*loader.Boot)) *machine {
	t.Helper()
	m := start(t, change)
	m.push()
	return m
}

func (m *machine) push() protocol.Health {
	m.t.Helper()
	h, err := m.client.Boot(testContext(m.t), client.BootOptions{Binary: self})
	if err != nil {
		m.t.Fatalf("boot: %v\n%s", err, m.log)
	}
	return h
}

// tryPush is push on a machine that may end under it.
func (m *machine) tryPush() error {
	_, err := m.client.Boot(m.living(), client.BootOptions{Binary: self})
	return err
}

// living is a context that ends with the machine.
func (m *machine) living() context.Context {
	ctx, cancel := context.WithCancel(testContext(m.t))
	go func() {
		defer cancel()
		select {
		case <-m.exited:
		case <-ctx.Done():
		}
	}()
	return ctx
}

// listens waits until the loader takes connections.
func (m *machine) listens() {
	m.t.Helper()
	testkit.EventuallyNil(m.t, "the loader", func() error {
		conn, err := net.Dial("unix", strings.TrimPrefix(m.boot.Listen, "unix:"))
		if err == nil {
			err = conn.Close()
		}
		return err
	})
}

func self(string, string) (string, error) { return os.Executable() }

func testContext(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// marked lists the living processes that were started with a variable.
func marked(pair string) []string {
	var found []string
	names, _ := filepath.Glob("/proc/[0-9]*")
	for _, name := range names {
		env, _ := os.ReadFile(name + "/environ")
		for v := range bytes.SplitSeq(env, []byte{0}) {
			if string(v) == pair {
				line, _ := os.ReadFile(name + "/cmdline")
				found = append(found, filepath.Base(name)+" "+strings.ReplaceAll(string(line), "\x00", " "))
			}
		}
	}
	return found
}

// runtimePid finds the runtime: the loader's only child that is not of a service.
func (m *machine) runtimePid() int {
	m.t.Helper()
	var pid int
	testkit.EventuallyNil(m.t, "the runtime to run", func() (err error) {
		pid, err = m.findRuntime()
		return err
	})
	return pid
}

func (m *machine) findRuntime() (pid int, err error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", m.cmd.Process.Pid, m.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	for child := range strings.FieldsSeq(string(data)) {
		env, err := os.ReadFile("/proc/" + child + "/environ")
		if err == nil && len(env) > 0 && !bytes.Contains(env, []byte("SEER_PROCESS=")) {
			_, err = fmt.Sscan(child, &pid)
			return pid, err
		}
	}
	return 0, fmt.Errorf("only %q", data)
}

// busy waits until the machine is in use.
func (m *machine) busy() {
	m.t.Helper()
	testkit.EventuallyNil(m.t, "the machine to be in use", func() error {
		if h, err := m.client.Health(testContext(m.t)); err != nil || !h.Busy {
			return fmt.Errorf("%+v %v", h, err)
		}
		return nil
	})
}

func (m *machine) run(spec protocol.ProcessSpec) (protocol.Process, string, string) {
	m.t.Helper()
	var stdout, stderr bytes.Buffer
	p, err := m.client.Processes().Run(testContext(m.t), spec, nil, &stdout, &stderr)
	if err != nil {
		m.t.Fatalf("run %v: %v", spec, err)
	}
	return p, stdout.String(), stderr.String()
}

func (m *machine) shell(command string) string {
	m.t.Helper()
	p, out, errOut := m.run(protocol.ProcessSpec{Shell: command})
	if p.ExitCode != 0 {
		m.t.Fatalf("%s: exit %d: %s", command, p.ExitCode, errOut)
	}
	return out
}

func mustMkdir(t testing.TB, path string) {
	t.Helper()
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatal(err)
	}
}

func writeFile(t testing.TB, path, content string) {
	t.Helper()
	testkit.WriteProgram(t, path, content)
}
