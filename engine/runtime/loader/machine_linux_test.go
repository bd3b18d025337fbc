package loader_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/machine/local"
	"github.com/seer-engine/seer/engine/machine/local/watchdog"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/python"
	seerruntime "github.com/seer-engine/seer/engine/runtime"
	"github.com/seer-engine/seer/engine/runtime/loader"
	"github.com/seer-engine/seer/internal/ordinaryuser"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

const (
	patience = 2 * time.Minute // for what must come
	// slowStart has a runtime that is started again wait before its first line: the time
	// between its start and its closing of its memory becomes long.
	slowStart = "SEER_TEST_SLOW_START"
)

// TestMain makes the test binary double as the runtime.
func TestMain(m *testing.M) {
	if os.Getenv(loader.BootVariable) != "" {
		var memory syscall.Stat_t
		if os.Getenv(slowStart) != "" && syscall.Fstat(4, &memory) == nil && memory.Size > 0 {
			time.Sleep(2 * time.Second)
		}
		os.Exit(seerruntime.Main(seerruntime.Worker{Files: python.Files, Entry: python.Main, Compiled: python.CompiledName()}))
	}
	if len(os.Args) == 3 && os.Args[1] == "watchdog" {
		os.Exit(watchdog.Main(os.Args[2], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// box is a machine of the local provider whose runtime is this program.
type box struct {
	t      *testing.T
	p      sdk.Provider
	dir    string // of the provider
	binary string // of the runtime
	handle string
	client *client.Client
}

// up starts a machine with a loader, whose lines may be changed, and its runtime.
func up(t *testing.T, kind string, env map[string]string, pairs ...string) *box {
	t.Helper()
	return upWith(t, kind, env, nil, pairs...)
}

// upWith is up with other options of the provider, or another spec of the machine.
func upWith(t *testing.T, kind string, env map[string]string, change func(*box, *local.Options, *sdk.MachineSpec), pairs ...string) *box {
	t.Helper()
	base := shortDir(t)
	b := &box{t: t, dir: filepath.Join(base, "machines")}
	artifacts := filepath.Join(base, "artifacts")
	b.binary = filepath.Join(artifacts, "seer-runtime-linux-"+runtime.GOARCH)
	placeSelf(t, b.binary)
	options := local.Options{Dir: b.dir, RuntimeDir: filepath.Join(base, "r"), ArtifactsDir: artifacts, Grace: time.Second,
		Python: func(ctx context.Context) (isolation.Interpreter, error) {
			return isolation.Python(ctx, func(string) string { return "" })
		}, Places: []string{ordinaryuser.Runsc(isolation.RunscBuild)}}
	token := protocol.NewToken()
	boot, err := loader.BootEnv(loader.Boot{Listen: "unix:/s", AdminSHA256: protocol.HashToken(token)})
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range env {
		boot[name] = value
	}
	for _, variable := range testkit.RaceEnv() {
		name, value, _ := strings.Cut(variable, "=")
		boot[name] = value
	}
	spec := sdk.MachineSpec{Key: base, Owner: "me", Name: "box", Command: loader.CommandWith("python3", pairs...),
		Env: boot, Port: 7070, Isolation: kind, Network: "none"}
	if change != nil {
		change(b, &options, &spec)
	}
	b.p = local.New(options)
	step, err := b.p.Create(t.Context(), spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	b.handle = step.Handle
	b.ends()
	b.boot(token)
	return b
}

// ends has the machine end with the test.
func (b *box) ends() {
	b.t.Cleanup(func() {
		if b.t.Failed() {
			b.t.Log(b.log())
		}
		if err := b.p.Terminate(context.Background(), b.handle); err != nil {
			b.t.Error(err)
		}
	})
}

// awaitSocket waits until the machine listens, and returns where.
func (b *box) awaitSocket() (at string) {
	b.t.Helper()
	b.eventually("the machine to listen", func() bool {
		o := b.observe()
		if o.State == sdk.Running {
			at = o.Endpoints[0].URL
		}
		return at != ""
	})
	return at
}

func (b *box) boot(token string) {
	b.t.Helper()
	at := b.awaitSocket()
	var err error
	if b.client, err = client.New(at, token); err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(b.client.Close)
	ctx, cancel := context.WithTimeout(b.t.Context(), patience)
	defer cancel()
	_, err = b.client.Boot(ctx, client.BootOptions{Binary: func(string, string) (string, error) { return b.binary, nil }})
	if err != nil {
		b.t.Fatalf("%v\n%s", err, b.log())
	}
}

func (b *box) observe() sdk.Observation {
	b.t.Helper()
	seen, err := b.p.Observe(context.Background(), []string{b.handle})
	if err != nil {
		b.t.Fatal(err)
	}
	return seen[0]
}

// start runs Python as a process of the machine, which may not live to see its end.
func (b *box) start(code string) {
	b.t.Helper()
	if _, err := b.client.Processes().Start(b.t.Context(), protocol.ProcessSpec{Argv: []string{"python3", "-c", code}, Background: true}); err != nil {
		b.t.Fatal(err)
	}
}

// told is what the machine has written to a file in its workspace, empty so far.
func (b *box) told(name string) string {
	data, _ := os.ReadFile(filepath.Join(b.dir, b.handle, "workspace", name))
	return strings.TrimSpace(string(data))
}

func (b *box) log() string {
	data, _ := os.ReadFile(filepath.Join(b.dir, b.handle, "log"))
	return string(data)
}

// ended reports whether the machine has.
func (b *box) ended() bool { return !b.observe().State.Live() }

func (b *box) eventually(what string, done func() bool) {
	b.t.Helper()
	testkit.EventuallyNil(b.t, what, func() error {
		if !done() {
			return fmt.Errorf("the machine's log:\n%s", b.log())
		}
		return nil
	})
}

// shortDir is a folder in which the path of a socket is short enough.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "m")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// placeSelf copies this program.
func placeSelf(t *testing.T, to string) {
	t.Helper()
	in, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		t.Fatal(err)
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err == nil {
		_, err = io.Copy(out, in)
		err = errors.Join(err, out.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestAsOrdinaryUser makes the attacks again without root's rights.
func TestAsOrdinaryUser(t *testing.T) {
	t.Parallel()
	again := ordinaryuser.Again{Args: []string{"-test.run=^TestAttacks$"}, Env: []string{"SEER_TEST_GVISOR=" + os.Getenv("SEER_TEST_GVISOR")}}
	if os.Getenv("SEER_TEST_GVISOR") != "" {
		again.Runsc = ordinaryuser.Runsc(isolation.RunscBuild)
	}
	again.Run(t)
}
