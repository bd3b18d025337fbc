package local

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/machine/local/internal/rootfs"
	"github.com/seer-engine/seer/engine/machine/local/proc"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

// kinds are those that are tried. gVisor takes minutes to build and is among them in
// e2e/gvisor.sh, which says so.
var kinds = tried()

func tried() []string {
	if os.Getenv("SEER_TEST_GVISOR") == "" {
		return []string{isolation.Bubblewrap, isolation.None}
	}
	return []string{isolation.Bubblewrap, isolation.GVisor, isolation.None}
}

func TestGVisorIsDescribed(t *testing.T) {
	pl := newPlace(t)
	for _, kind := range own() {
		pl.p.trials.proven.Delete(kind)
	}
	for _, again := range []bool{false, true} {
		if pl.p.trials.remembered(isolation.GVisor) != again {
			t.Errorf("the trial of gVisor is remembered: %v", !again)
		}
		info, err := pl.p.Describe(context.Background())
		if err != nil || !info.Has(sdk.FeatureSnapshot) || len(info.Isolations) != len(kinds) {
			t.Fatalf("%+v, %v", info, err)
		}
		for i, kind := range info.Isolations {
			if kind.Name != kinds[i] || !kind.Usable {
				t.Errorf("%+v", kind)
			}
		}
	}
	pl.p.Places = []string{"/nowhere"}
	pl.p.trials.places = pl.p.Places
	info, err := pl.p.Describe(context.Background())
	if err != nil || info.Has(sdk.FeatureSnapshot) || info.Isolations[1].Usable || !strings.HasPrefix(info.Isolations[1].Reason, "gVisor's runsc is not installed") {
		t.Errorf("without runsc: %+v, %v", info, err)
	}
}

// TestTrialIsRemembered, until a machine ends as one does where its isolation no longer works.
func TestTrialIsRemembered(t *testing.T) {
	pl := newPlace(t)
	pl.p.trials.proven.Delete(isolation.Bubblewrap)
	if pl.p.trials.remembered(isolation.Bubblewrap) {
		t.Error("before a trial")
	}
	if _, err := pl.p.trials.choose(t.Context(), isolation.Bubblewrap); err != nil {
		t.Fatal(err)
	}
	if !providerAt(pl.base).trials.remembered(isolation.Bubblewrap) {
		t.Error("the next program makes the trial again")
	}
	spec := pl.spec("fails", isolation.Bubblewrap)
	spec.Command = []string{"python3", "-c", "raise SystemExit(1)"}
	step, err := pl.p.Create(t.Context(), spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "its end", func() bool {
		seen, err := pl.p.Observe(t.Context(), []string{step.Handle})
		return err == nil && seen[0].State == sdk.Failed
	})
	if pl.p.trials.remembered(isolation.Bubblewrap) {
		t.Error("after a machine that failed")
	}
	if err := pl.p.Terminate(t.Context(), step.Handle); err != nil {
		t.Error(err)
	}
}

func TestLife(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			pl := newPlace(t)
			b := pl.up(pl.spec("life", kind))
			if b.seen.Isolation != kind || !strings.Contains(strings.Join(b.log, "\n"), kind) {
				t.Errorf("isolation %q, log %q", b.seen.Isolation, b.log)
			}
			if warned := strings.Contains(strings.Join(b.log, "\n"), "NO ISOLATION"); warned != (kind == isolation.None) {
				t.Errorf("log %q", b.log)
			}
			if url := b.seen.Endpoints[0].URL; b.seen.Endpoints[0].Port != 7070 || len(url) > 100 {
				t.Errorf("endpoint %+v", b.seen.Endpoints)
			}
			if got := b.run(`import os; print(os.environ["GREETING"], os.environ["SEER_MACHINE"])`); got != "a b=c "+pl.base+"#life" {
				t.Errorf("environment %q", got)
			}
			again, err := pl.p.Create(context.Background(), pl.spec("life", kind), nil)
			if err != nil || again.Handle != b.handle {
				t.Errorf("again: %+v, %v", again, err)
			}
			listed, err := pl.p.List(context.Background(), "me")
			if err != nil || len(listed) != 1 || listed[0].State != sdk.Running || listed[0].Key != pl.base+"#life" {
				t.Errorf("listed %+v, %v", listed, err)
			}
			if other, err := pl.p.List(context.Background(), "you"); err != nil || len(other) != 0 {
				t.Errorf("listed for somebody else %+v, %v", other, err)
			}
			b.down()
			b.down()
			pl.empty()
		})
	}
}

