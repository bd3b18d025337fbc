package program

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

const versionScript = "#!/bin/sh\necho agent 1.2.3\n"

// computer is a home with programs.
type computer struct {
	t    *testing.T
	home string
	env  map[string]string
}

func newComputer(t *testing.T) *computer {
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &computer{t: t, home: home, env: map[string]string{"HOME": home}}
}

func (c *computer) file(path, text string) string {
	c.t.Helper()
	full := filepath.Join(c.home, path)
	return testkit.WriteProgram(c.t, full, text)
}

func (c *computer) link(path, target string) string {
	c.t.Helper()
	full := filepath.Join(c.home, path)
	if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
		c.t.Fatal(err)
	}
	if err := os.Symlink(target, full); err != nil {
		c.t.Fatal(err)
	}
	return full
}

func (c *computer) find(name string) Program {
	c.t.Helper()
	p, err := Find(c.t.Context(), name, func(key string) string { return c.env[key] })
	if err != nil {
		c.t.Fatal(err)
	}
	return p
}

func (c *computer) fails(name string) error {
	c.t.Helper()
	p, err := Find(c.t.Context(), name, func(key string) string { return c.env[key] })
	if err == nil {
		c.t.Fatalf("found %+v", p)
	}
	return err
}

// in makes paths below the home absolute.
func (c *computer) in(paths ...string) []string {
	for i, p := range paths {
		paths[i] = filepath.Join(c.home, p)
	}
	slices.Sort(paths)
	return paths
}

func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, and not %q", what, got, want)
	}
}

func TestNodeProgramOfNvm(t *testing.T) {
	c := newComputer(t)
	for _, v := range []string{"v9.1.0", "v22.3.0"} {
		base := ".nvm/versions/node/" + v
		c.file(base+"/bin/node", versionScript)
		c.file(base+"/lib/node_modules/@acme/agent/bin/agent.js", "#!/usr/bin/env -S node --no-warnings\n")
		c.file(base+"/lib/node_modules/@acme/agent/package.json", `{"name": "@acme/agent", "version": "0.5.1"}`)
		c.link(base+"/bin/agent", "../lib/node_modules/@acme/agent/bin/agent.js")
	}
	p := c.find("agent")
	base := filepath.Join(c.home, ".nvm/versions/node/v22.3.0")
	if p.Path != base+"/bin/agent" || p.Real != base+"/lib/node_modules/@acme/agent/bin/agent.js" {
		t.Errorf("found %s, which is %s", p.Path, p.Real)
	}
	// The fake node is a script of /bin/sh, which the system has.
	same(t, "command", p.Argv, []string{"/bin/sh", base + "/bin/node", "--no-warnings", base + "/bin/agent"})
	same(t, "shown", p.ReadOnly, c.in(".nvm/versions/node/v22.3.0/bin/agent", ".nvm/versions/node/v22.3.0/bin/node", ".nvm/versions/node/v22.3.0/lib/node_modules"))
	if p.Version != "0.5.1" || len(p.SHA256) != 64 {
		t.Errorf("version %q, digest %q", p.Version, p.SHA256)
	}
	if !strings.HasPrefix(p.Search+":", "/bin:"+base+"/bin:") {
		t.Errorf("search path %s", p.Search)
	}
}

func TestPathComesFirst(t *testing.T) {
	c := newComputer(t)
	c.file(".local/bin/agent", versionScript)
	mine := c.file("mine/agent", versionScript)
	c.env["PATH"] = "relative:" + filepath.Join(c.home, "mine")
	if p := c.find("agent"); p.Path != mine {
		t.Errorf("found %s", p.Path)
	}
}

func TestFoldersOfPackageManagers(t *testing.T) {
	for _, path := range []string{".npm-global/bin", ".local/bin", ".claude/local/node_modules/.bin", ".opencode/bin",
		".local/share/fnm/node-versions/v20.0.0/installation/bin", ".volta/tools/image/packages/@acme/agent/bin", ".volta/tools/image/packages/agent/bin",
		".local/share/mise/installs/node/22.1.0/bin", ".bun/bin", ".local/share/pnpm", ".local/share/pipx/venvs/agent/bin", ".local/share/uv/tools/agent/bin"} {
		c := newComputer(t)
		want := c.file(path+"/agent", versionScript)
		if p := c.find("agent"); p.Path != want {
			t.Errorf("%s: found %s", path, p.Path)
		}
	}
}

func TestShimIsPassedOver(t *testing.T) {
	c := newComputer(t)
	c.file(".volta/bin/volta-shim", versionScript)
	c.link(".volta/bin/agent", "volta-shim")
	want := c.file(".volta/tools/image/packages/agent/bin/agent", versionScript)
	c.env["PATH"] = filepath.Join(c.home, ".volta/bin")
	if p := c.find("agent"); p.Path != want {
		t.Errorf("found %s", p.Path)
	}
}

func TestFolderOfShimsIsPassedOver(t *testing.T) {
	c := newComputer(t)
	c.file(".pyenv/shims/agent", "#!/bin/sh\nexec pyenv exec agent\n")
	want := c.file("bin/agent", versionScript)
	c.env["PATH"] = filepath.Join(c.home, ".pyenv/shims") + ":" + filepath.Join(c.home, "bin")
	if p := c.find("agent"); p.Path != want {
		t.Errorf("found %s", p.Path)
	}
}

func TestOneFileIsShownAlone(t *testing.T) {
	c := newComputer(t)
	c.file(".local/share/claude/versions/2.1.0", "\x7fELF")
	c.link(".local/bin/agent", "../share/claude/versions/2.1.0")
	p := c.find("agent")
	same(t, "shown", p.ReadOnly, c.in(".local/bin/agent", ".local/share/claude/versions/2.1.0"))
	same(t, "command", p.Argv, c.in(".local/bin/agent"))
	if p.Version != "" {
		t.Errorf("version %q of a file in no package", p.Version)
	}
}

