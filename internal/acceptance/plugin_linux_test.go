package acceptance

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/seer-engine/seer/engine/plugin/host/hosttest"
	"github.com/seer-engine/seer/internal/testkit"
)

// drop puts plugins where a user puts them.
func (p *place) drop(sources ...string) string {
	p.t.Helper()
	dir := filepath.Join(p.home, ".local", "share", "seer", "plugins")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		p.t.Fatal(err)
	}
	for _, src := range sources {
		hosttest.Put(p.t, dir, filepath.Join(hosttest.Root(p.t), src))
	}
	return dir
}

// shop is a server with one model; it returns how the source acme names it.
func shop(t *testing.T, content string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Acme") != "yes" || r.URL.Path != "/tiny/weights.bin" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, content)
	}))
	t.Cleanup(server.Close)
	sum := sha256.Sum256([]byte(content))
	return fmt.Sprintf("acme:%s/tiny?weights.bin=%d:%s", strings.TrimPrefix(server.URL, "http://"), len(content), hex.EncodeToString(sum[:]))
}

// TestPluginsNobodyHasHeardOf: a provider, a model source and an expose mode that
// are put into the user's plugin folder work in everything that seer does.
func TestPluginsNobodyHasHeardOf(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.drop("internal/acceptance/testdata/guests/lent", "engine/plugin/host/testdata/guests/acme", "engine/plugin/host/testdata/guests/shout")
	for _, id := range []string{"provider-lent", "fetch-acme", "expose-shout"} {
		p.ok("plugin", "info", id)
	}
	model := shop(t, "weights of acme")
	p.write("exp.yaml", fmt.Sprintf("name: test\nsandbox:\n  provider: lent\n  timeout: 10m\n  models: ['%s']\n", model))
	p.write("f.py", fmt.Sprintf("@expose\ndef weights():\n    return open(get_model_path('%s') + '/weights.bin').read()\n", model))
	if out := p.ok("plan", "exp.yaml"); !strings.Contains(out, "lent") {
		t.Errorf("the plan: %s", out)
	}

	port := testkit.FreePort(t)
	j := p.seer("up", "exp.yaml", "--name", fmt.Sprintf("port-%d", port))
	p.lend(j, port)
	p.check(j.wait(), 0, "queued", "is ready")
	out := p.ok("serve", "port-"+fmt.Sprint(port), "f.py", "--as", "shout", "--name", "tools", "--out", "out")
	if !strings.Contains(out, "tools.txt") || p.read("out/tools.txt") != "WEIGHTS!" {
		t.Errorf("the surface: %s", out)
	}
	if got := p.ok("call", fmt.Sprintf("port-%d", port), "tools.weights", "-r"); got != "weights of acme" {
		t.Errorf("the model: %q", got)
	}
	p.ok("down", fmt.Sprintf("port-%d", port))
	p.nothingRuns()

	// The same words in an experiment with an agent, on the local provider.
	p.write("run.yaml", fmt.Sprintf("name: test\nsandbox: {timeout: 10m, models: ['%s']}\nserve: [{file: f.py, name: tools, expose_as: shout}]\n"+
		"agent: {command: [sh, -c, 'cat prompt.md tools.txt']}\n", model))
	p.exits(0, []string{"run", "run.yaml", "-q"}, "WEIGHTS!\n")
}

// lend plays the cloud: it starts the machine that up's log describes.
func (p *place) lend(up *job, port int) {
	p.t.Helper()
	var machine struct {
		Command []string          `json:"command"`
		Env     map[string]string `json:"env"`
	}
	p.eventually("the description of the machine", func() bool {
		_, line, found := strings.Cut(text(up.err), "LENT ")
		line, _, whole := strings.Cut(line, "\n")
		return found && whole && json.Unmarshal([]byte(line), &machine) == nil
	})
	boot := map[string]any{}
	if err := json.Unmarshal([]byte(machine.Env["SEER_BOOT"]), &boot); err != nil {
		p.t.Fatal(err)
	}
	disk := filepath.Join(p.base, "machine")
	roots := map[string]string{}
	for _, dir := range []string{"/workspace", "/models"} {
		roots[dir] = filepath.Join(disk, dir)
		if err := os.MkdirAll(roots[dir], 0o755); err != nil {
			p.t.Fatal(err)
		}
	}
	boot["listen"], boot["roots"], boot["cache"], boot["scratch"] = fmt.Sprintf("tcp:127.0.0.1:%d", port), roots, disk+"/cache", disk+"/scratch"
	data, err := json.Marshal(boot)
	if err != nil {
		p.t.Fatal(err)
	}
	if err := os.MkdirAll(disk+"/scratch", 0o755); err != nil {
		p.t.Fatal(err)
	}
	cmd := exec.Command("/usr/bin/python3", machine.Command[1:]...)
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + disk, "TMPDIR=" + disk, "SEER_BOOT=" + string(data)}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	machineJob := p.start(cmd)
	p.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if p.t.Failed() {
			p.t.Logf("the machine said: %s", machineJob.said())
		}
	})
	go func() { _, _ = cmd.Process.Wait() }()
}