func TestFolders(t *testing.T) {
	pl := newPlace(t)
	models := filepath.Join(pl.base, "modèles of mine")
	if err := os.MkdirAll(filepath.Join(models, "m"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(models, "m", "w"), []byte("weights"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, kind := range own() {
		t.Run(kind, func(t *testing.T) { folders(t, pl, kind, models) })
	}
}

func folders(t *testing.T, pl *place, kind, models string) {
	spec := pl.spec("folders-"+kind, kind)
	spec.Mounts = []sdk.Mount{{Source: models, Target: "/models/x y"}}
	b := pl.up(spec)
	if got := b.run(`
import os, pathlib, pwd, tempfile
print(os.getcwd(), pathlib.Path.home(), tempfile.gettempdir(), pwd.getpwuid(os.getuid()).pw_name)
print(open("/models/x y/m/w").read())
for place in ["/workspace", "/tmp", "/home/seer", boot["scratch"], boot["cache"], "/dev/shm", "/var/tmp"]:
    pathlib.Path(place, "probe").write_text("x")
for place in ["/models/x y/m", "/models", "/usr", "/etc", "/", "/run", "/proc/sys/kernel", "/dev"]:
    try:
        pathlib.Path(place, "probe").write_text("x"); print("wrote to", place)
    except OSError:
        pass
`); got != "/workspace /home/seer /tmp seer\nweights" {
		t.Errorf("inside: %s", got)
	}
	if data, err := os.ReadFile(filepath.Join(pl.p.folder(b.handle).path("workspace"), "probe")); err != nil || string(data) != "x" {
		t.Errorf("the workspace is not on disk: %v", err)
	}
}

func TestRootsWithoutIsolation(t *testing.T) {
	pl := newPlace(t)
	models := t.TempDir()
	spec := pl.spec("roots", isolation.None)
	spec.Mounts = []sdk.Mount{{Source: models, Target: "/models/x"}}
	b := pl.up(spec)
	f := pl.p.folder(b.handle)
	if got, want := b.run(`import os; print(boot["roots"]["/workspace"], boot["roots"]["/models/x"], os.environ["HOME"], os.getcwd(), sep="\n")`),
		strings.Join([]string{f.path("workspace"), models, f.path("home"), f.path("workspace")}, "\n"); got != want {
		t.Errorf("%s\ninstead of\n%s", got, want)
	}
}

func TestNothingOfTheUserIsVisible(t *testing.T) {
	t.Setenv("SEER_TEST_SECRET", "environment-secret")
	pl := newPlace(t)
	secret := filepath.Join(os.Getenv("HOME"), fmt.Sprintf("seer-test-%d", os.Getpid()))
	if err := os.WriteFile(secret, []byte("home-secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(secret)
	other := pl.up(pl.spec("other", isolation.Bubblewrap))
	other.run(`open("/workspace/private", "w").write("neighbour-secret")`)
	b := pl.up(pl.spec("one", isolation.Bubblewrap))
	got := b.run(`
import os, glob
for path in [%q, %q, %q, "/root/.bashrc", "/home/seer/../../root", "/etc/shadow", "/etc/passwd-", "/run/user", "/sys", "/boot", "/work"]:
    if os.path.exists(path): print("sees", path)
print(sorted(p for p in os.listdir("/proc") if p.isdigit()), os.getpid())
for path in glob.glob("/proc/[0-9]*/environ") + glob.glob("/proc/[0-9]*/cmdline"):
    text = open(path).read()
    if "environment-secret" in text: print("reads", path)
for user in open("/etc/passwd"): print(user.split(":")[0])
print(os.listdir("/workspace"), os.listdir("/tmp"), os.listdir("/home"), os.uname().nodename)
print(os.getsid(0) == os.getpid() or os.getsid(0))
print([n for n in os.listdir("/proc/self/fd") if os.path.exists("/proc/self/fd/" + n) and "seer-t" in os.readlink("/proc/self/fd/" + n)])
`, secret, pl.p.Dir, pl.base)
	// Its standard output and error are the log, which is the machine's own.
	want := "['1'] 1\nroot\nseer\nnobody\n[] [] ['seer'] seer\nTrue\n"
	if !strings.HasPrefix(got, want) {
		t.Errorf("inside:\n%s\ninstead of\n%s", got, want)
	}
	if fds := strings.TrimPrefix(got, want); fds != "['1', '2']" {
		t.Errorf("open files of this computer: %s", fds)
	}
}

func TestRootInsideCannotReachTheKernel(t *testing.T) {
	pl := newPlace(t)
	b := pl.up(pl.spec("kernel", isolation.Bubblewrap))
	got := b.run(`
import os
for root in ("/proc/sys", "/proc/sysrq-trigger", "/proc/bus", "/proc/irq"):
    for d, ds, fs in os.walk(root):
        for f in fs:
            try:
                os.close(os.open(os.path.join(d, f), os.O_WRONLY)); print("opened", d, f)
            except OSError: pass
    if os.path.isfile(root):
        try: os.close(os.open(root, os.O_WRONLY)); print("opened", root)
        except OSError: pass
print([l.split()[1] for l in open("/proc/self/status") if l.startswith(("CapEff", "CapPrm", "NoNewPrivs"))])
`)
	if got != "['0000000000000000', '0000000000000000', '1']" {
		t.Errorf("inside: %s", got)
	}
}

func TestNetwork(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	const connect = `
import socket
try: socket.create_connection(("127.0.0.1", %d), 5); print("connected")
except OSError: print("refused")
`
	pl := newPlace(t)
	for network, want := range map[string]string{"host": "connected", "open": "refused", "none": "refused"} {
		for _, kind := range confined(few()) {
			spec := pl.spec(network+kind, kind)
			spec.Network = network
			b := pl.up(spec)
			if got := b.run(connect, port); got != want {
				t.Errorf("%s, network %s: %s", kind, network, got)
			}
			if got := b.run(`import os; print(os.path.exists("/etc/resolv.conf"))`); network == "none" && got != "False" {
				t.Errorf("%s, network none: a resolver is named", kind)
			}
			if kind == isolation.Bubblewrap && b.run(`import os; print(os.path.exists("/sys"))`) != "False" {
				t.Error("bubblewrap shows /sys")
			}
			b.down()
		}
	}
}

// spawn leaves processes that have run away from their parents and session, and
// one that has thrown its environment away too.
const spawn = `
import os, subprocess, sys
def away(env):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.execve("/bin/sleep", ["sleep", "%[1]s"], env)
        os._exit(0)
    os.wait()
away(dict(os.environ)); away(dict(os.environ))
subprocess.Popen(["/bin/sleep", "%[1]s"], env={})
print("spawned")
`

// sleepers finds the processes that spawn left.
func sleepers(marker string) int { return len(processesWith("sleep\x00" + marker)) }

func TestTerminateTakesRunawaysAlong(t *testing.T) {
	for i, kind := range few() {
		t.Run(kind, func(t *testing.T) {
			pl := newPlace(t)
			b := pl.up(pl.spec("runaways", kind))
			marker := fmt.Sprintf("%d.%d", 100000+os.Getpid(), i)
			if got := b.run(spawn, marker); got != "spawned" {
				t.Fatal(got)
			}
			if kind == isolation.GVisor { // this computer sees none of its processes
				eventually(t, "three sleepers", func() bool {
					return b.run(`
import os
print(sum(b"sleep" in open(f"/proc/{p}/cmdline", "rb").read() for p in os.listdir("/proc") if p.isdigit() and p != "1"))`) == "3"
				})
			} else {
				eventually(t, "three sleepers", func() bool { return sleepers(marker) == 3 })
			}
			b.down()
			pl.empty()
			if n := sleepers(marker); n != 0 {
				t.Errorf("%d processes are left", n)
			}
		})
	}
}

func TestBubblewrapItselfKilled(t *testing.T) {
	pl := newPlace(t)
	b := pl.up(pl.spec("outer", isolation.Bubblewrap))
	n, err := pl.p.folder(b.handle).read()
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(n.Outer.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "bwrap to be gone", func() bool { return !alive(n.Outer) })
	if o := pl.observe(b.handle); o.State != sdk.Running {
		t.Errorf("it is %+v", o)
	}
	if got := b.run(`print(1)`); got != "1" {
		t.Errorf("it answers %q", got)
	}
	b.down()
}

func TestMachineThatDies(t *testing.T) {
	for _, kind := range few() {
		t.Run(kind, func(t *testing.T) {
			pl := newPlace(t)
			b := pl.up(pl.spec("dies", kind))
			pids := processesWith(pl.base + "#dies")
			for _, pid := range pids {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			if o := pl.await(b.handle, sdk.Failed); o.Message == "" || len(o.Endpoints) != 0 {
				t.Errorf("it is %+v", o)
			}
			if _, err := os.Stat(pl.p.folder(b.handle).root); err != nil {
				t.Errorf("its folder is gone: %v", err)
			}
			if step, err := pl.p.Create(context.Background(), pl.spec("dies", kind), nil); err != nil || step.Handle != b.handle {
				t.Errorf("create: %+v, %v", step, err)
			}
			if o := pl.observe(b.handle); o.State != sdk.Failed {
				t.Errorf("a key was used for a second machine: %+v", o)
			}
			b.down()
		})
	}
}

func TestProgramThatEndsAtOnce(t *testing.T) {
	for _, kind := range few() {
		for code, want := range map[string]struct {
			state sdk.State
			text  string
		}{
			"raise SystemExit('out of luck')": {sdk.Failed, "out of luck"},
			"import nothing_like_this":        {sdk.Failed, "nothing_like_this"},
		} {
			pl := newPlace(t)
			spec := pl.spec("brief", kind)
			spec.Command = []string{"python3", "-c", code}
			step, err := pl.p.Create(context.Background(), spec, nil)
			if err != nil {
				t.Fatal(err)
			}
			if o := pl.await(step.Handle, want.state); !strings.Contains(o.Message, want.text) {
				t.Errorf("%s, %s: %+v", kind, code, o)
			}
		}
	}
}

func TestTerminateRemovesWhatWasMadeUnreadable(t *testing.T) {
	pl := newPlace(t)
	outside := filepath.Join(pl.base, "outside")
	if err := os.Mkdir(outside, 0o500); err != nil {
		t.Fatal(err)
	}
	b := pl.up(pl.spec("modes", isolation.Bubblewrap))
	if got := b.run(`
import os
os.makedirs("/workspace/a/b/c"); open("/workspace/a/b/f", "w").close()
os.symlink(%q, "/workspace/a/link")
os.chmod("/workspace/a/b/f", 0); os.chmod("/workspace/a/b/c", 0); os.chmod("/workspace/a/b", 0); os.chmod("/workspace/a", 0); os.chmod("/workspace", 0)
os.makedirs("/tmp/" + "/".join(["d" * 200] * 15))
`, outside); got != "" {
		t.Fatal(got)
	}
	b.down()
	if info, err := os.Stat(outside); err != nil || info.Mode().Perm() != 0o500 {
		t.Errorf("it went outside: %v %v", info, err)
	}
}

func TestSocketCannotBeTurnedIntoAnother(t *testing.T) {
	for _, kind := range confined(few()) {
		t.Run(kind, func(t *testing.T) { decoy(t, kind) })
	}
}

func decoy(t *testing.T, kind string) {
	pl := newPlace(t)
	decoy := filepath.Join(pl.base, "d")
	l, err := net.Listen("unix", decoy)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	spec := pl.spec("link", kind)
	spec.Command = []string{"python3", "-c", fmt.Sprintf("import os,time\nos.symlink(%q, '/run/seer/s')\nopen('/workspace/done','w')\ntime.sleep(600)", decoy)}
	step, err := pl.p.Create(context.Background(), spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the link", func() bool {
		_, err := os.Stat(filepath.Join(pl.p.folder(step.Handle).path("workspace"), "done"))
		return err == nil
	})
	if o := pl.observe(step.Handle); o.State != sdk.Starting || len(o.Endpoints) != 0 {
		t.Errorf("a link is taken for the machine: %+v", o)
	}
	// Later it is too late as well.
	b := pl.up(pl.spec("later", kind))
	b.run(`import os; os.unlink("/run/seer/s"); os.symlink(%q, "/run/seer/s")`, decoy)
	if got := b.run(`print("still me")`); got != "still me" {
		t.Errorf("it answers %q", got)
	}
}

func TestRuntimeFolderEmptiedAtLogout(t *testing.T) {
	pl := newPlace(t)
	b := pl.up(pl.spec("logout", isolation.Bubblewrap))
	if err := os.RemoveAll(pl.p.RuntimeDir); err != nil {
		t.Fatal(err)
	}
	if o := pl.observe(b.handle); o.State != sdk.Running {
		t.Errorf("it is %+v", o)
	}
	if got := b.run(`print(1)`); got != "1" {
		t.Errorf("it answers %q", got)
	}
}

func TestOneKeyOneMachineAtOnce(t *testing.T) {
	pl := newPlace(t)
	providers := []*provider{pl.p, providerAt(pl.base)}
	spec := pl.spec("race", isolation.Bubblewrap)
	spec.Network = "none" // without a network proxy
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			if _, err := providers[i%2].Create(context.Background(), spec, nil); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	pl.await(handleOf(pl.base+"#race"), sdk.Running)
	if found := processesWith(pl.base + "#race"); len(found) != 2 { // bwrap and the program
		t.Errorf("processes %v", found)
	}
}

func TestPorts(t *testing.T) {
	port := testkit.FreePort(t) // the machine takes it when this test has given it up
	l := testkit.Listen(t, "tcp", "127.0.0.1:"+strconv.Itoa(port))
	pl := newPlace(t)
	spec := pl.spec("ports", isolation.Bubblewrap)
	spec.Ports = []int{port}
	if _, err := pl.p.Create(context.Background(), spec, nil); sdk.CodeOf(err) != sdk.Invalid || !strings.Contains(err.Error(), strconv.Itoa(port)) {
		t.Errorf("a taken port: %v", err)
	}
	pl.empty()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	b := pl.up(spec)
	if want := (sdk.Endpoint{Port: port, URL: fmt.Sprintf("http://127.0.0.1:%d", port)}); len(b.seen.Endpoints) != 2 || b.seen.Endpoints[1] != want {
		t.Errorf("endpoints %+v", b.seen.Endpoints)
	}
}

func TestRefusals(t *testing.T) {
	pl := newPlace(t)
	for name, tc := range map[string]struct {
		change func(*sdk.MachineSpec)
		code   sdk.Code
	}{
		"gpu":              {func(s *sdk.MachineSpec) { s.GPU = "A100" }, sdk.Unsupported},
		"packages":         {func(s *sdk.MachineSpec) { s.Image = &sdk.Image{PythonPackages: []string{"numpy"}} }, sdk.Unsupported},
		"system packages":  {func(s *sdk.MachineSpec) { s.Image = &sdk.Image{SystemPackages: []string{"jq"}} }, sdk.Unsupported},
		"image commands":   {func(s *sdk.MachineSpec) { s.Image = &sdk.Image{Commands: []string{"true"}} }, sdk.Unsupported},
		"image and none":   {func(s *sdk.MachineSpec) { s.Image, s.Isolation = &sdk.Image{Base: "debian"}, "none" }, sdk.Unsupported},
		"image and saved":  {func(s *sdk.MachineSpec) { s.Image = &sdk.Image{Base: "debian", Snapshot: "local:x"} }, sdk.Invalid},
		"a foreign image":  {func(s *sdk.MachineSpec) { s.Image = &sdk.Image{Snapshot: "im-123"} }, sdk.Invalid},
		"a missing image":  {func(s *sdk.MachineSpec) { s.Image = &sdk.Image{Snapshot: rootfs.SavedPrefix + strings.Repeat("0", 80)} }, sdk.NotFound},
		"another Python":   {func(s *sdk.MachineSpec) { s.Image = &sdk.Image{PythonVersion: "3.99"} }, sdk.Unsupported},
		"hosts without":    {func(s *sdk.MachineSpec) { s.Network = "hosts" }, sdk.Invalid},
		"hosts and open":   {func(s *sdk.MachineSpec) { s.NetworkHosts = []string{"a.org"} }, sdk.Invalid},
		"every host":       {func(s *sdk.MachineSpec) { s.Network, s.NetworkHosts = "hosts", []string{"*"} }, sdk.Invalid},
		"hosts of nobody":  {func(s *sdk.MachineSpec) { s.Network, s.NetworkHosts, s.Isolation = "hosts", []string{"a.org"}, "none" }, sdk.Unsupported},
		"network":          {func(s *sdk.MachineSpec) { s.Network = "fast" }, sdk.Invalid},
		"none without":     {func(s *sdk.MachineSpec) { s.Network, s.Isolation = "none", "none" }, sdk.Unsupported},
		"isolation":        {func(s *sdk.MachineSpec) { s.Isolation = "magic" }, sdk.Invalid},
		"no key":           {func(s *sdk.MachineSpec) { s.Key = "" }, sdk.Invalid},
		"no command":       {func(s *sdk.MachineSpec) { s.Command = nil }, sdk.Invalid},
		"no such mount":    {func(s *sdk.MachineSpec) { s.Mounts = []sdk.Mount{{Source: "/nowhere", Target: "/models/x"}} }, sdk.NotFound},
		"mount over all":   {func(s *sdk.MachineSpec) { s.Mounts = []sdk.Mount{{Source: "/usr", Target: "/"}} }, sdk.Invalid},
		"mount over /usr":  {func(s *sdk.MachineSpec) { s.Mounts = []sdk.Mount{{Source: "/opt", Target: "/x/../usr/"}} }, sdk.Invalid},
		"relative mount":   {func(s *sdk.MachineSpec) { s.Mounts = []sdk.Mount{{Source: "/usr", Target: "models"}} }, sdk.Invalid},
		"boot is not JSON": {func(s *sdk.MachineSpec) { s.Env["SEER_BOOT"] = "{" }, sdk.Invalid},
		"variable's name":  {func(s *sdk.MachineSpec) { s.Env["A=B"] = "x" }, sdk.Invalid},
		"variable's value": {func(s *sdk.MachineSpec) { s.Env["X"] = "a\x00b" }, sdk.Invalid},
	} {
		spec := pl.spec(name, isolation.Bubblewrap)
		tc.change(&spec)
		if _, err := pl.p.Create(context.Background(), spec, nil); sdk.CodeOf(err) != tc.code {
			t.Errorf("%s: %s, %v", name, sdk.CodeOf(err), err)
		}
		pl.empty()
	}
	if o := pl.observe("../../etc"); o.State != sdk.Stopped {
		t.Errorf("a handle that never was: %+v", o)
	}
	for _, h := range []string{"", "../..", "maaaaaaaaaaaa", "unknown"} {
		if err := pl.p.Terminate(context.Background(), h); err != nil {
			t.Errorf("terminate %q: %v", h, err)
		}
	}
}

// A machine of another computer that shares the home folder is neither over nor this one's to end,
// until it must have ended by itself.
func TestMachineOfAnotherComputer(t *testing.T) {
	t.Parallel()
	pl := newPlace(t)
	handle := handleOf("elsewhere")
	f := pl.p.folder(handle)
	n := &note{Key: "elsewhere", Owner: "me", Isolation: isolation.None, Outer: process{PID: 1 << 22, Start: "another:1"}, CreatedAt: time.Now(),
		EndUnix: time.Now().Add(time.Hour).Unix(), Computer: proc.Computer{Name: "node-7", Boot: "another"}}
	if err := errors.Join(f.make(), f.write(n)); err != nil {
		t.Fatal(err)
	}
	if o := pl.observe(handle); o.State != sdk.Unreachable || !strings.Contains(o.Message, "runs on the computer node-7") {
		t.Errorf("%+v", o)
	}
	testkit.WantCode(t, pl.p.Terminate(t.Context(), handle), sdk.Unsupported, "node-7")
	if !f.exists() {
		t.Error("the folder of the machine is gone")
	}
	for _, here := range []proc.Computer{{}, {Name: proc.Here().Name, Boot: "before the restart"}, {Name: "the former name", Boot: proc.Here().Boot}} {
		n.Computer = here
		if err := n.elsewhere(); err != nil {
			t.Errorf("%+v: %v", here, err)
		}
	}
	n.Computer, n.EndUnix = proc.Computer{Name: "node-7", Boot: "another"}, time.Now().Add(-time.Hour).Unix()
	if err := f.write(n); err != nil {
		t.Fatal(err)
	}
	if o := pl.observe(handle); o.State.Live() {
		t.Errorf("after its end: %+v", o)
	}
	if err := pl.p.Terminate(t.Context(), handle); err != nil || f.exists() {
		t.Errorf("after its end: %v", err)
	}
}
