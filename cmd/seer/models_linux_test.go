package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/enginetest/fakehub"
)

// modelsProgram is the program with a hub and a cache in a folder with a difficult name.
func modelsProgram(t *testing.T) (p *program, h *fakehub.Hub, cache string) {
	t.Helper()
	h = newHub(t)
	p = hubProgram(t, h)
	home := filepath.Join(t.TempDir(), "my cäche [1]")
	p.env = slices.DeleteFunc(p.env, func(v string) bool { return strings.HasPrefix(v, "HF_HOME=") })
	p.env = append(p.env, "HF_HOME="+home)
	return p, h, filepath.Join(home, "hub")
}

// ends runs a command that must end with the code, and returns what it says.
func (p *program) ends(code int, args ...string) (out, said string) {
	p.t.Helper()
	cmd := p.command(args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	}
	if got != code {
		p.t.Errorf("seer %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), got, code, &stdout, &stderr)
	}
	return stdout.String(), stderr.String()
}

// decoded runs a command with --json, and reads what it prints.
func decoded[T any](p *program, args ...string) (v T) {
	p.t.Helper()
	out := p.run(append(args, "--json")...)
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		p.t.Fatalf("%v: %s", err, out)
	}
	return v
}

type listedModel struct {
	Name, Where string
	Bytes       int64
	Revisions   []struct {
		Revision          string
		Refs              []string
		Files             int
		Broken, Sandboxes []string
	}
	Incomplete []struct{ Path string }
}

func TestModelsPull(t *testing.T) {
	t.Parallel()
	p, h, cache := modelsProgram(t)
	if out, said := p.ends(0, "models", "ls"); out != "" || !strings.Contains(said, "No models") {
		t.Errorf("an empty cache: %q, %q", out, said)
	}
	if list := decoded[[]listedModel](p, "models", "ls"); list == nil || len(list) != 0 {
		t.Errorf("an empty cache: %v", list)
	}
	out, said := p.ends(0, "models", "pull", "org/open", "org/gated@v1")
	if lines := strings.Fields(out); len(strings.Split(strings.TrimSpace(out), "\n")) != 2 || len(lines) < 2 {
		t.Errorf("%q", out)
	}
	if !strings.Contains(said, "org/open: 1 file (5 B) in other formats left out") || !strings.Contains(said, "org/gated: 3 files") {
		t.Errorf("said: %s", said)
	}
	text, err := os.ReadFile(filepath.Join(strings.Split(out, "\n")[0], "sub", "vocab.txt"))
	if err != nil || string(text) != "a b" {
		t.Errorf("%q, %v", text, err)
	}
	before := h.Count(fakehub.CDN).Requests
	p.ends(0, "models", "pull", "org/open", "--include", "*.bin", "--exclude", "config*")
	list := decoded[[]listedModel](p, "models", "ls")
	if len(list) != 2 || list[1].Name != "org/open" || list[1].Where != "hub" || list[1].Revisions[0].Files != 4 || strings.Join(list[0].Revisions[0].Refs, "") != "v1" {
		t.Errorf("%+v", list)
	}
	if after := h.Count(fakehub.CDN).Requests; after != before {
		t.Errorf("%d requests for what is there", after-before)
	}
	if _, said := p.ends(3, "models", "pull", "./model"); !strings.Contains(said, "is a folder of this computer") {
		t.Errorf("a folder: %s", said)
	}
	for code, args := range map[int][]string{2: {"models", "pull"}, 3: {"models", "pull", "org/open@"}, 4: {"models", "pull", "org/none"}} {
		p.ends(code, args...)
	}
	// What is right is fetched, also beside what is not.
	if out, said := p.ends(4, "models", "pull", "org/none", "org/open"); !strings.Contains(out, "/") || !strings.Contains(said, "org/none") {
		t.Errorf("%q, %q", out, said)
	}
	usage := decoded[struct {
		Hub, Own struct{ Bytes int64 }
		Bytes    int64
	}](p, "models", "du")
	if usage.Hub.Bytes == 0 || usage.Bytes != usage.Hub.Bytes+usage.Own.Bytes || usage.Own.Bytes > usage.Hub.Bytes*20 {
		t.Errorf("%+v", usage)
	}
	if out, _ := p.ends(0, "models", "du"); !strings.Contains(out, cache) || !strings.Contains(out, "org/gated") {
		t.Errorf("%s", out)
	}
}

