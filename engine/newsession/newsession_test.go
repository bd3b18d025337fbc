package newsession_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/newsession"
	"github.com/seer-engine/seer/engine/notebook"
	"github.com/seer-engine/seer/engine/repl"
	"github.com/seer-engine/seer/engine/surface"
	"github.com/seer-engine/seer/engine/workspace"
	"github.com/seer-engine/seer/internal/testbuild"
	"github.com/seer-engine/seer/internal/testengine"
	"github.com/seer-engine/seer/internal/testkit"
)

var installed testengine.Installation

func TestMain(m *testing.M) { testengine.Main(m, &installed) }

// files are an experiment with a model, and what a session brings. Modules in the place of the
// real ones load the model.
var files = map[string]string{
	"tiny/config.json": "{}",
	"helpers.py":       "def shout(x): return x + '!'\n",
	"torch.py":         "class dtype: pass\nclass cuda:\n    @staticmethod\n    def is_available(): return False\n",
	"transformers.py": `
__version__ = "5.0"
class AutoConfig:
    architectures = []
    @classmethod
    def from_pretrained(cls, path, **options): return cls()
class AutoModelForCausalLM:
    numel = dtype = device = lambda self: 0
    @classmethod
    def from_pretrained(cls, path, **options):
        made = cls()
        made.path = path
        return made
    def to(self, device): return self
    def eval(self): pass
    def parameters(self): return iter([self, self])
`,
	"skill/SKILL.md":   "---\nname: probing\ndescription: How to probe.\n---\nProbe.\n",
	"data/numbers":     "1 2 3",
	"other/helpers.py": "def shout(x): return x + '?'\n",
}

// sandbox starts one without loading its models, and returns the folder with the files.
func sandbox(t *testing.T, mode string, change ...func(*engine.Options)) (*engine.Engine, *engine.Sandbox, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "an experiment é")
	testkit.WriteFiles(t, dir, files)
	text := "sandbox: {provider: local, timeout: 600, models: [./tiny], execution_mode: " + mode + "}\nworkspace: {preload_models: false}\n"
	exp, err := experiment.Parse([]byte(text), filepath.Join(dir, "seer.yaml"), experiment.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	e := installed.Engine(t, change...)
	s, err := e.Up(t.Context(), exp, engine.UpOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Terminate(context.Background()) })
	return e, s, dir
}

