// Package testbuild gives tests the artifacts of a real installation: the
// runtime and the built-in plugins.
package testbuild

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// Artifacts is an installation's folders.
type Artifacts struct {
	Runtime string // holds seer-runtime-<os>-<arch>
	Plugins string // holds the built-in plugins
}

// Build makes the artifacts below dir from the working tree. Where $SEER_TEST_BIN
// names the bin folder of a finished build, as `make test` sets it, that is used.
func Build(dir string) (Artifacts, error) {
	if bin := os.Getenv("SEER_TEST_BIN"); bin != "" {
		return Artifacts{filepath.Join(bin, "runtime"), filepath.Join(bin, "plugins")}, nil
	}
	top, err := Top()
	if err != nil {
		return Artifacts{}, err
	}
	a := Artifacts{filepath.Join(dir, "runtime"), filepath.Join(dir, "plugins")}
	binary := filepath.Join(a.Runtime, "seer-runtime-"+runtime.GOOS+"-"+runtime.GOARCH)
	for _, c := range [][]string{
		{"go", "build", "-trimpath", "-ldflags", "-s -w", "-o", binary, "./engine/runtime/seer-runtime"},
		{"scripts/build-plugins", a.Plugins},
	} {
		cmd := exec.Command(c[0], c[1:]...)
		cmd.Dir = top
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return a, fmt.Errorf("%v: %w\n%s", c, err, out)
		}
	}
	return a, nil
}

// Top is the module's folder.
func Top() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		if _, statErr := os.Stat(filepath.Join(dir, "go.mod")); statErr == nil {
			return dir, nil
		}
		if filepath.Dir(dir) == dir {
			return "", fmt.Errorf("the tests do not run inside the module")
		}
		dir = filepath.Dir(dir)
	}
	return "", err
}
