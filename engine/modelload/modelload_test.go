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