// contents are what the session brings: libraries of the folder, and init.
func contents(t *testing.T, dir, init string, libraries ...string) workspace.Workspace {
	t.Helper()
	sources := workspace.Sources{
		Skills: []string{dir + "/skill"}, Dirs: []string{dir + "/data"}, Init: init, PreloadModels: true, HiddenModelLoading: true,
	}
	for _, l := range libraries {
		sources.Libraries = append(sources.Libraries, filepath.Join(dir, l))
	}
	w, err := workspace.Load(sources)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

var loaders = []string{"torch.py", "transformers.py", "helpers.py"}

func refused(t *testing.T, what string, err error, kind engine.Kind, words string) {
	t.Helper()
	if engine.KindOf(err) != kind || !strings.Contains(err.Error(), words) {
		t.Errorf("%s: %s, %v", what, engine.KindOf(err), err)
	}
}

func TestCLI(t *testing.T) {
	t.Parallel()
	_, s, dir := sandbox(t, "cli")
	agent := filepath.Join(t.TempDir(), "agent")
	o := engine.SessionOptions{Contents: contents(t, dir, "ready = 7", loaders...), Dir: agent, Seer: "/bin/seer"}
	made, err := s.NewSession(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if made.Name != "cli" || !strings.Contains(made.Prompt, "shout(x)") || made.Env["PYTHONPATH"] != agent ||
		strings.Join(made.MCPServers["sandbox"].Args, " ") != "mcp --shell "+agent+"/"+s.ID()+"-cli.session.json --files "+agent {
		t.Errorf("%+v", made)
	}
	said, err := repl.Execute(t.Context(), s.Runtime(), repl.Python{}, "import helpers; print(ready, model.path, tokenizer, helpers.shout('a'), open('data/numbers').read())")
	if err != nil || said != "7 /models/tiny None a! 1 2 3\n" {
		t.Errorf("%q, %v", said, err)
	}
	for _, name := range []string{"data/numbers", ".claude/skills/probing/SKILL.md", ".agents/skills/probing/SKILL.md"} {
		if _, err := os.Stat(filepath.Join(agent, name)); err != nil {
			t.Error(err)
		}
	}
	key, err := client.ReadSession(made.KeyFile)
	if err != nil {
		t.Fatal(err)
	}
	c, err := key.Client()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Files().Stat(t.Context(), "/workspace/helpers.py"); err != nil {
		t.Error(err)
	}
	more(t, s, dir, o)
	if err := s.EndSession(t.Context(), "cli"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Files().Stat(t.Context(), "/workspace/helpers.py"); engine.KindOf(err) != engine.KindUnauthorized {
		t.Errorf("with the key of a session that has ended: %v", err)
	}
	o.Contents, o.Dir = contents(t, dir, "ready = 8", "helpers.py"), "" // nothing is as another session needs it
	if _, err := s.NewSession(t.Context(), o); err != nil {
		t.Error(err)
	}
}

// more are further sessions of the sandbox: one that fits shares the variables.
func more(t *testing.T, s *engine.Sandbox, dir string, o engine.SessionOptions) {
	t.Helper()
	if _, err := repl.Execute(t.Context(), s.Runtime(), repl.Python{}, "mine = 1"); err != nil {
		t.Fatal(err)
	}
	o.Dir = filepath.Join(t.TempDir(), "second")
	second, err := s.NewSession(t.Context(), o)
	if err != nil || second.Name != "cli-2" {
		t.Errorf("a second one: %+v, %v", second, err)
	}
	if said, err := repl.Execute(t.Context(), s.Runtime(), repl.Python{}, "print(mine)"); err != nil || said != "1\n" {
		t.Errorf("the variables are lost: %q, %v", said, err)
	}
	for what, c := range map[string]struct {
		change func(*engine.SessionOptions)
		kind   engine.Kind
		words  string
	}{
		"name":    {func(o *engine.SessionOptions) { o.Name = "cli" }, engine.KindConflict, "has a session cli already"},
		"no name": {func(o *engine.SessionOptions) { o.Name = "../x" }, engine.KindConfig, `cannot have the name "../x"`},
		"mode":    {func(o *engine.SessionOptions) { o.Kind = workspace.Notebook }, engine.KindUnsupported, "was started for cli sessions"},
		"kind":    {func(o *engine.SessionOptions) { o.Kind = "web" }, engine.KindConfig, "not a kind of session"},
		"init":    {func(o *engine.SessionOptions) { o.Contents = contents(t, dir, "ready = 8", loaders...) }, engine.KindConflict, "another init"},
		"clash":   {func(o *engine.SessionOptions) { o.Contents = contents(t, dir, "ready = 7", "other/helpers.py") }, engine.KindConflict, "/workspace/helpers.py is in the sandbox"},
		"folder":  {func(o *engine.SessionOptions) { o.Dir = "relative" }, engine.KindConfig, "not absolute"},
	} {
		bad := o
		bad.Name = "bad"
		c.change(&bad)
		_, err := s.NewSession(t.Context(), bad)
		refused(t, what, err, c.kind, c.words)
	}
	if err := s.EndSession(t.Context(), second.Name); err != nil {
		t.Error(err)
	}
	mine := filepath.Join(t.TempDir(), "mine")
	testkit.WriteFiles(t, mine, map[string]string{"data/numbers": "4"})
	o.Dir = mine
	_, err = s.NewSession(t.Context(), o)
	refused(t, "a file of the user's", err, engine.KindConflict, `"data/numbers" would be replaced`)
}

func TestNotebook(t *testing.T) {
	t.Parallel()
	env := func(name string) (string, bool) {
		if name == "SEER_PYTHON" {
			return testbuild.Jupyter(t), true
		}
		return os.LookupEnv(name)
	}
	_, s, dir := sandbox(t, "notebook", func(o *engine.Options) { o.LookupEnv = env })
	nb, err := s.Notebook(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer nb.Close()
	bad := engine.SessionOptions{Contents: contents(t, dir, "1 / 0", loaders...)}
	_, err = s.NewSession(t.Context(), bad)
	refused(t, "init that fails", err, engine.KindConfig, "ZeroDivisionError")
	made, err := s.NewSession(t.Context(), engine.SessionOptions{Contents: contents(t, dir, "ready = 7", loaders...), Dir: t.TempDir(), Seer: "/bin/seer"})
	if err != nil {
		t.Fatal(err)
	}
	url, err := s.JupyterURL(t.Context())
	server := made.MCPServers["notebook"]
	if err != nil || made.Name != "notebook" || made.JupyterURL != url || server.Env["SEER_JUPYTER_URL"] != url || server.Args[2] != "env:SEER_JUPYTER_URL" {
		t.Errorf("%+v, %v", made, err)
	}
	for range 2 { // the prepared kernel, and one more
		session, _, err := nb.StartSession(t.Context(), notebook.NewSession{Mode: notebook.New})
		if err != nil {
			t.Fatal(err)
		}
		run, err := nb.AddCell(t.Context(), session.ID, notebook.NewCell{Type: "code", Source: "import helpers; print(ready, model.path, helpers.shout('a'))", Run: true})
		if err != nil {
			t.Fatal(err)
		}
		done, err := nb.Wait(t.Context(), run.Execution.ID)
		if err != nil {
			t.Fatal(err)
		}
		text, _, err := nb.Text(t.Context(), done.ID, 0, done.TextBytes)
		if err != nil || string(text) != "7 /models/tiny a!\n" {
			t.Errorf("%q, %+v, %v", text, done.Error, err)
		}
	}
}

// What is served imports the libraries of a session that came before.
func TestScoped(t *testing.T) {
	t.Parallel()
	_, s, dir := sandbox(t, "null")
	_, err := s.NewSession(t.Context(), engine.SessionOptions{Contents: contents(t, dir, "x = 1")})
	refused(t, "init", err, engine.KindUnsupported, "has no Python that init could run in")
	made, err := s.NewSession(t.Context(), engine.SessionOptions{Contents: contents(t, dir, "", "helpers.py")})
	if err != nil || made.Kind != workspace.Local || made.MCPServers != nil {
		t.Fatalf("%+v, %v", made, err)
	}
	testkit.WriteFiles(t, dir, map[string]string{"interface.py": "import helpers\n@expose\ndef f(x: str) -> str:\n    return helpers.shout(x)\n"})
	v, err := s.Serve(t.Context(), engine.ServeOptions{File: filepath.Join(dir, "interface.py")})
	if err != nil {
		t.Fatal(err)
	}
	var said string
	if err := v.Call(t.Context(), "f", []any{"a"}, nil, &said); err != nil || said != "a!" {
		t.Errorf("%q, %v", said, err)
	}
	if err := s.Terminate(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err = s.NewSession(t.Context(), engine.SessionOptions{})
	refused(t, "a sandbox that has ended", err, engine.KindNotFound, "has ended")
}

// A workspace that tells the name of a hidden model is not brought.
func TestHidden(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testkit.WriteFiles(t, dir, map[string]string{
		"quagmire-9b/config.json": `{"model_type": "llama"}`, "telling.py": "name = 'Quagmire-9b'\n", "helpers.py": "x = 1\n",
	})
	text := "sandbox: {provider: local, timeout: 600, execution_mode: cli, models: [{name: ./quagmire-9b, hidden: true}]}\nworkspace: {preload_models: false}\n"
	exp, err := experiment.Parse([]byte(text), filepath.Join(dir, "seer.yaml"), experiment.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := installed.Engine(t).Up(t.Context(), exp, engine.UpOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Terminate(context.Background()) }()
	w, err := workspace.Load(workspace.Sources{Libraries: []string{dir + "/telling.py"}})
	if err != nil {
		t.Fatal(err)
	}
	var found *engine.HiddenError
	if _, err := s.NewSession(t.Context(), engine.SessionOptions{Contents: w}); !errors.As(err, &found) {
		t.Errorf("in a library: %v", err)
	}
	w = workspace.Workspace{Init: "kept = 'quag' + 'mire-9b'; import os; os.environ['KEPT'] = kept"}
	if _, err := s.NewSession(t.Context(), engine.SessionOptions{Contents: w}); !errors.As(err, &found) {
		t.Errorf("in the environment of the interpreter: %v", err)
	}
	if _, err := s.NewSession(t.Context(), engine.SessionOptions{Name: "fine"}); err != nil {
		t.Error(err)
	}
}

func TestLocal(t *testing.T) {
	t.Parallel()
	dir, agent := t.TempDir(), filepath.Join(t.TempDir(), "agent")
	testkit.WriteFiles(t, dir, files)
	records := surface.Records{Dir: t.TempDir()}
	o := newsession.Options{Contents: contents(t, dir, "", "helpers.py"), Dir: agent}
	for range 2 { // the second time over its own files
		made, err := newsession.Local(t.Context(), o, records)
		if err != nil || made.Name != "local" || !strings.Contains(made.Prompt, "shout(x)") || made.Env["PYTHONPATH"] != agent {
			t.Fatalf("%+v, %v", made, err)
		}
	}
	if _, err := os.Stat(filepath.Join(agent, "helpers.py")); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(agent, "helpers.py"), []byte("changed"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := newsession.Local(t.Context(), o, records)
	refused(t, "a changed file", err, engine.KindConflict, `"helpers.py" would be replaced`)
	o.Contents.Init = "x"
	_, err = newsession.Local(t.Context(), o, records)
	refused(t, "init", err, engine.KindUnsupported, "init")
}
