package scaffold_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/plugin/scaffold"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/wasmfile"
)

// plugin is a small plugin's folder, of the kind provider for its host functions.
func plugin(t *testing.T, kind sdk.Kind) string {
	t.Helper()
	return create(t, scaffold.Options{Kind: kind, Name: "tiny", Dir: filepath.Join(t.TempDir(), "tiny")}).Dir
}

// change replaces text in a file of a plugin's folder.
func change(t *testing.T, file, from, to string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(text, []byte(from)) {
		t.Fatalf("%s has no %q", file, from)
	}
	replace(t, file, strings.Replace(string(text), from, to, 1))
}

// replace writes a file as editors do: another one takes its place.
func replace(t *testing.T, file, text string) {
	t.Helper()
	tmp := filepath.Join(filepath.Dir(file), ".swap")
	if err := os.WriteFile(tmp, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(tmp, file); err != nil {
		t.Fatal(err)
	}
}

func build(t *testing.T, dir string) (scaffold.Result, string, error) {
	t.Helper()
	var said bytes.Buffer
	r, err := scaffold.Build(t.Context(), scaffold.BuildOptions{Dir: dir, Output: &said})
	return r, said.String(), err
}

func TestNeedsAreEmbedded(t *testing.T) {
	offline(t)
	r, said, err := build(t, plugin(t, sdk.KindProvider))
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	code, err := os.ReadFile(r.Wasm)
	if err != nil {
		t.Fatal(err)
	}
	m, err := wasmfile.Parse(code)
	if err != nil {
		t.Fatal(err)
	}
	var needs sdk.Needs
	text, _ := m.Custom(sdk.NeedsSection)
	if err := json.Unmarshal(text, &needs); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if len(needs.Contract) != 1 || needs.Contract[0] != "provider/1" || needs.Seer == "" || needs.Host[sdk.HostHTTPOpen] == "" || needs.Host[sdk.HostGRPCOpen] != "" {
		t.Errorf("%+v", needs)
	}
	yaml, err := os.ReadFile(r.YAML)
	if embedded, _ := m.Custom(sdk.ManifestSection); err != nil || !bytes.Equal(embedded, yaml) {
		t.Errorf("the manifest beside the module is another one (%v)", err)
	}
}

// What is wrong is said with file and line, and nothing is written.
// What was said about other bytes does not stay beside the new ones.
func TestSignatureAndReportAreOfABuild(t *testing.T) {
	offline(t)
	dir := plugin(t, sdk.KindProvider)
	r, said, err := build(t, dir)
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	beside := []string{r.Wasm + ".sig", strings.TrimSuffix(r.Wasm, ".wasm") + ".conformance.json"}
	for _, file := range beside {
		replace(t, file, "{}")
	}
	if r, _, err = build(t, dir); err != nil || len(r.Removed) > 0 {
		t.Errorf("the same build again: %v, removed %q", err, r.Removed)
	}
	change(t, filepath.Join(dir, "plugin.yaml"), "version: 0.1.0", "version: 0.1.1")
	if r, _, err = build(t, dir); err != nil || !slices.Equal(r.Removed, beside) {
		t.Errorf("another build: %v, removed %q, want %q", err, r.Removed, beside)
	}
	for _, file := range beside {
		if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is still there: %v", file, err)
		}
	}
}

