package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/trust"
	"github.com/seer-engine/seer/internal/testengine"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

var installed testengine.Installation

func TestMain(m *testing.M) { testengine.Main(m, &installed) }

// newEngine makes an engine with folders of its own. Sandboxes that a test leaves
// behind fail it.
func newEngine(t *testing.T, change ...func(*engine.Options)) *engine.Engine {
	t.Helper()
	return installed.Engine(t, change...)
}

// load writes files into a folder and loads its seer.yaml.
func load(t *testing.T, files map[string]string) *experiment.Experiment {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "an experiment é")
	testkit.WriteFiles(t, dir, files)
	exp, err := experiment.Load(t.Context(), filepath.Join(dir, "seer.yaml"), experiment.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return exp
}

func TestArtifactsByARelativePath(t *testing.T) {
	exp := load(t, map[string]string{"seer.yaml": "sandbox: {network: none}\n"})
	t.Chdir(filepath.Dir(installed.Runtime))
	e := newEngine(t, func(o *engine.Options) {
		o.ArtifactsDir = filepath.Base(installed.Runtime)
	})
	s, err := e.Up(t.Context(), exp, engine.UpOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Terminate(t.Context()); err != nil {
		t.Error(err)
	}
}

const counter = `
import os
count = 0

@expose
def bump(by: int = 1, *, label: str = "n") -> dict:
    """Add to the counter."""
    global count
    count += by
    return {label: count}

@expose
def where(name: str) -> dict:
    return {"path": get_model_path(name), "files": sorted(os.listdir(get_model_path(name))),
            "env": {k: v for k, v in os.environ.items() if k.startswith("MODEL_")}, "all": list_configured_models()}

@expose
def fail():
    raise ValueError("too low")
`

func up(t *testing.T, e *engine.Engine, exp *experiment.Experiment, o engine.UpOptions) *engine.Sandbox {
	t.Helper()
	s, err := e.Up(t.Context(), exp, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Terminate(context.Background()) })
	return s
}

func TestScopedSandbox(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	exp := load(t, map[string]string{
		"seer.yaml":        "name: t\nsandbox: {models: [./tiny-model], env: {COLOUR: blau}, local_files: [[./a.txt, /workspace/in/a.txt]], network: none}\n",
		"interface.py":     counter,
		"tiny-model/w.bin": "weights",
		"a.txt":            "über",
	})
	s := up(t, e, exp, engine.UpOptions{Name: "scoped"})

	face := filepath.Join(filepath.Dir(exp.File), "interface.py")
	v, err := s.Serve(t.Context(), engine.ServeOptions{File: face, Name: "tools"})
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]int
	for want := 3; want <= 6; want += 3 {
		if err := v.Call(t.Context(), "bump", []any{3}, map[string]any{"label": "n"}, &got); err != nil || got["n"] != want {
			t.Fatalf("bump = %v, %v", got, err)
		}
	}
	var where struct {
		Path  string
		Files []string
		Env   map[string]string
		All   []map[string]any
	}
	if err := v.Call(t.Context(), "where", []any{"./tiny-model"}, nil, &where); err != nil {
		t.Fatal(err)
	}
	if len(where.Files) != 1 || where.Files[0] != "w.bin" || len(where.All) != 1 || len(where.Env) != 1 {
		t.Errorf("where = %+v", where)
	}

	err = v.Call(t.Context(), "fail", nil, nil, nil)
	var call *protocol.CallError
	if !errors.As(err, &call) || call.Type != "ValueError" || !strings.Contains(call.Traceback, "interface.py") || engine.KindOf(err) != engine.KindCall {
		t.Errorf("fail: %#v (%s)", err, engine.KindOf(err))
	}

	var out bytes.Buffer
	p, err := s.Exec(t.Context(), protocol.ProcessSpec{Shell: "cat in/a.txt; echo -$COLOUR; exit 3"}, nil, &out, &out)
	if err != nil || p.ExitCode != 3 || out.String() != "über-blau\n" {
		t.Errorf("exec: %q, %+v, %v", out.String(), p, err)
	}

	// Another engine finds it again, and the name is taken.
	if _, err := e.Up(t.Context(), exp, engine.UpOptions{Name: "scoped"}); engine.KindOf(err) != engine.KindConflict {
		t.Errorf("a second one of the name: %v", err)
	}
	again, err := e.Open(t.Context(), "scoped")
	if err != nil || again.ID() != s.ID() {
		t.Fatalf("open: %v", err)
	}
	w, err := again.Service(t.Context(), "tools")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Call(t.Context(), "bump", nil, nil, &got); err != nil || got["n"] != 7 {
		t.Errorf("module state: %v, %v", got, err)
	}
	info, err := e.Show(t.Context(), s.ID()[:6])
	if err != nil || info.State != sdk.Running || len(info.Services) != 1 || info.Services[0].State != "ready" || len(info.Models) != 1 {
		t.Errorf("show = %+v, %v", info, err)
	}

	if err := s.Terminate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Open(t.Context(), "scoped"); engine.KindOf(err) != engine.KindNotFound {
		t.Errorf("after the end: %v", err)
	}
}

