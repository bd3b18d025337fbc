package modelload_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/modelload"
)

// run runs Python code, in a folder that has the modules that it imports.
func run(t *testing.T, dir, code, stdin string, env ...string) string {
	t.Helper()
	python := os.Getenv("SEER_PYTHON")
	if python == "" {
		python = "python3"
	}
	cmd := exec.Command(python, "-c", code)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(stdin)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "PYENV_ROOT=" + os.Getenv("PYENV_ROOT")}, env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	return string(out)
}

// The whole of loader.py with real models runs in e2e/models.sh; here it has to say
// what is wrong before any library is needed for more than its name.
func TestCodeSaysWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"torch.py":        "class dtype: pass\nfloat32 = dtype()\n",
		"transformers.py": "__version__ = '5.0.0'\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	code := modelload.Code(modelload.Model{Variable: "model", Tokenizer: "tokenizer", Path: "/models/né 'x\"y\\z"})
	out := run(t, dir, "import sys\nsys.path.insert(0, '')\ntry:\n    exec(sys.stdin.read())\nexcept FileNotFoundError as e:\n    print(e)\n", code)
	if want := "/models/né 'x\"y\\z has no config.json, so transformers cannot load it as a model\n"; out != want {
		t.Errorf("got %q", out)
	}
}

// TestDevice checks what the loader asks transformers for: with accelerate the weights go
// straight to the GPU, and without it the loaded model is moved there.
func TestDevice(t *testing.T) {
	const loads = `
import json, sys, types
sys.path.insert(0, '')
asked = {}
class Parameter:
    dtype, device = 'float32', 'cuda:0'
    def numel(self): return 1
class Model:
    def parameters(self): return iter([Parameter()])
    def eval(self): pass
    def to(self, device): asked['to'] = device; return self
class Class:
    @staticmethod
    def from_pretrained(path, **options): asked['map'] = options.get('device_map'); return Model()
torch = types.ModuleType('torch')
torch.cuda = types.SimpleNamespace(is_available=lambda: GPUS > 0, device_count=lambda: GPUS)
transformers = types.ModuleType('transformers')
transformers.__version__, transformers.AutoModelForCausalLM = '5.0.0', Class
transformers.AutoConfig = types.SimpleNamespace(from_pretrained=lambda path, **own: types.SimpleNamespace(architectures=[]))
sys.modules.update(torch=torch, transformers=transformers)
sys.stdout, out = sys.stderr, sys.stdout
exec(sys.stdin.read())
print(json.dumps(asked), file=out)
`
	with, without := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{with + "/accelerate.py": "", with + "/config.json": "{}", without + "/config.json": "{}"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ dir, gpus, device, want string }{
		{with, "2", "cuda", `{"map": "cuda"}`},
		{with, "2", "cuda:1", `{"map": "cuda:1"}`},
		{with, "1", "auto", `{"map": "auto"}`},
		{with, "0", "auto", `{"map": null, "to": "cpu"}`},
		{with, "1", "cpu", `{"map": null, "to": "cpu"}`},
		{without, "1", "cuda", `{"map": null, "to": "cuda"}`},
		{without, "1", "auto", `{"map": null, "to": "cuda"}`},
	} {
		code := modelload.Code(modelload.Model{Variable: "model", Tokenizer: "tokenizer", Path: c.dir, Device: c.device})
		if out := run(t, c.dir, "GPUS = "+c.gpus+loads, code); strings.TrimSpace(out) != c.want {
			t.Errorf("device %s with %s GPUs: %s instead of %s", c.device, c.gpus, out, c.want)
		}
	}
}

func TestLook(t *testing.T) {
	code := "class C:\n    name_or_path = '/models/x'\n    def __repr__(self): return 'the repr of C'\nmodel = C()\n" + modelload.Look([]string{"model", "none"}) +
		"assert '_seer_look' not in globals()\n"
	var seen map[string]string
	if err := json.Unmarshal([]byte(run(t, t.TempDir(), code, "", "TELLING=great-model")), &seen); err != nil {
		t.Fatal(err)
	}
	if seen["model"] != "the repr of C" || seen["model.name_or_path"] != "'/models/x'" || !strings.Contains(seen["environment"], "great-model") {
		t.Errorf("seen %q", seen)
	}
	if !strings.Contains(seen["model: a wrong call"], "Traceback") {
		t.Errorf("no traceback: %q", seen["model: a wrong call"])
	}
}
