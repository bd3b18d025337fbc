package acceptance

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/seer-engine/seer/internal/testkit"
)

// always fail: they are no matter of isolation but of tokens.
var tokens = []string{"run_in_our_sandbox", "read_in_our_sandbox", "secrets_of_our_sandbox", "end_our_sandbox", "serve_in_our_sandbox", "neighbour_service"}

// onlyRoot may do these even without isolation, or not even root in a container.
var onlyRoot = []string{"kernel_settings", "kernel_messages", "shadow_file", "memory_of_a_process", "trace_a_process"}

// never happen, also without isolation.
var never = []string{"own_environment", "open_files"}

// prey is a user with something to lose: a secret in the home, another sandbox,
// processes, sockets.
type prey struct {
	*place
	canary  string
	targets map[string]any
	decoy   *job
}

func newPrey(t *testing.T) *prey {
	p := newPlace(t)
	v := &prey{place: p, canary: "canary-" + filepath.Base(p.base)}
	p.env["MY_PRIVATE_TOKEN"], p.env["SSH_AUTH_SOCK"] = v.canary, "/nowhere"
	secret := filepath.Join(p.home, ".ssh", "id é")
	p.write(secret, v.canary)
	p.write("f.py", "@expose\ndef f():\n    return 'mine'\n")
	p.up("other")
	p.ok("serve", "other", "f.py", "--name", "tools", "--out", "other agent")
	p.write("c.txt", v.canary)
	p.ok("cp", "c.txt", "other:/workspace/c.txt")
	inside, err := filepath.Glob(p.state("local", "*", "workspace", "c.txt"))
	if err != nil || len(inside) != 1 {
		t.Fatalf("the other sandbox's file: %v, %v", inside, err)
	}
	socket, err := filepath.Glob(filepath.Join(p.env["XDG_RUNTIME_DIR"], "seer", "*", "s"))
	if err != nil || len(socket) != 1 {
		t.Fatalf("the other sandbox's socket: %v, %v", socket, err)
	}
	cmd := p.command("/bin/sh", "-c", "trap 'echo hit' USR1; while :; do sleep 0.05; done", "decoy of "+v.canary)
	v.decoy = p.start(cmd)
	t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	shm := "acc-" + filepath.Base(p.base)
	p.write("/dev/shm/"+shm, v.canary)
	t.Cleanup(func() { os.Remove("/dev/shm/" + shm) })
	v.targets = map[string]any{
		"canary": v.canary, "home": p.home, "home_file": secret, "state": p.state(), "other_file": inside[0], "other_socket": socket[0],
		"other_connection": p.path("other agent/tools/connection.json"), "shm": shm, "tmp_file": p.write(filepath.Join(p.base, "t.txt"), v.canary),
		"seer_words": []string{"seer-runtime", "seer_worker"}, "decoy": cmd.Process.Pid, "decoy_word": v.canary, "other_name": "other",
		"tcp": v.listen("tcp", "127.0.0.1:0"), "outside": filepath.Join(p.base, "written.txt"), "seer": installed.seer, "sockets": p.env["XDG_RUNTIME_DIR"],
	}
	v.targets["abstract"] = shm
	v.listen("unix", "@"+shm)
	return v
}

// listen offers the canary at an address and returns its port.
func (v *prey) listen(network, address string) int {
	v.t.Helper()
	l := testkit.Serve(testkit.Listen(v.t, network, address), testkit.Say(v.canary+"\n"))
	if tcp, ok := l.Addr().(*net.TCPAddr); ok {
		return tcp.Port
	}
	return 0
}

// experiment writes one whose agent is the hostile program.
func (v *prey) experiment(isolation, network string) {
	v.t.Helper()
	script, err := os.ReadFile("testdata/hostile.py")
	if err != nil {
		v.t.Fatal(err)
	}
	v.write("hostile.py", string(script))
	data, err := json.Marshal(v.targets)
	if err != nil {
		v.t.Fatal(err)
	}
	v.write("targets.json", string(data))
	v.write("private.py", "@expose\ndef f():\n    return 'private'\n")
	v.write("hostile.yaml", fmt.Sprintf(`name: hostile
sandbox: {timeout: 10m, isolation: %[1]s, network: %[2]s}
serve: [{file: f.py, name: tools}]
workspace: {files: [hostile.py, targets.json]}
agent: {command: [python3, hostile.py], isolation: %[1]s, network: %[2]s}
`, isolation, network))
}

// run runs an experiment from a program that has a file of its own open.
func (v *prey) run(file string) result {
	v.t.Helper()
	open, err := os.Open(v.targets["home_file"].(string))
	if err != nil {
		v.t.Fatal(err)
	}
	defer open.Close()
	cmd := v.command(installed.seer, "run", file)
	cmd.ExtraFiles = []*os.File{open}
	return v.start(cmd).wait()
}