func TestBuildSaysWhatIsWrong(t *testing.T) {
	offline(t)
	for name, tc := range map[string]struct {
		file, from, to string
		text           string
	}{
		"unknown key":   {"plugin.yaml", "provides:", "provide:", "plugin.yaml:5: field provide is not a key of a manifest"},
		"bad id":        {"plugin.yaml", "expose-tiny", "Tiny", "plugin.yaml:1: id:"},
		"not exported":  {"main.go", "//go:wasmexport expose\n", "", `does not export the function "expose"`},
		"compile error": {"tiny/tiny.go", "func quote(", "func quoted(", "tiny/tiny.go:"},
		"no YAML":       {"plugin.yaml", "id: expose-tiny", "id: [", "plugin.yaml:"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := plugin(t, sdk.KindExpose)
			change(t, filepath.Join(dir, tc.file), tc.from, tc.to)
			_, said, err := build(t, dir)
			if err == nil || !strings.Contains(err.Error()+said, tc.text) {
				t.Fatalf("error %v, output %q, want %q", err, said, tc.text)
			}
			var compiling *scaffold.CompileError
			if is := errors.As(err, &compiling); is != (name == "compile error") || is && (!strings.Contains(compiling.Text, tc.text) || strings.Contains(err.Error(), "undefined")) {
				t.Errorf("%#v", err)
			}
			if _, err := os.Stat(filepath.Join(dir, "dist")); err == nil {
				t.Error("something was written")
			}
		})
	}
	for name, dir := range map[string]string{"no plugin": t.TempDir(), "nowhere": "/nonexistent"} {
		if _, _, err := build(t, dir); err == nil || !strings.Contains(err.Error(), "make a new plugin") {
			t.Errorf("%s: %v", name, err)
		}
	}
	dir := t.TempDir()
	replace(t, filepath.Join(dir, "plugin.yaml"), "id: expose-x\nversion: 1.0.0\nimplements: [expose/1]\nprovides: [x]\n")
	if _, _, err := build(t, dir); err == nil || !strings.Contains(err.Error(), "neither Go files nor") {
		t.Errorf("no language: %v", err)
	}
}

// tools makes a PATH on which there are only these programs, which are scripts.
func tools(t *testing.T, scripts map[string]string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range scripts {
		testkit.WriteProgram(t, filepath.Join(dir, name), "#!/bin/sh\n"+text)
	}
	t.Setenv("PATH", dir)
}

func TestToolchains(t *testing.T) {
	goDir, webDir := plugin(t, sdk.KindExpose), t.TempDir()
	replace(t, filepath.Join(webDir, "plugin.yaml"), "id: expose-x\nversion: 1.0.0\nimplements: [expose/1]\nprovides: [x]\n")
	replace(t, filepath.Join(webDir, "asconfig.json"), "{}")
	const fails = `echo 'go: errors parsing go.mod: invalid go version' >&2; exit 1`
	for name, tc := range map[string]struct {
		scripts map[string]string
		dir     string
		text    string
	}{
		"no go":      {nil, goDir, "Go ≥ 1.24 is needed, there is none on PATH; get it from https://go.dev/dl"},
		"old":        {map[string]string{"go": "echo go1.21.4"}, goDir, "Go ≥ 1.24 is needed, found 1.21.4; get"},
		"cannot":     {map[string]string{"go": `[ "$GOTOOLCHAIN" = local ] && echo go1.19.8 && exit; ` + fails}, goDir, "found 1.19.8"},
		"ancient":    {map[string]string{"go": "exit 2"}, goDir, "before 1.14"},
		"no node":    {nil, webDir, "Node.js ≥ 20 is needed, there is none"},
		"old node":   {map[string]string{"node": "echo v16.20.2"}, webDir, "found 16.20.2"},
		"odd node":   {map[string]string{"node": "exit 1"}, webDir, "does not say its version"},
		"no npm":     {map[string]string{"node": "echo v22.1.0"}, webDir, "npm, which comes with Node.js, is needed"},
		"other":      {map[string]string{"go": `case $1 in env) [ "$GOTOOLCHAIN" = local ] && echo go1.30 && exit;; esac; ` + fails}, goDir, "does not compile"},
		"new enough": {map[string]string{"go": `case $1 in env) echo devel go1.99-abc;; *) echo a.go:1: no >&2; exit 1;; esac`}, goDir, "does not compile"},
	} {
		t.Run(name, func(t *testing.T) {
			tools(t, tc.scripts)
			_, _, err := build(t, tc.dir)
			var missing *scaffold.ToolchainError
			if err == nil || !strings.Contains(err.Error(), tc.text) || errors.As(err, &missing) == strings.Contains(tc.text, "compile") {
				t.Errorf("%v, want %q", err, tc.text)
			}
		})
	}
}