// TestPluginFaults: each is one clear error with its own code, in time, and harms
// no other.
func TestPluginFaults(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	dir := p.drop("internal/acceptance/testdata/guests/unruly")
	p.up("lab")
	p.write("f.py", "@expose\ndef f():\n    return 1\n")
	for name, words := range map[string][]string{
		"panics": {"expose-unruly"}, "endless": {"expose-unruly", "8s"}, "hungry": {"expose-unruly", "64"}, "exits": {"expose-unruly"}, "leaves": {"../../left.txt"},
	} {
		r := p.exits(5, []string{"serve", "lab", "f.py", "--as", "unruly", "--name", name, "--out", "out", "-q"}, words...)
		if n := strings.Count(strings.TrimSpace(r.err), "\n"); n > 0 {
			t.Errorf("%s is told in %d lines: %s", name, n+1, r.err)
		}
	}
	if p.has("left.txt") || p.has("../left.txt") || p.has("out") {
		t.Error("a plugin wrote something")
	}
	p.ok("serve", "lab", "f.py", "--as", "unruly", "--name", "good", "--out", "out")
	p.ok("serve", "lab", "f.py", "--name", "tools", "--out", "out")

	// Files that are no plugins: each is told of and disturbs nobody who does not ask
	// for it.
	whole, err := os.ReadFile(filepath.Join(dir, "expose-unruly.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	manifest := func(id, implements string) string {
		return fmt.Sprintf("id: %s\nversion: 1.0.0\nimplements: [%s]\nprovides: [%s]\n", id, implements, strings.TrimPrefix(id, "expose-"))
	}
	p.write(filepath.Join(dir, "expose-cut.wasm"), string(whole[:len(whole)/2]))
	p.write(filepath.Join(dir, "expose-cut.yaml"), manifest("expose-cut", "expose/1"))
	p.write(filepath.Join(dir, "expose-text.wasm"), "this is no wasm")
	p.write(filepath.Join(dir, "expose-text.yaml"), manifest("expose-text", "expose/1"))
	p.write(filepath.Join(dir, "expose-next.wasm"), "\x00asm\x01\x00\x00\x00")
	p.write(filepath.Join(dir, "expose-next.yaml"), manifest("expose-next", "expose/99"))
	p.write(filepath.Join(dir, "expose-hollow.wasm"), "\x00asm\x01\x00\x00\x00")
	p.write(filepath.Join(dir, "expose-hollow.yaml"), manifest("expose-hollow", "expose/1"))
	for _, mode := range []string{"cut", "text", "next", "hollow"} {
		p.exits(5, []string{"serve", "lab", "f.py", "--as", mode, "--name", "tools", "--out", "no", "-q"}, "expose-"+mode)
	}
	p.exits(0, []string{"plugin", "ls"}, "expose-unruly", "expose-cut", "expose-text", "expose-next")
	p.ok("serve", "lab", "f.py", "--name", "tools", "--out", "out", "-q")

	// A folder that was named and is not there.
	p.exits(5, []string{"serve", "lab", "f.py", "--as", "unruly", "--out", "no", "--plugin-dir", "nowhere", "-q"}, "nowhere")
	p.exits(3, []string{"plan", "exp.yaml", "--set", "sandbox.provider=nobody"}, "nobody")
	p.exits(3, []string{"plan", "exp.yaml", "--set", "sandbox.models=['nobody:x']"}, "nobody")
}