func TestServeAgainKeepsConnections(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	exp := load(t, map[string]string{"seer.yaml": "name: t\n", "interface.py": counter})
	s := up(t, e, exp, engine.UpOptions{})
	file := filepath.Join(filepath.Dir(exp.File), "interface.py")
	first, err := s.Serve(t.Context(), engine.ServeOptions{File: file})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("@expose\ndef bump():\n    return 1/0\n\nbroken("), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = s.Serve(t.Context(), engine.ServeOptions{File: file})
	if engine.KindOf(err) != engine.KindService || !strings.Contains(err.Error(), "SyntaxError") || !strings.Contains(err.Error(), "line 5") {
		t.Errorf("broken interface: %v", err)
	}
	var n map[string]int
	if err := first.Call(t.Context(), "bump", nil, nil, &n); err != nil {
		t.Errorf("the old version is gone: %v", err)
	}
	if err := os.WriteFile(file, []byte("@expose\ndef bump():\n    return {'n': 100}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err = s.Serve(t.Context(), engine.ServeOptions{File: file}); err != nil {
		t.Fatal(err)
	}
	if err := first.Call(t.Context(), "bump", nil, nil, &n); err != nil || n["n"] != 100 {
		t.Errorf("the old connection: %v, %v", n, err)
	}
}

func TestSecretsAreNeverShown(t *testing.T) {
	t.Parallel()
	e := newEngine(t, func(o *engine.Options) {
		o.Trust = trust.All
		o.LookupEnv = func(name string) (string, bool) {
			if name == "API_KEY" {
				return "s3cr3t-value", true
			}
			return os.LookupEnv(name)
		}
	})
	exp := load(t, map[string]string{
		"seer.yaml": "name: t\nsandbox: {secrets: [API_KEY, FROM_FILE]}\n", ".env": "FROM_FILE=another-secret\n",
		"interface.py": "import os\n@expose\ndef leak():\n    print(os.environ['API_KEY'])\n    return os.environ['FROM_FILE']\n",
	})
	s := up(t, e, exp, engine.UpOptions{})
	var out bytes.Buffer
	if _, err := s.Exec(t.Context(), protocol.ProcessSpec{Shell: "echo $API_KEY $FROM_FILE; env"}, nil, &out, &out); err != nil {
		t.Fatal(err)
	}
	v, err := s.Serve(t.Context(), engine.ServeOptions{File: filepath.Join(filepath.Dir(exp.File), "interface.py")})
	if err != nil {
		t.Fatal(err)
	}
	var result string
	if err := v.Call(t.Context(), "leak", nil, nil, &result); err != nil {
		t.Fatal(err)
	}
	if err := v.Logs(t.Context(), false, &out); err != nil {
		t.Fatal(err)
	}
	all := out.String() + result
	if strings.Contains(all, "s3cr3t-value") || strings.Contains(all, "another-secret") || !strings.Contains(all, "[secret API_KEY]") {
		t.Errorf("secrets: %s", all)
	}
}

func TestCancelledStartLeavesNothing(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	exp := load(t, map[string]string{"seer.yaml": "name: t\n"})
	for after := range 12 { // cancelled a little later each time, so at another step
		ctx, cancel := context.WithCancel(t.Context())
		steps := 0
		s, err := e.Up(ctx, exp, engine.UpOptions{Progress: func(engine.Event) {
			if steps++; steps > after {
				cancel()
			}
		}})
		if err == nil { // it was too quick for this cancel
			_ = s.Terminate(t.Context())
		}
		cancel()
	}
	infos, err := e.Sandboxes(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range infos {
		if i.State.Live() {
			t.Errorf("%s is %s", i.ID, i.State)
		}
	}
}

// attached starts a sandbox that lives for ttl without this program, and again with a longer
// one where the computer was too slow for that: no lease ends before it was asked for.
func attached(t *testing.T, e *engine.Engine, exp *experiment.Experiment, ttl time.Duration, work func(*engine.Sandbox) error) *engine.Sandbox {
	t.Helper()
	for ; ; ttl *= 4 {
		began := time.Now()
		s, err := e.Up(t.Context(), exp, engine.UpOptions{Attached: ttl})
		if err == nil {
			t.Cleanup(func() { _ = s.Terminate(context.Background()) })
			if err = work(s); err == nil {
				return s
			}
		}
		if time.Since(began) < ttl || ttl > time.Minute {
			t.Fatal(err)
		}
	}
}

func TestAttachedLeaseEndsWithoutItsProgram(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	exp := load(t, map[string]string{"seer.yaml": "name: t\n"})
	s := attached(t, e, exp, 2*time.Second, func(s *engine.Sandbox) error {
		_, err := s.Runtime().Health(t.Context())
		return err
	})
	s.Close() // as a killed program would
	testkit.EventuallyNil(t, "the end of the sandbox", func() error {
		info, err := e.Show(t.Context(), s.ID())
		if err == nil && info.State.Live() {
			err = fmt.Errorf("it still lives: %+v", info)
		}
		return err
	})
}

func TestTwoEnginesInOneProcess(t *testing.T) {
	t.Parallel()
	a, b := newEngine(t), newEngine(t)
	exp := load(t, map[string]string{"seer.yaml": "name: t\n"})
	up(t, a, exp, engine.UpOptions{Name: "same"})
	up(t, b, exp, engine.UpOptions{Name: "same"})
	for _, e := range []*engine.Engine{a, b} {
		if infos, err := e.Sandboxes(t.Context(), false); err != nil || len(infos) != 1 {
			t.Errorf("%v, %v", infos, err)
		}
	}
}

func TestClosedEngine(t *testing.T) {
	e := newEngine(t)
	exp := load(t, map[string]string{"seer.yaml": "name: t\n"})
	s := up(t, e, exp, engine.UpOptions{})
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Up(t.Context(), exp, engine.UpOptions{}); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a new sandbox: %v", err)
	}
	if _, err := e.Fork(t.Context(), s.ID(), 1, engine.ForkOptions{}); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a copy: %v", err)
	}
	if err := s.Terminate(t.Context()); err != nil {
		t.Errorf("the old one cannot be ended: %v", err)
	}
}

// TestEndedWhileStarted: who waits for a start is told that somebody else has ended it.
func TestEndedWhileStarted(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	exp := load(t, map[string]string{"seer.yaml": "name: t\n"})
	_, err := e.Up(t.Context(), exp, engine.UpOptions{Name: "lab", Progress: func(ev engine.Event) {
		if ev.Type == "boot.started" {
			if err := e.Terminate(t.Context(), "lab"); err != nil {
				t.Error(err)
			}
		}
	}})
	if err == nil || !strings.Contains(err.Error(), "while it was started, the sandbox ended: ended by the user") {
		t.Errorf("%v", err)
	}
}