func TestLinksOfFoldersAreFollowed(t *testing.T) {
	c := newComputer(t)
	c.file("disk/tools/v2/agent", "\x7fELF")
	c.link("disk/current", "tools/v2/../v2")
	c.link("tools", filepath.Join(c.home, "disk"))
	c.env["PATH"] = filepath.Join(c.home, "tools/current")
	p := c.find("agent")
	if want := filepath.Join(c.home, "disk/tools/v2/agent"); p.Real != want {
		t.Errorf("real file %s", p.Real)
	}
	same(t, "shown", p.ReadOnly, c.in("disk/current", "disk/tools/v2/agent", "tools"))
}

func TestPnpm(t *testing.T) {
	c := newComputer(t)
	c.file(".local/share/pnpm/agent", "#!/bin/sh\nexec node global/5/node_modules/agent/cli.js\n")
	c.file(".local/share/pnpm/global/5/.pnpm/agent@1/node_modules/agent/cli.js", "")
	node := c.file(".nvm/versions/node/v22.0.0/bin/node", "\x7fELF")
	p := c.find("agent")
	same(t, "shown", p.ReadOnly, c.in(".local/share/pnpm/agent", ".local/share/pnpm/global", ".nvm/versions/node/v22.0.0/bin/node"))
	if !strings.Contains(p.Search, filepath.Dir(node)) {
		t.Errorf("search path %s", p.Search)
	}
}

func TestVirtualEnvironment(t *testing.T) {
	python := "/usr/bin/python3"
	if _, err := os.Stat(python); err != nil {
		t.Skip("the system has no Python")
	}
	c := newComputer(t)
	venv := ".local/share/pipx/venvs/agent"
	c.file(venv+"/pyvenv.cfg", "home = /usr/bin\n")
	c.link(venv+"/bin/python", python)
	c.file(venv+"/bin/agent", "#!"+filepath.Join(c.home, venv, "bin/python")+"\n")
	c.link(".local/bin/agent", "../share/pipx/venvs/agent/bin/agent")
	p := c.find("agent")
	same(t, "command", p.Argv, []string{filepath.Join(c.home, venv, "bin/python"), filepath.Join(c.home, ".local/bin/agent")})
	same(t, "shown", p.ReadOnly, c.in(".local/bin/agent", venv))

	p = c.find(filepath.Join(c.home, venv, "bin/python"))
	same(t, "command of the interpreter", p.Argv, []string{filepath.Join(c.home, venv, "bin/python")})
	same(t, "shown of the interpreter", p.ReadOnly, c.in(venv))
}

func TestWholeHomeIsNotShown(t *testing.T) {
	c := newComputer(t)
	c.file("pyvenv.cfg", "home = /usr/bin\n")
	c.file("bin/agent", "\x7fELF")
	if err := c.fails("agent"); sdk.CodeOf(err) != sdk.Unsupported || !strings.Contains(err.Error(), c.home) {
		t.Errorf("%v", err)
	}
}

func TestAbsent(t *testing.T) {
	c := newComputer(t)
	c.file(".local/bin/other", versionScript)
	if err := os.WriteFile(filepath.Join(c.home, ".local/bin/agent"), nil, 0o600); err != nil { // not executable
		t.Fatal(err)
	}
	err := c.fails("agent")
	var missing *NotFoundError
	if !errors.As(err, &missing) || !slices.Contains(missing.Looked, filepath.Join(c.home, ".local/bin")) || sdk.CodeOf(err) != sdk.NotFound {
		t.Errorf("%v", err)
	}
	if err := c.fails("/no/such/agent"); sdk.CodeOf(err) != sdk.NotFound || !strings.Contains(err.Error(), "/no/such/agent") {
		t.Errorf("%v", err)
	}
	c.fails("")
}

func TestBrokenScripts(t *testing.T) {
	testkit.WantErrors(t, func(text string) error {
		c := newComputer(t)
		c.file(".local/bin/agent", text)
		return c.fails("agent")
	}, map[string]string{
		"#!/no/such/interpreter\n":                  "/no/such/interpreter",
		"#!/usr/bin/env no-such-interpreter\n":      "no-such-interpreter",
		"#!\n":                                      "names no interpreter",
		"#!/usr/bin/env\n":                          "names no interpreter",
		"#!" + strings.Repeat("x", 10_000):          "has no end",
		"#!/usr/bin/env -S A=1 no-such-interpreter": "no-such-interpreter",
	})
	c := newComputer(t)
	c.link(".local/bin/agent", "agent")
	c.fails("agent")
	c.file("loop/agent", "#!"+filepath.Join(c.home, "loop/agent")+"\n")
	if err := c.fails(filepath.Join(c.home, "loop/agent")); !strings.Contains(err.Error(), "script of a script") {
		t.Errorf("%v", err)
	}
}

func TestAskVersion(t *testing.T) {
	for text, want := range map[string]string{
		versionScript: "1.2.3",
		"#!/bin/sh\necho \"v2.0.0-beta.1 (Agent)\" >&2\n":        "2.0.0-beta.1",
		"#!/bin/sh\ntest -z \"$SECRET\" && echo $1 7.1\n":        "7.1",
		"#!/bin/sh\nyes 'no version' | head -c 1000000\n":        "",
		"#!/bin/sh\necho 1.2.3; echo it is broken >&2; exit 3\n": "",
	} {
		c := newComputer(t)
		t.Setenv("SECRET", "value")
		c.file(".local/bin/agent", text)
		got, err := c.find("agent").AskVersion(t.Context(), "--version")
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: version %q, %v", text, got, err)
		}
	}
}
