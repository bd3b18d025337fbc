package experiment_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/experiment"
)

func TestTemplateLoadsAndItsInterfaceRuns(t *testing.T) {
	for _, kind := range experiment.TemplateKinds() {
		files, err := experiment.Template(kind)
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		exp := load(t, filepath.Join(dir, "seer.yaml"))
		paths := append(exp.Workspace.Libraries, exp.Workspace.Files...)
		for _, s := range exp.Serve {
			paths = append(paths, s.File)
		}
		for _, path := range paths {
			if _, err := os.Stat(path); err != nil {
				t.Errorf("the template names a file that it does not write: %v", err)
			}
		}
		if mode := map[string]string{"scoped": ""}; exp.Sandbox.ExecutionMode != kind && exp.Sandbox.ExecutionMode != mode[kind] {
			t.Errorf("%s has the mode %q", kind, exp.Sandbox.ExecutionMode)
		}
		if kind != "scoped" {
			continue // cmd/seer runs them all
		}
		// The agent runs against the interface itself, as `import model_tools` would
		// give it in the sandbox.
		program := "import builtins, importlib.util as u, sys\nbuiltins.expose = lambda f: f\n" +
			"spec = u.spec_from_file_location('model_tools', 'interface.py'); m = u.module_from_spec(spec)\n" +
			"spec.loader.exec_module(m); sys.modules['model_tools'] = m\nexec(open('agent.py').read(), {'__name__': '__main__'})\n"
		cmd := exec.Command("python3", "-c", program)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "the cat 0.40") {
			t.Errorf("%v: %s", err, out)
		}
	}
}

func TestUnknownTemplate(t *testing.T) {
	for _, kind := range []string{"", ".", "..", "nothing", "scoped/.."} {
		if _, err := experiment.Template(kind); err == nil || !strings.Contains(err.Error(), "use scoped") {
			t.Errorf("%q: got %v", kind, err)
		}
	}
}