func TestModelsVerify(t *testing.T) {
	t.Parallel()
	p, _, cache := modelsProgram(t)
	p.ends(0, "models", "verify")
	p.ends(0, "models", "pull", "org/open", "org/big")
	if out, _ := p.ends(0, "models", "verify"); !strings.Contains(out, "intact   org/big: 2 files, 67.1 MB") {
		t.Errorf("%s", out)
	}
	blob, err := filepath.EvalSymlinks(first(t, filepath.Join(glob(cache), "models--org--big", "snapshots", "*", "model.safetensors")))
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(blob, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt([]byte("flipped"), 1<<20)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(first(t, filepath.Join(glob(cache), "models--org--open", "blobs", "*"))); err != nil {
		t.Fatal(err)
	}
	out, said := p.ends(3, "models", "verify", "org/big", "org/open")
	if !strings.Contains(out, "wrong    "+blob) || !strings.Contains(out, "DAMAGED  org/open") || !strings.Contains(said, "2 models are damaged") {
		t.Errorf("%s%s", out, said)
	}
	out, _ = p.ends(3, "models", "verify", "org/big", "--json")
	if !strings.Contains(out, `"wrong":["`) {
		t.Errorf("%s", out)
	}
	// What is wrong is fetched again.
	p.ends(0, "models", "pull", "org/open", "org/big")
	p.ends(0, "models", "verify")
	p.ends(4, "models", "verify", "org/none")
	p.ends(13, "models", "verify", "org/open@main")
}

// glob is a path as a pattern.
func glob(path string) string { return strings.ReplaceAll(path, "[", `\[`) }

func first(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) == 0 {
		t.Fatalf("nothing is at %s: %v", pattern, err)
	}
	return found[0]
}

