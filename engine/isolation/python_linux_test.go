package isolation

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

func environment(env map[string]string) func(string) string {
	return func(name string) string { return env[name] }
}

// interpreters are Pythons in a home that is hidden inside.
var interpreters = map[string]func(t *testing.T, home string) string{
	"venv": func(t *testing.T, home string) string {
		dir := filepath.Join(home, "my venv")
		if out, err := exec.Command("/usr/bin/python3", "-m", "venv", "--without-pip", dir).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return filepath.Join(dir, "bin", "python3")
	},
	"own prefix": func(t *testing.T, home string) string {
		real, err := filepath.EvalSymlinks("/usr/bin/python3")
		if err != nil {
			t.Fatal(err)
		}
		program, err := os.ReadFile(real)
		if err != nil {
			t.Fatal(err)
		}
		version := filepath.Base(real)
		bin, lib := filepath.Join(home, "py", "bin"), filepath.Join(home, "py", "lib")
		for _, dir := range []string{bin, lib} {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(bin, version), program, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("/usr/lib/"+version, filepath.Join(lib, version)); err != nil {
			t.Fatal(err)
		}
		link := filepath.Join(home, "links", "python")
		if err := os.Mkdir(filepath.Dir(link), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("../py/bin/"+version, link); err != nil {
			t.Fatal(err)
		}
		return link
	},
}

func TestPythonInAHiddenHome(t *testing.T) {
	each(t, pythonInAHiddenHome)
}

func pythonInAHiddenHome(t *testing.T, kind string) {
	for name, install := range interpreters {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			if err := os.WriteFile(filepath.Join(home, "secret"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
			asked := install(t, home)
			p, err := Python(context.Background(), environment(map[string]string{"SEER_PYTHON": asked, "HOME": home}))
			if err != nil {
				t.Fatal(err)
			}
			if len(p.Paths) == 0 || !strings.HasPrefix(p.Executable, home) || !strings.HasPrefix(p.Version, "3.") {
				t.Errorf("found %+v", p)
			}
			cmd, err := prepare(t, kind, Spec{
				Argv: []string{p.Executable, "-I", "-c", "import json, ssl, sys, os; print(sys.prefix); print(os.path.exists(sys.argv[1]))", filepath.Join(home, "secret")},
				Env:  map[string]string{"PATH": "/usr/bin"}, ReadOnly: p.Paths,
			})
			if err != nil {
				t.Fatal(err)
			}
			defer Release(cmd)
			out, err := cmd.CombinedOutput()
			if got := strings.Fields(strings.ReplaceAll(string(out), "my venv", "my_venv")); err != nil || len(got) != 2 || !strings.HasPrefix(got[0], home) || got[1] != "False" {
				t.Errorf("inside: %s %v", out, err)
			}
		})
	}
}

func TestPythonBelowAFolderOfTheSandbox(t *testing.T) { each(t, pythonBelowAFolderOfTheSandbox) }

func pythonBelowAFolderOfTheSandbox(t *testing.T, kind string) {
	home := t.TempDir()
	p, err := Python(context.Background(), environment(map[string]string{"SEER_PYTHON": interpreters["venv"](t, home), "HOME": home}))
	if err != nil {
		t.Fatal(err)
	}
	own := t.TempDir()
	cmd, err := prepare(t, kind, Spec{
		Argv: []string{p.Executable, "-I", "-c", "import json, os, sys; print(os.access(sys.argv[1], os.W_OK), os.listdir(sys.argv[1]))", filepath.Dir(home)},
		Env:  map[string]string{"PATH": "/usr/bin"}, ReadOnly: p.Paths,
		Mounts: []sdk.Mount{{Source: own, Target: filepath.Dir(home), Writable: true}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer Release(cmd)
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "True ['"+filepath.Base(home)+"']\n" {
		t.Errorf("inside: %s %v", out, err)
	}
}

func TestPythonOfTheSystemIsFirst(t *testing.T) {
	p, err := Python(context.Background(), environment(map[string]string{"PATH": "/nowhere"}))
	if err != nil || p.Executable != "/usr/bin/python3" || len(p.Paths) != 0 {
		t.Errorf("found %+v, %v", p, err)
	}
	named, err := Python(context.Background(), environment(map[string]string{"SEER_PYTHON": "python3", "PATH": "/nowhere:/usr/bin"}))
	if err != nil || named.Version != p.Version {
		t.Errorf("found %+v, %v", named, err)
	}
}

func TestPythonThatCannotBeUsed(t *testing.T) {
	dir := t.TempDir()
	script := func(name, text string) string {
		path := filepath.Join(dir, name)
		testkit.WriteProgram(t, path, "#!/bin/sh\n"+text+"\n")
		return path
	}
	answer := func(version, prefix string) string {
		return `echo '{"executable":"/x/python3","version":"` + version + `","paths":["` + prefix + `"]}'`
	}
	for name, tc := range map[string]struct {
		python string
		code   sdk.Code
		text   string
	}{
		"not there":    {filepath.Join(dir, "none"), sdk.Invalid, "does not work"},
		"not in PATH":  {"python-none", sdk.NotFound, "not in the PATH"},
		"not a Python": {script("echo", "echo hello"), sdk.Invalid, "does not answer like a Python"},
		"fails":        {script("fails", "echo broken >&2; exit 3"), sdk.Invalid, "broken"},
		"too old":      {script("old", answer("3.7.9", "/usr")), sdk.Unsupported, "3.8 or newer"},
		"two":          {script("two", answer("2.7.18", "/usr")), sdk.Unsupported, "3.8 or newer"},
		"whole home":   {script("home", answer("3.12.1", dir)), sdk.Unsupported, "would show everything"},
		"whole system": {script("root", answer("3.12.1", "/")), sdk.Unsupported, "would show everything"},
	} {
		_, err := Python(context.Background(), environment(map[string]string{"SEER_PYTHON": tc.python, "HOME": dir, "PATH": "/usr/bin:/bin"}))
		if sdk.CodeOf(err) != tc.code || !strings.Contains(err.Error(), tc.text) {
			t.Errorf("%s: %s, %v", name, sdk.CodeOf(err), err)
		}
	}
}

func TestVisiblePaths(t *testing.T) {
	got, err := visiblePaths("/home/u/env/bin/python", []string{"/home/u/env", "/home/u/env", "/usr", "/opt/py", "/opt/py/lib/python3.9"}, "/home/u")
	if err != nil || strings.Join(got, " ") != "/home/u/env /opt/py" {
		t.Errorf("%v, %v", got, err)
	}
	for _, home := range []string{"/home/u", "/home/u/"} {
		for _, prefix := range []string{"/home/u", "/home", "/"} {
			if got, err := visiblePaths("/x", []string{prefix}, home); err == nil {
				t.Errorf("%s with the home %s: %v", prefix, home, got)
			}
		}
	}
}
