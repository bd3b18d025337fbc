package build

import (
	"errors"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/sdk"
)

// What cannot be installed is told with the line that asks for it.
func TestPlaceOfWhatCannotBeInstalled(t *testing.T) {
	t.Parallel()
	exp, err := experiment.Parse([]byte(`sandbox:
  python_packages:
    - einops
    - "torch==1"
  system_packages:
    - libgl1
    - nothing=1.0
  repos:
    - org/other
    - {url: org/lib, install: make it}
  image:
    commands: [make,
      make]
`), "e.yaml", experiment.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	exp.Sandbox.PythonPackages = append(exp.Sandbox.PythonPackages, "jupyterlab")
	exp.Sandbox.Implied = 1
	i := &Installation{Request: Request{Experiment: exp}}
	for said, want := range map[string]string{
		"installing Python packages failed with exit code 1: ERROR: No matching distribution found for Torch==1":                       "e.yaml:4: sandbox.python_packages.1: ",
		"installing Python packages failed with exit code 1: ERROR: No matching distribution found for jupyterlab":                     "",
		"installing Python packages failed with exit code 1: ERROR: No matching distribution found for what-torch-needs":               "",
		"installing Python packages failed with exit code 1: ERROR: Cannot install einops and torch; ERROR: ResolutionImpossible: see": "e.yaml:2: sandbox.python_packages: ",
		"installing system packages failed with exit code 100: E: Unable to locate package libgl1":                                     "e.yaml:6: sandbox.system_packages.0: ",
		"installing system packages failed with exit code 100: E: Version '1.0' for 'nothing' was not found":                           "e.yaml:7: sandbox.system_packages.1: ",
		"installing system packages failed with exit code 100: E: Unable to correct problems":                                          "e.yaml:5: sandbox.system_packages: ",
		"installing system packages failed with exit code 100: E: Unable to locate package git":                                        "",
		"the install command of lib (make it) failed with exit code 2: ERROR: No matching distribution found for torch":                "e.yaml:10: sandbox.repos.1.install: ",
		"sandbox.repos.0: there is no repository":                                                                                      "e.yaml:9: ",
		"image.commands.1 (make) failed": "e.yaml:13: sandbox.image.commands.1: ",
		"the image has no apt-get":       "",
	} {
		got := i.locate(sdk.Errorf(sdk.Invalid, "%s", said), nil)
		if place, ok := strings.CutSuffix(got.Error(), said); !ok || place != want || sdk.CodeOf(got) != sdk.Invalid {
			t.Errorf("%q", got)
		}
	}
	if lost := errors.New("installing Python packages: the connection is lost"); i.locate(lost, nil) != lost || i.locate(nil, nil) != nil {
		t.Error("not what the experiment asks for")
	}
	said := sdk.Errorf(sdk.Invalid, "installing Python packages failed with exit code 1: ERROR: In --require-hashes mode, all requirements must have their versions pinned with ==")
	if got := i.locate(said, nil); !strings.HasPrefix(got.Error(), "e.yaml:2: sandbox.python_packages: ") {
		t.Errorf("%q", got)
	}

	if got := i.locate(said, &layer{at: basePath}); got != said {
		t.Errorf("of what only Seer asks for: %q", got)
	}
}