func TestModelsRemove(t *testing.T) {
	t.Parallel()
	p, _, cache := modelsProgram(t)
	p.write("exp.yaml", "name: hub\nsandbox:\n  models: [org/open]\n")
	p.runs("up", "--yes", "--name", "user", "exp.yaml")
	p.ends(0, "models", "pull", "org/gated@v1")
	if list := decoded[[]listedModel](p, "models", "ls"); len(list) != 2 || len(list[1].Revisions[0].Sandboxes) != 1 {
		t.Errorf("%+v", list)
	}
	if _, said := p.ends(12, "models", "rm", "org/gated", "org/open", "--yes"); !strings.Contains(said, "org/open is in use by sb-") {
		t.Errorf("%s", said)
	}
	p.ends(2, "models", "rm", "org/gated") // nobody is there to ask
	p.ends(4, "models", "rm", "org/none", "--yes")
	p.ends(4, "models", "rm", "org/gated@v2", "--yes")
	if list := decoded[[]listedModel](p, "models", "ls"); len(list) != 2 {
		t.Errorf("%+v", list)
	}
	if out, said := p.ends(0, "models", "rm", "org/gated@v1", "--yes"); strings.TrimSpace(out) != "org/gated" || !strings.Contains(said, "freed ") || strings.Contains(said, "freed 0 B") {
		t.Errorf("%s%s", out, said)
	}
	p.ends(0, "models", "gc")
	if out := p.run("exec", "user", "--", "sh", "-c", "cat /models/*/config.json"); strings.TrimSpace(out) != "{}" {
		t.Errorf("the sandbox reads %q", out)
	}
	p.runs("down", "user")
	p.ends(0, "models", "rm", "org/open", "--yes")
	if list := decoded[[]listedModel](p, "models", "ls"); len(list) != 0 {
		t.Errorf("%+v", list)
	}
	if left, err := filepath.Glob(filepath.Join(glob(cache), "models--*")); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// A download that was killed is seen, continued, or removed.
func TestModelsKilled(t *testing.T) {
	t.Parallel()
	p, h, cache := modelsProgram(t)
	kill := func(signal syscall.Signal) {
		t.Helper()
		before := h.Count(fakehub.CDN).Bytes
		defer h.Inject(fakehub.Fault{Call: fakehub.Blob, After: weights / 4, Stall: make(chan struct{})})()
		cmd := p.command("models", "pull", "org/big")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() { defer close(ended); _ = cmd.Wait() }()
		for h.Count(fakehub.CDN).Bytes < before+weights/8 {
			select {
			case <-ended:
				t.Fatal("the download has ended by itself")
			case <-time.After(time.Millisecond): // the hub is asked; nothing depends on how long
			}
		}
		_ = cmd.Process.Signal(signal)
		<-ended
	}
	kill(syscall.SIGKILL)
	list := decoded[[]listedModel](p, "models", "ls")
	if len(list) == 1 && len(list[0].Incomplete) == 0 && len(list[0].Revisions) == 0 {
		t.Errorf("after a kill: %+v", list)
	}
	kill(syscall.SIGINT)
	got := h.Count(fakehub.CDN).Bytes
	p.ends(0, "models", "pull", "org/big")
	if again := h.Count(fakehub.CDN).Bytes - got; again >= weights {
		t.Errorf("%d bytes were fetched again", again)
	}
	p.ends(0, "models", "verify", "org/big")
	p.ends(0, "models", "rm", "org/big", "--yes")
	kill(syscall.SIGKILL)
	p.ends(0, "models", "gc")
	if left, err := filepath.Glob(filepath.Join(glob(cache), "models--org--big", "blobs", "*.incomplete*")); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// Strange files in the cache, a cache that cannot be written, and several programs at once.
func TestModelsInStrangeCaches(t *testing.T) {
	p, _, cache := modelsProgram(t)
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() { p.ends(0, "models", "pull", "org/big", "org/open") })
	}
	all.Wait()
	p.ends(0, "models", "verify")
	for _, path := range []string{"models--org--file", "models--org--open/snapshots/README", "models--org--open/refs/x.tmp", "notes.txt", "spaces--a--b/x", "models--org--loop/snapshots/" + strings.Repeat("a", 40) + "/x"} {
		at := filepath.Join(cache, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, nil, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("self", filepath.Join(cache, "models--org--loop", "snapshots", strings.Repeat("a", 40), "self")); err != nil {
		t.Fatal(err)
	}
	list := decoded[[]listedModel](p, "models", "ls")
	if len(list) != 3 || len(list[1].Revisions[0].Broken) != 1 {
		t.Errorf("%+v", list)
	}
	p.ends(3, "models", "verify", "org/loop")
	p.ends(0, "models", "rm", "org/loop", "--yes")
	if os.Getuid() == 0 {
		return // who may write anywhere
	}
	repo := filepath.Join(cache, "models--org--open")
	for _, dir := range []string{filepath.Join(repo, "blobs"), repo, cache} {
		if err := os.Chmod(dir, 0o555); err != nil {
			t.Fatal(err)
		}
		defer os.Chmod(dir, 0o755)
	}
	p.ends(0, "models", "pull", "org/open")
	p.ends(0, "models", "verify", "org/open")
	p.ends(0, "models", "gc")
	p.ends(3, "models", "rm", "org/open", "--yes")
}

// What a sandbox has is known by commit, license, gate and the hash of each file, while it runs and
// after a run.
func TestModelsProvenance(t *testing.T) {
	t.Parallel()
	p, h, _ := modelsProgram(t)
	p.write("exp.yaml", strings.Replace(hubExperiment, "models: [", "models: [{name: org/big, hidden: true, var_name: secret}, ", 1))
	p.runs("run", "--yes", "exp.yaml")
	type model struct {
		Name, Repo, Source, Ref, Revision, License, Gate, Manifest string
		Hidden                                                     bool
		Files                                                      []struct{ Path, SHA256, Git_SHA1 string }
	}
	var ran struct {
		Sandbox string
		Models  []model
	}
	var lists map[string]struct {
		Revision string
		Files    []struct{ Path, SHA256, Git_SHA1 string }
	}
	for name, to := range map[string]any{"run.json": &ran, "run.models.json": &lists} {
		text, err := os.ReadFile(filepath.Join(p.dir, "runs", "latest", name))
		if err == nil {
			err = json.Unmarshal(text, to)
		}
		if err != nil || strings.Contains(string(text), "org/big") {
			t.Fatalf("%s: %v\n%s", name, err, text)
		}
	}
	shown := decoded[struct{ Models []model }](p, "show", ran.Sandbox)
	if len(ran.Models) != 3 || len(shown.Models) != 3 || len(lists) != 3 {
		t.Fatalf("%+v\n%+v\n%+v", ran, lists, shown)
	}
	for i, m := range ran.Models {
		s := shown.Models[i]
		if m.Hidden != (i == 0) || m.Revision != s.Revision || m.Gate != s.Gate || m.Manifest != s.Manifest || len(lists[m.Manifest].Files) != len(s.Files) || len(s.Files) == 0 {
			t.Errorf("%+v\n%+v", m, s)
		}
		for _, f := range s.Files {
			if f.SHA256 == "" && f.Git_SHA1 == "" {
				t.Errorf("%+v has no hash", f)
			}
		}
	}
	if m := ran.Models[1]; m.Name != "org/open" || m.Repo != "org/open" || m.License != "mit" || m.Revision != h.Commit("org/open", "main") {
		t.Errorf("%+v", m)
	}
	if m := ran.Models[2]; m.Gate != "manual" || m.Name != "org/gated" {
		t.Errorf("%+v", m)
	}
	if s := shown.Models[0]; s.Name != "org/big" || s.Repo != "org/big" {
		t.Errorf("%+v", s)
	}
	if out := p.run("show", ran.Sandbox); !strings.Contains(out, "; license mit; 3 files, listed under --json") || !strings.Contains(out, "; gated (manual); ") {
		t.Errorf("%s", out)
	}
	if list := p.run("ls", "--all", "--json"); strings.Contains(list, `"files"`) {
		t.Errorf("the list has files: %s", list)
	}
}

// A model that is here needs the Hub for what its branch is, and is used without it, with a word.
func TestModelsWithoutTheHub(t *testing.T) {
	t.Parallel()
	p, h, _ := modelsProgram(t)
	p.write("exp.yaml", "name: hub\nsandbox:\n  models: [org/open]\n")
	out, _ := p.ends(0, "models", "pull", "org/open")
	commit := filepath.Base(strings.TrimSpace(out))
	h.ForgetRequests()
	p.ends(0, "models", "pull", "org/open@"+commit)
	if n := len(h.Requests()); n != 0 {
		t.Errorf("%d requests for a commit", n)
	}
	p.ends(0, "models", "pull", "org/open")
	if all := h.Requests(); len(all) != 1 {
		t.Errorf("requests for a branch: %+v", all)
	}
	env := p.env
	p.env = append(env, "HF_ENDPOINT=http://127.0.0.1:1")
	_, said := p.runs("up", "--yes", "--name", "alone", "exp.yaml")
	if !strings.Contains(said, "warning: org/open: ") || !strings.Contains(said, "revision "+commit+", which is on this computer, is used") {
		t.Errorf("said: %s", said)
	}
	if _, said := p.ends(6, "models", "pull", "org/gated"); !strings.Contains(said, "127.0.0.1:1") {
		t.Errorf("said: %s", said)
	}
	p.env = append(p.env, "HF_HUB_OFFLINE=1")
	if _, said := p.ends(0, "models", "pull", "org/open"); strings.Contains(said, "warning") {
		t.Errorf("said: %s", said)
	}
	if _, said := p.ends(6, "models", "pull", "org/open@v9"); !strings.Contains(said, "HF_HUB_OFFLINE is set") {
		t.Errorf("said: %s", said)
	}
}
