package experiment_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/seer-engine/seer/engine/experiment"
)

func TestAModuleThatIsMissingIsToldWithItsPlace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "seer.yaml")
	if err := os.WriteFile(file, []byte("name: a\nsandbox:\n  timeout: 1m\n  python_packages: [numpy]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	exp := load(t, file)
	for text, want := range map[string]string{
		"ModuleNotFoundError: No module named 'einops'":         "the sandbox has no module `einops`; add `einops` to sandbox.python_packages (" + file + ":4)",
		"x\nModuleNotFoundError: No module named 'sklearn.svm'": "the sandbox has no module `sklearn`; add `scikit-learn` to sandbox.python_packages (" + file + ":4)",
	} {
		cause := errors.New(text)
		var missing *experiment.MissingModule
		if err := exp.Explain(cause); !errors.As(err, &missing) || !errors.Is(err, cause) || missing.Hint() != want || err.Error() != want+": "+text {
			t.Errorf("%q: %v", text, err)
		}
	}
	other := errors.New("ImportError: cannot import name 'x'")
	if exp.Explain(other) != other || exp.Explain(nil) != nil {
		t.Error("another error was changed")
	}
}
