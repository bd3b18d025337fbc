package local

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/gpulease"
	"github.com/seer-engine/seer/engine/image/registry"
	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/machine/local/watchdog"
	"github.com/seer-engine/seer/engine/netproxy"
	"github.com/seer-engine/seer/internal/ordinaryuser"
	"github.com/seer-engine/seer/sdk"
)

// program stands for the loader: it listens where it is told to and runs the
// Python that it is sent.
const program = `
import contextlib, io, json, os, signal, socket, sys, traceback
boot = json.loads(os.environ["SEER_BOOT"])
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
here = os.getcwd()
folder, name = os.path.split(boot["listen"][5:])
s = socket.socket(socket.AF_UNIX)
os.chdir(folder); s.bind(name); os.chdir(here)
s.listen(8)
while True:
    c, _ = s.accept()
    with c, c.makefile("rw") as f:
        line = f.readline()
        if not line:
            continue
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            try:
                exec(json.loads(line), {"boot": boot})
            except BaseException:
                print(traceback.format_exc())
        f.write(out.getvalue())
`

const patience = 2 * time.Minute // for what must come

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "netproxy" {
		os.Exit(netproxy.Main(os.Stdin, os.Stderr))
	}
	if len(os.Args) == 3 && os.Args[1] == "watchdog" {
		os.Exit(watchdog.Main(os.Args[2], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// place is a local provider on folders of its own.
type place struct {
	t    *testing.T
	p    *provider
	base string
}

func newPlace(t *testing.T) *place {
	t.Helper()
	base, err := os.MkdirTemp("/tmp", "seer-t")
	if err != nil {
		t.Fatal(err)
	}
	pl := &place{t: t, base: base, p: providerAt(base)}
	t.Cleanup(pl.close)
	return pl
}

// providerAt puts the machines at a path that is long and has what breaks bad
// quoting.
func providerAt(base string) *provider {
	p := New(Options{
		Dir:        filepath.Join(base, "a state där with spaces "+strings.Repeat("x", 100), "machines"),
		RuntimeDir: filepath.Join(base, "r"),
		Python: func(ctx context.Context) (isolation.Interpreter, error) {
			return isolation.Python(ctx, func(string) string { return "" })
		},
		Leases: leasesAt(base, func(context.Context) (gpulease.State, error) { return gpulease.State{}, nil }),
		Grace:  time.Second, NetProxy: []string{"/proc/self/exe", "netproxy"}, Watchdog: []string{"/proc/self/exe", "watchdog"}, Places: []string{ordinaryuser.Runsc(isolation.RunscBuild)}, Registry: registry.Open,
	}).(*provider)
	for _, kind := range own() { // whose trials would be most of the tests' time; TestDescribe makes them
		p.trials.proven.Store(kind, true)
	}
	return p
}

// leasesAt has GPUs claimed in a folder of the test.
func leasesAt(base string, ask gpulease.Asker) func() (*gpulease.Folder, error) {
	return func() (*gpulease.Folder, error) {
		return gpulease.Open(gpulease.Options{Dir: filepath.Join(base, "gpus"), Ask: ask})
	}
}

// close ends what a test has left, and complains about what is left then.
func (pl *place) close() {
	listed, err := pl.p.List(context.Background(), "me")
	if err != nil {
		pl.t.Error(err)
	}
	for _, m := range listed {
		if err := pl.p.Terminate(context.Background(), m.Handle); err != nil {
			pl.t.Error(err)
		}
	}
	pl.empty()
	if err := os.RemoveAll(pl.base); err != nil {
		pl.t.Error(err)
	}
}

// empty checks that nothing is left of any machine.
func (pl *place) empty() {
	pl.t.Helper()
	// The watchdog ends after the last machine.
	if !until(context.Background(), patience, func() bool { return len(processesWith(pl.base)) == 0 }) {
		pl.t.Errorf("processes are left: %v", processesWith(pl.base))
	}
	for _, dir := range []string{pl.p.Dir, filepath.Join(pl.p.Dir, "locks"), pl.p.RuntimeDir} {
		entries, err := os.ReadDir(dir)
		if err != nil && !os.IsNotExist(err) {
			pl.t.Error(err)
		}
		for _, e := range entries {
			if !slices.Contains([]string{"locks", "images", "saved", "bubblewrap-works", "gvisor-works", "uplink-works"}, e.Name()) { // which outlive machines
				pl.t.Errorf("%s is left in %s", e.Name(), dir)
			}
		}
	}
}

// spec is a machine whose key names the test's folder, so that its processes can
// be found.
func (pl *place) spec(key, kind string) sdk.MachineSpec {
	return sdk.MachineSpec{
		Key: pl.base + "#" + key, Owner: "me", Name: key,
		Command:   []string{"python3", "-c", program},
		Env:       map[string]string{"SEER_BOOT": `{"listen":"tcp:0.0.0.0:7070","admin_sha256":"00"}`, "GREETING": "a b=c"},
		Port:      7070,
		Isolation: kind,
		Network:   "open",
	}
}

// up starts a machine and waits until it answers.
func (pl *place) up(spec sdk.MachineSpec) *box {
	pl.t.Helper()
	step, err := pl.create(spec)
	if err != nil {
		pl.t.Fatal(err)
	}
	return &box{pl: pl, handle: step.Handle, log: step.Log, seen: pl.await(step.Handle, sdk.Running)}
}

// upEnding starts a machine that the watchdog ends within seconds, and gives more of them where it
// has ended before it ran.
func (pl *place) upEnding(kind string) {
	pl.t.Helper()
	for left := 5 * time.Second; ; left *= 3 {
		spec := pl.spec(left.String(), kind)
		spec.EndUnix = time.Now().Add(left - 10*time.Second).Unix() // and ten seconds of grace
		step, err := pl.create(spec)
		if err != nil {
			pl.t.Fatal(err)
		}
		var o sdk.Observation
		eventually(pl.t, "the machine to run or to end", func() bool {
			o = pl.observe(step.Handle)
			return o.State == sdk.Running || !o.State.Live()
		})
		if o.State == sdk.Running {
			return
		}
		if left > 2*time.Minute {
			pl.t.Fatalf("it ended: %+v", o)
		}
	}
}

func (pl *place) observe(handle string) sdk.Observation {
	pl.t.Helper()
	seen, err := pl.p.Observe(context.Background(), []string{handle})
	if err != nil || len(seen) != 1 {
		pl.t.Fatalf("observe: %+v, %v", seen, err)
	}
	return seen[0]
}

func (pl *place) await(handle string, want sdk.State) sdk.Observation {
	pl.t.Helper()
	var o sdk.Observation
	eventually(pl.t, fmt.Sprintf("%s to be %s", handle, want), func() bool {
		o = pl.observe(handle)
		if want == sdk.Running && !o.State.Live() {
			pl.t.Fatalf("it ended: %+v", o)
		}
		return o.State == want
	})
	return o
}

// box is a machine that runs.
type box struct {
	pl     *place
	handle string
	log    []string
	seen   sdk.Observation
}

// run executes Python inside and returns what it printed.
func (b *box) run(code string, args ...any) string {
	b.pl.t.Helper()
	conn, err := net.Dial("unix", strings.TrimPrefix(b.seen.Endpoints[0].URL, "unix:"))
	if err != nil {
		b.pl.t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	line, err := json.Marshal(fmt.Sprintf(code, args...))
	if err != nil {
		b.pl.t.Fatal(err)
	}
	if _, err := conn.Write(append(line, '\n')); err != nil {
		b.pl.t.Fatal(err)
	}
	out, err := io.ReadAll(conn)
	if err != nil {
		b.pl.t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func (b *box) down() {
	b.pl.t.Helper()
	if err := b.pl.p.Terminate(context.Background(), b.handle); err != nil {
		b.pl.t.Fatal(err)
	}
	if o := b.pl.observe(b.handle); o.State != sdk.Stopped {
		b.pl.t.Errorf("after its end it is %+v", o)
	}
}

// eventually polls for a condition.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	if !until(context.Background(), patience, done) {
		t.Fatalf("waited in vain for %s", what)
	}
}

// processesWith finds the processes of this computer whose arguments or
// environment contain the text; this one and its parents are left out.
func processesWith(text string) []int {
	entries, _ := os.ReadDir("/proc")
	own := map[int]bool{os.Getpid(): true, os.Getppid(): true}
	var out []int
	for _, e := range entries {
		var pid int
		if _, err := fmt.Sscanf(e.Name(), "%d", &pid); err != nil || own[pid] {
			continue
		}
		if _, ok := startOf(pid); !ok {
			continue
		}
		args, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		env, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		if strings.Contains(string(args)+"\x00"+string(env), text) {
			out = append(out, pid)
		}
	}
	return out
}

// TestAsOrdinaryUser runs all the other tests again without root's rights.
func TestAsOrdinaryUser(t *testing.T) {
	again, skip := ordinaryuser.Again{Env: []string{"SEER_TEST_GVISOR=" + os.Getenv("SEER_TEST_GVISOR")}}, "^TestAsOrdinaryUser$"
	if os.Getenv("SEER_TEST_GVISOR") == "" {
		skip += "|^TestGVisor"
	} else {
		again.Runsc = ordinaryuser.Runsc(isolation.RunscBuild)
	}
	again.Args = []string{"-test.skip=" + skip}
	again.Run(t)
}
