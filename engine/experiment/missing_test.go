package experiment_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/internal/testkit"
)

func TestAModuleThatIsMissingIsToldWithItsPlace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "seer.yaml")
	if err := os.WriteFile(file, []byte("name: a\nsandbox:\n  timeout: 1m\n  python_packages: [numpy]\nworkspace:\n  libraries: [other.py]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"helpers.py", "other.py", "probes/__init__.py"} {
		path := filepath.Join(filepath.Dir(file), name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	exp := load(t, file)
	for text, want := range map[string]string{
		"ModuleNotFoundError: No module named 'einops'":              "the sandbox has no module `einops`; add `einops` to sandbox.python_packages (" + file + ":4)",
		"ModuleNotFoundError: No module named 'tqdm' (i.py, line 1)": "the sandbox has no module `tqdm`; add `tqdm` to sandbox.python_packages (" + file + ":4)", // of an interface
		"x\nModuleNotFoundError: No module named 'sklearn'":          "the sandbox has no module `sklearn`; add `scikit-learn` to sandbox.python_packages (" + file + ":4)",
		"set-up: ModuleNotFoundError: No module named 'helpers'":     "the sandbox has no module `helpers`; add `helpers.py` to workspace.libraries (" + file + ":6)",
		"ModuleNotFoundError: No module named 'probes'":              "the sandbox has no module `probes`; add `probes/` to workspace.libraries (" + file + ":6)",
		"ModuleNotFoundError: No module named 'other'": "the sandbox has no module `other`, though it is in workspace.libraries (" + file + ":6): the files of a snapshot take the place of the experiment's libraries, " +
			"and somebody in the sandbox may have removed it; start without the snapshot, or from one that has it",
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

func TestOnlyTheLastExceptionIsTheModule(t *testing.T) {
	const missing = "ModuleNotFoundError: No module named 'einops'"
	frames := func(raised string) string {
		return "Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\n    import einops\n" + raised + "\n"
	}
	during := "\nDuring handling of the above exception, another exception occurred:\n\n"
	testkit.WantEach(t, experiment.ModuleMissing, map[string]string{
		missing:         "einops",
		frames(missing): "einops",
		"run set-up: " + frames(missing) + "\nexit code 1":                                                   "einops",
		frames("ValueError: bad") + during + frames(missing):                                                 "einops",
		frames(missing) + during + frames("ImportError: install the extra"):                                  "",
		frames(missing) + during + frames("Oops: no"):                                                        "",
		frames(missing) + during + frames("SystemExit"):                                                      "",
		"ModuleNotFoundError: No module named 'sklearn.svm'":                                                 "",
		"ModuleNotFoundError: No module named 'a.b'; 'a' is not a package":                                   "",
		"ModuleNotFoundError   Traceback (most recent call last)\nCell In[1], line 1\n\n" + missing:          "einops",
		missing + "\n\nOops      Traceback (most recent call last)\nCell In[1], line 1\n\nOops: another one": "",
		"ValueError: " + missing + " was said":                                                               "",
	})
}
