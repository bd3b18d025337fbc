// Package testbuild gives tests the artifacts of a real installation: the
// runtime and the built-in plugins.
package testbuild

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
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
	if err := buildRuntime(top, a.Runtime); err != nil {
		return a, err
	}
	return a, build(top, "scripts/build-plugins", a.Plugins)
}

// Runtime is [Build] of the runtime alone; it returns the folder.
func Runtime(dir string) (string, error) {
	if bin := os.Getenv("SEER_TEST_BIN"); bin != "" {
		return filepath.Join(bin, "runtime"), nil
	}
	top, err := Top()
	if err != nil {
		return "", err
	}
	return dir, buildRuntime(top, dir)
}

// Kube is [Runtime], with seer-kube beside it.
func Kube(dir string) (string, error) {
	dir, err := Runtime(dir)
	if err != nil || os.Getenv("SEER_TEST_BIN") != "" {
		return dir, err
	}
	top, err := Top()
	if err != nil {
		return "", err
	}
	return dir, buildProgram(top, dir, "seer-kube", "./engine/kube/seer-kube")
}

func buildRuntime(top, dir string) error {
	return buildProgram(top, dir, "seer-runtime", "./engine/runtime/seer-runtime")
}

func buildProgram(top, dir, name, source string) error {
	binary := filepath.Join(dir, name+"-"+runtime.GOOS+"-"+runtime.GOARCH)
	return build(top, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", binary, source)
}

func build(top string, argv ...string) error {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = top
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%v: %w\n%s", argv, err, out)
	}
	return nil
}

// Warm puts what the built-in plugins become into a cache folder of the program, where
// `make compiled` has made that in a finished build ($SEER_TEST_BIN). It reports whether
// there was some; without it, the program compiles each plugin when it first needs it.
func Warm(cache string) (bool, error) {
	bin := os.Getenv("SEER_TEST_BIN")
	from := filepath.Join(bin, "cache", "installed")
	if _, err := os.Stat(from); bin == "" || errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return true, os.CopyFS(cache, os.DirFS(from))
}

// Builtins are the digests of the built-in plugins, by id, as the program knows them.
func (a Artifacts) Builtins() (map[string]string, error) {
	files, err := filepath.Glob(filepath.Join(a.Plugins, "*.wasm"))
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("no plugin in %s", a.Plugins)
	}
	if err != nil {
		return nil, err
	}
	known := map[string]string{}
	for _, file := range files {
		code, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(code)
		known[strings.TrimSuffix(filepath.Base(file), ".wasm")] = "sha256:" + hex.EncodeToString(sum[:])
	}
	return known, nil
}

// Seer puts the program to the given path: that of the finished build, or one built now for
// these plugins.
func (a Artifacts) Seer(path string) error {
	if bin := os.Getenv("SEER_TEST_BIN"); bin != "" {
		built := filepath.Join(bin, "seer")
		if path == built {
			return nil
		}
		data, err := os.ReadFile(built)
		if err != nil {
			return err
		}
		return os.WriteFile(path, data, 0o755)
	}
	known, err := a.Builtins()
	if err != nil {
		return err
	}
	var pairs []string
	for id, digest := range known {
		pairs = append(pairs, id+"="+digest)
	}
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w -X main.builtins="+strings.Join(pairs, ","), "-o", path, "github.com/seer-engine/seer/cmd/seer")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build seer: %w\n%s", err, out)
	}
	return nil
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

// Jupyter is a Python that has the packages of Jupyter.
func Jupyter(t testing.TB) string {
	t.Helper()
	top, err := Top()
	if err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(top, ".tools/jupyter-*/bin/python"))
	if err != nil || len(found) == 0 {
		t.Fatal("no Python with Jupyter in .tools; run scripts/setup test")
	}
	return found[len(found)-1]
}