// assemblyScript makes the folder of a plugin in AssemblyScript. What its build is to make is the file
// $MADE.
func assemblyScript(t *testing.T) (dir string) {
	dir = t.TempDir()
	replace(t, filepath.Join(dir, "plugin.yaml"), "id: expose-x\nversion: 1.0.0\nimplements: [expose/1]\nprovides: [x]\n")
	replace(t, filepath.Join(dir, "package.json"), "{}")
	made := filepath.Join(t.TempDir(), "made.wasm")
	if err := os.WriteFile(made, exporting, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("MADE", made)
	return dir
}

// A folder with a package.json is built by its own script; what it needs is fetched once.
func TestAssemblyScript(t *testing.T) {
	dir := assemblyScript(t)
	const script = `echo "npm $1" && case $1 in install) /bin/mkdir node_modules;; run) /bin/mkdir -p build && /bin/cp "$MADE" build/plugin.wasm;; esac`
	tools(t, map[string]string{"node": "echo v20.1.0", "npm": script})
	for _, want := range []string{"npm install\nnpm run\n", "npm run\n"} {
		r, said, err := build(t, dir)
		if err != nil || r.Lang != scaffold.AssemblyScript || said != want {
			t.Errorf("%+v, %q, %v", r, said, err)
		}
	}
	t.Setenv("MADE", "/nonexistent")
	if _, _, err := build(t, dir); err == nil || !strings.Contains(err.Error(), "does not compile") {
		t.Errorf("after a failure: %v", err)
	}
	tools(t, map[string]string{"node": "echo v20.1.0", "npm": "exit 0"})
	if _, _, err := build(t, dir); err == nil || !strings.Contains(err.Error(), "did not make") {
		t.Errorf("without a result: %v", err)
	}
}

// An installation that was broken off is no installation: the next build makes it anew.
func TestAssemblyScriptAfterABrokenInstallation(t *testing.T) {
	dir := assemblyScript(t)
	const script = `echo "npm $1" && case $1 in install) /bin/mkdir node_modules && exit $INSTALL;; run) /bin/mkdir -p build && /bin/cp "$MADE" build/plugin.wasm;; esac`
	tools(t, map[string]string{"node": "echo v20.1.0", "npm": script})
	for _, c := range []struct {
		exit, said string
		fails      bool
	}{{"1", "npm install\n", true}, {"1", "npm install\n", true}, {"0", "npm install\nnpm run\n", false}, {"1", "npm run\n", false}} {
		t.Setenv("INSTALL", c.exit)
		if _, said, err := build(t, dir); said != c.said || (err != nil) != c.fails {
			t.Errorf("%q, %v; expected %q", said, err, c.said)
		}
	}
}

// When the user gives up, the compiler ends with all that it has started.
func TestStopped(t *testing.T) {
	dir, pids := plugin(t, sdk.KindExpose), filepath.Join(t.TempDir(), "pids")
	t.Setenv("PIDS", pids)
	tools(t, map[string]string{"go": `case $1 in env) echo go1.26.0; exit;; esac; /bin/sleep 1000 & echo $! $$ > "$PIDS.new"; /bin/mv "$PIDS.new" "$PIDS"; wait`})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := scaffold.Build(ctx, scaffold.BuildOptions{Dir: dir})
		done <- err
	}()
	var text []byte
	eventually(t, "the compiler starts", func() bool {
		text, _ = os.ReadFile(pids)
		return len(text) > 0
	})
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	for _, field := range strings.Fields(string(text)) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, fmt.Sprintf("process %d ends", pid), func() bool { return !alive(pid) })
	}
}

// alive reports whether a process runs; one that has only not been waited for does not.
func alive(pid int) bool {
	if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil {
		return !bytes.Contains(stat, []byte(") Z "))
	}
	return syscall.Kill(pid, 0) == nil
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("%s: it did not happen", what)
}

// A folder that somebody sent does not say where in the user's files its plugin goes.
func TestALinkIsNoPlaceForABuild(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		"plugin.yaml": "id: expose-tiny\nversion: 1.0.0\nimplements: [expose/1]\nprovides: [tiny]\n", "main.go": "package main\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(elsewhere, filepath.Join(dir, "dist")); err != nil {
		t.Fatal(err)
	}
	if _, err := scaffold.Build(t.Context(), scaffold.BuildOptions{Dir: dir}); err == nil || !strings.Contains(err.Error(), "is a link") {
		t.Error(err)
	}
	if entries, err := os.ReadDir(elsewhere); err != nil || len(entries) != 0 {
		t.Error(entries, err)
	}
}
