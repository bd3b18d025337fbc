package acceptance

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdkmcp "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/enginetest/fakehub"
	"github.com/seer-engine/seer/engine/event/eventtext"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/isolation"
	mcpnotebook "github.com/seer-engine/seer/engine/mcp/notebook"
	"github.com/seer-engine/seer/engine/notebook"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/internal/testbuild"
	"github.com/seer-engine/seer/internal/testkit"
)

// TestSeeds takes the documents that Seer was asked for with, snippet by snippet, in Go:
// the environment API, the pages about environments and the staged form. Real Jupyter,
// in both isolations, and models from a Hub on this computer under their real names. Only GPUs
// are not to be had here.
func TestSeeds(t *testing.T) {
	h, err := fakehub.New(fakehub.Options{Repos: []fakehub.Repo{{ID: "google/gemma-2-9b", Commits: []fakehub.Commit{{Files: map[string]fakehub.File{
		"config.json": hubText(`{"model_type": "tiny"}`), "model.safetensors": {Content: fakehub.Text(tensors("gemma", 1<<20)), Kind: fakehub.LFS},
	}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	t.Setenv("HF_HOME", t.TempDir())
	t.Setenv("HF_ENDPOINT", h.URL(fakehub.API))
	t.Setenv("HF_TOKEN", "")
	for _, kind := range []string{isolation.Bubblewrap, isolation.GVisor} {
		t.Run(kind, func(t *testing.T) {
			s := newSeeds(t, kind)
			t.Run("Sandbox", s.sandbox)
			t.Run("ScopedSandbox", s.scoped)
			t.Run("Snapshots", s.snapshots)
			t.Run("EnvironmentHandle", s.handle)
		})
	}
}

type seeds struct {
	kind   string
	dir    string
	engine *engine.Engine
}

func newSeeds(t *testing.T, kind string) *seeds {
	t.Helper()
	short, err := os.MkdirTemp("", "seer")
	if err != nil {
		t.Fatal(err)
	}
	s := &seeds{kind: kind, dir: t.TempDir()}
	if kind == isolation.GVisor {
		s.runsc(t)
	}
	bin := filepath.Dir(installed.seer)
	s.engine, err = engine.New(engine.Options{
		StateDir: filepath.Join(s.dir, "state"), CacheDir: installed.cache, DataDir: filepath.Join(s.dir, "data é"), RuntimeDir: short,
		ArtifactsDir: filepath.Join(bin, "runtime"), PluginDirs: []string{filepath.Join(bin, "plugins")}, Python: testbuild.Jupyter(t),
		BuiltinPlugins: installed.builtins,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		infos, _ := s.engine.Sandboxes(context.Background(), false)
		for _, i := range infos {
			if i.State.Live() {
				_ = s.engine.Terminate(context.Background(), i.ID)
			}
		}
		s.engine.Close()
		os.RemoveAll(short)
	})
	return s
}

// runsc puts gVisor where doctor --fix does.
func (s *seeds) runsc(t *testing.T) {
	t.Helper()
	found, err := filepath.Glob("../../.tools/runsc-*/runsc")
	if err != nil || len(found) == 0 {
		t.Fatal("gVisor is not built; run: scripts/setup e2e")
	}
	from, err := filepath.Abs(found[len(found)-1])
	if err != nil {
		t.Fatal(err)
	}
	tools := filepath.Join(s.dir, "data é", "tools")
	if err := os.MkdirAll(tools, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(from, filepath.Join(tools, "runsc")); err != nil {
		t.Fatal(err)
	}
}

// up starts the sandbox of an experiment and ends it with the test.
func (s *seeds) up(t *testing.T, text string, o engine.UpOptions) *engine.Sandbox {
	t.Helper()
	exp, err := experiment.Parse([]byte(text), filepath.Join(s.dir, "seer.yaml"), experiment.LoadOptions{Set: []string{"sandbox.isolation=" + s.kind, "sandbox.provider=local"}})
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	o.Progress = func(e engine.Event) { fmt.Fprintln(&said, e.Stage(), eventtext.Sentence(e)) }
	sandbox, err := s.engine.Up(t.Context(), exp, o)
	if err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	t.Cleanup(func() {
		if err := sandbox.Terminate(context.Background()); err != nil {
			t.Error(err)
		}
		sandbox.Close()
	})
	return sandbox
}

func (s *seeds) file(t *testing.T, name, text string) {
	t.Helper()
	testkit.WriteFile(t, filepath.Join(s.dir, name), text)
}

func status(t *testing.T, url string) int {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

// python runs code in a fresh interpreter, as exec_python does.
func python(t *testing.T, s *engine.Sandbox, code string) string {
	t.Helper()
	var out, errs bytes.Buffer
	p, err := s.ExecPython(t.Context(), code, nil, &out, &errs)
	if err != nil || p.ExitCode != 0 {
		t.Fatalf("%v, exit code %d: %s", err, p.ExitCode, errs.String())
	}
	return strings.TrimSpace(out.String())
}

// sandbox: Sandbox(config).start(), exec, exec_python, write_file, ensure_dir,
// jupyter_url, model handles, sandbox_id, terminate; a notebook session upon it.
func (s *seeds) sandbox(t *testing.T) {
	s.file(t, "workspace files/note.txt", "ready")
	sandbox := s.up(t, `
name: environment
sandbox:
  execution_mode: notebook
  models: [{name: google/gemma-2-9b}]
  python_packages: [ipykernel]
  timeout: 3600
workspace:
  files: ["workspace files/note.txt"]
  preload_models: false
  init: prepared = 6 * 7
`, engine.UpOptions{})
	var out bytes.Buffer
	if p, err := sandbox.Exec(t.Context(), protocol.ProcessSpec{Shell: "echo $((6*7)) && cat note.txt"}, nil, &out, nil); err != nil || p.ExitCode != 0 || out.String() != "42\nready" {
		t.Errorf("exec: %q, %+v, %v", out.String(), p, err)
	}
	if got := python(t, sandbox, "print(6 * 7)"); got != "42" {
		t.Errorf("exec_python: %q", got)
	}
	if err := sandbox.WriteFile(t.Context(), "/workspace/config.json", []byte(`{"key": "value"}`), 0o644); err != nil {
		t.Error(err)
	}
	if err := sandbox.EnsureDir(t.Context(), "/workspace/outputs/deep"); err != nil {
		t.Error(err)
	}
	if got := python(t, sandbox, "import json, os; print(json.load(open('config.json'))['key'], os.path.isdir('outputs/deep'))"); got != "value True" {
		t.Errorf("what was written: %q", got)
	}
	info, err := sandbox.Info(t.Context())
	if err != nil || !strings.HasPrefix(sandbox.ID(), "sb-") || info.Isolation != s.kind || len(info.Models) != 1 || info.Models[0].Path != "/models/google--gemma-2-9b" {
		t.Errorf("the sandbox: %+v, %v", info, err)
	}
	if got := python(t, sandbox, `import json, os; print(json.load(open(os.environ["MODEL_GOOGLE_GEMMA_2_9B_PATH"] + "/config.json"))["model_type"])`); got != "tiny" {
		t.Errorf("the model: %q", got)
	}
	url, err := sandbox.JupyterURL(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	base, token, _ := strings.Cut(url, "?token=")
	if with, without := status(t, base+"api/status?token="+token), status(t, base+"api/status"); with != 200 || without != 403 {
		t.Errorf("Jupyter answers %d with its token, %d without", with, without)
	}
	if _, _, err := sandbox.CodeServerURL(t.Context()); engine.KindOf(err) != engine.KindUnsupported {
		t.Errorf("VS Code without debug: %v", err)
	}
	s.agent(t, url, "print(prepared, open('note.txt').read())", "42 ready")
}

// agent uses a notebook with nothing but its URL, as create_notebook_session's agent.
func (s *seeds) agent(t *testing.T, url, code, want string) {
	t.Helper()
	address, err := notebook.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	here, there := sdkmcp.NewInMemoryTransports()
	out := t.TempDir()
	ended := make(chan error, 1)
	go func() { ended <- mcpnotebook.Serve(ctx, mcpnotebook.Options{Address: address, OutDir: out}, there) }()
	client, err := sdkmcp.NewClient(&sdkmcp.Implementation{Name: "agent"}, nil).Connect(ctx, here, nil)
	if err != nil {
		t.Fatal(err)
	}
	call := func(tool string, args map[string]any) string {
		t.Helper()
		r, err := client.CallTool(ctx, &sdkmcp.CallToolParams{Name: tool, Arguments: args})
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(r.StructuredContent)
	}
	call("start_new_session", map[string]any{"experiment_name": "séeds"})
	if got := call("execute_code", map[string]any{"code": code}); !strings.Contains(got, want) {
		t.Errorf("the cell: %s", got)
	}
	client.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	saved, err := filepath.Glob(filepath.Join(out, "*_séeds.ipynb"))
	if err != nil || len(saved) != 1 {
		t.Fatalf("saved: %q, %v", saved, err)
	}
	if text, err := os.ReadFile(saved[0]); err != nil || !strings.Contains(string(text), want) {
		t.Errorf("the notebook: %s, %v", text, err)
	}
	check := exec.CommandContext(ctx, testbuild.Jupyter(t), "-c", "import nbformat, sys; nbformat.validate(nbformat.read(sys.argv[1], as_version=4))", saved[0])
	if said, err := check.CombinedOutput(); err != nil {
		t.Errorf("the notebook is not one: %v: %s", err, said)
	}
}

// scoped: ScopedSandbox.start(), serve(expose_as="library"), and a call.
func (s *seeds) scoped(t *testing.T) {
	s.file(t, "interface.py", "@expose\ndef get_model_info() -> dict:\n    return {'layers': 26}\n")
	sandbox := s.up(t, "name: scoped\n", engine.UpOptions{})
	tools, err := sandbox.Serve(t.Context(), engine.ServeOptions{File: filepath.Join(s.dir, "interface.py"), ExposeAs: "library", Name: "model_tools"})
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]int
	if err := tools.Call(t.Context(), "get_model_info", nil, nil, &got); err != nil || got["layers"] != 26 {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := sandbox.JupyterURL(t.Context()); engine.KindOf(err) != engine.KindUnsupported {
		t.Errorf("a scoped sandbox has Jupyter: %v", err)
	}
}

// snapshots: sandbox.snapshot("after setup"), Sandbox.from_snapshot(snapshot, config).
func (s *seeds) snapshots(t *testing.T) {
	const text = "name: snapshots\nsandbox: {execution_mode: cli}\n"
	first := s.up(t, text, engine.UpOptions{})
	python(t, first, "import os; open('setup é.txt', 'w').write('done'); os.symlink('/etc/hostname', 'link')")
	saved, err := s.engine.Save(t.Context(), first.ID(), engine.SaveOptions{Name: "after-setup", Description: "after setup"})
	if err != nil {
		t.Fatal(err)
	}
	python(t, first, "import os; os.remove('setup é.txt')")
	second := s.up(t, text, engine.UpOptions{Snapshot: saved.ID})
	if got := python(t, second, "import os; print(open('setup é.txt').read(), os.readlink('link'))"); got != "done /etc/hostname" {
		t.Errorf("restored: %q", got)
	}
	if second.ID() == first.ID() {
		t.Error("they are one sandbox")
	}
}

// handle: setup_environment(config) of the staged form gives an EnvironmentHandle, and the
// agent needs only its jupyter_url.
func (s *seeds) handle(t *testing.T) {
	repo := filepath.Join(s.dir, "my-research-code")
	s.file(t, "my-research-code/lab.py", "def layers():\n    return 26\n")
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "one"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = repo
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git: %v: %s", err, out)
		}
	}
	text := "name: my-experiment\ngpu: null\nmodels: []\ngithub_repos: [\"file://" + repo + "\"]\n"
	exp, err := experiment.Parse([]byte(text), filepath.Join(s.dir, "config.yaml"), experiment.LoadOptions{Set: []string{"sandbox.isolation=" + s.kind, "sandbox.provider=local"}})
	if err != nil {
		t.Fatal(err)
	}
	sandbox, err := s.engine.Up(t.Context(), exp, engine.UpOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer sandbox.Close()
	h, err := sandbox.Environment(t.Context())
	if err != nil || h.SandboxID != sandbox.ID() || h.JupyterURL == "" || h.JupyterPort == 0 || h.JupyterToken == "" || h.Status != "running" || h.Config == nil {
		t.Errorf("the handle: %+v, %v", h, err)
	}
	again, err := s.engine.Open(t.Context(), h.SandboxID) // another program finds everything by the ID
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if url, err := again.JupyterURL(t.Context()); err != nil || url != h.JupyterURL {
		t.Errorf("reconnected: %q, %v", url, err)
	}
	s.agent(t, h.JupyterURL, "import sys; sys.path.append('/workspace/my-research-code'); import lab; print(lab.layers() + 1)", "27")
	if err := s.engine.Terminate(t.Context(), h.SandboxID); err != nil {
		t.Error(err)
	}
	ended, err := s.engine.Show(t.Context(), h.SandboxID)
	if err != nil || ended.State.Live() || ended.Environment == nil || ended.Environment.JupyterToken != "" {
		t.Errorf("after its end: %+v, %v", ended, err)
	}
}