// loot is what the hostile program says it got.
func (v *prey) loot(r result) map[string]string {
	v.t.Helper()
	got := map[string]string{}
	_, line, found := strings.Cut(r.out, "LOOT ")
	if !found || json.Unmarshal([]byte(strings.SplitN(line, "\n", 2)[0]), &got) != nil {
		v.t.Fatalf("the hostile program did not come to its end (code %d):\n%s\n%s", r.code, r.out, r.err)
	}
	return got
}

// intact checks that nothing happened to the user.
func (v *prey) intact() {
	v.t.Helper()
	if v.has(filepath.Join(v.base, "written.txt")) {
		v.t.Error("it wrote outside")
	}
	if strings.Contains(v.decoy.said(), "hit") || syscall.Kill(v.decoy.cmd.Process.Pid, 0) != nil {
		v.t.Error("it reached a process outside")
	}
	if got := v.ok("exec", "other", "--", "cat", "c.txt"); got != v.canary {
		v.t.Errorf("the other sandbox now has %q", got)
	}
}

// nothingTaken checks the collected outputs.
func (v *prey) nothingTaken() {
	v.t.Helper()
	err := filepath.WalkDir(v.path("runs/latest/outputs"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && strings.Contains(v.read(path), v.canary) {
			v.t.Errorf("collected: %s", path)
		}
		if err == nil && d.Type()&(fs.ModeSymlink|fs.ModeNamedPipe) != 0 {
			v.t.Errorf("collected as it is: %s", path)
		}
		return err
	})
	if err != nil {
		v.t.Error(err)
	}
}

// TestHostileAgentWithoutIsolation shows that the attacks work where nothing is in
// their way. Otherwise the next tests would prove nothing.
func TestHostileAgentWithoutIsolation(t *testing.T) {
	t.Parallel()
	v := newPrey(t)
	v.experiment("none", "open")
	r := v.run("hostile.yaml")
	v.check(r, 0, "NO ISOLATION")
	got := v.loot(r)
	for _, name := range names(t) {
		failed := got[name] == ""
		switch {
		case slices.Contains(append(tokens, never...), name):
			if !failed {
				t.Errorf("%s must fail also without isolation, and got %s", name, got[name])
			}
		case failed && !slices.Contains(onlyRoot, name):
			t.Errorf("%s fails without isolation too, so it proves nothing; stderr:\n%s", name, r.err)
		}
	}
	v.nothingTaken()
}

// names are all attacks.
func names(t *testing.T) []string {
	t.Helper()
	data, err := os.ReadFile("testdata/hostile.py")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, part := range strings.Split(string(data), "@attack\ndef ")[1:] {
		name, _, _ := strings.Cut(part, "(")
		out = append(out, name)
	}
	return out
}

// TestHostileAgent: the same program under seer run as it is by default.
func TestHostileAgent(t *testing.T) {
	t.Parallel()
	v := newPrey(t)
	v.targets["traps"] = true
	v.experiment("bubblewrap", "none")
	r := v.run("hostile.yaml")
	if got := v.loot(r); len(got) > 0 {
		t.Errorf("it got %v", got)
	}
	v.nothingTaken()
	v.intact()
	// What it left in the workspace does no harm in the next run either.
	v.targets["traps"] = false
	v.experiment("bubblewrap", "none")
	r = v.run("hostile.yaml")
	if got := v.loot(r); len(got) > 0 {
		t.Errorf("in the second run it got %v", got)
	}
	v.nothingTaken()
	v.intact()
}

// networked are the attacks that a program on this computer's network can make:
// network open means this computer's own, loopback and abstract sockets with it.
var networked = []string{"abstract_socket", "local_tcp", "network_interfaces"}

// TestHostileAgentOnTheNetwork: with the network of this computer it gets that,
// and nothing else.
func TestHostileAgentOnTheNetwork(t *testing.T) {
	t.Parallel()
	v := newPrey(t)
	v.experiment("bubblewrap", "open")
	got := v.loot(v.run("hostile.yaml"))
	if have := slices.Sorted(maps.Keys(got)); !slices.Equal(have, networked) {
		t.Errorf("it got %v, want only %v", got, networked)
	}
	v.intact()
}

// TestHostileSandbox: the same from inside a sandbox.
func TestHostileSandbox(t *testing.T) {
	t.Parallel()
	v := newPrey(t)
	v.experiment("bubblewrap", "none")
	v.up("lab", "--set", "sandbox.network=none")
	for _, file := range []string{"hostile.py", "targets.json"} {
		v.ok("cp", file, "lab:"+file)
	}
	got := v.loot(v.seer("exec", "lab", "--", "python3", "hostile.py").wait())
	delete(got, "processes_of_seer") // its own runtime and worker
	if len(got) > 0 {
		t.Errorf("it got %v", got)
	}
	v.intact()
}
