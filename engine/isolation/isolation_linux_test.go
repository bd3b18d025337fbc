package isolation

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/remedy"
	"github.com/seer-engine/seer/internal/ordinaryuser"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

// kinds are the ones that confine. What is promised holds for each of them.
var kinds = []string{Bubblewrap, GVisor}

// each runs a test in every kind.
func each(t *testing.T, test func(t *testing.T, kind string)) {
	t.Helper()
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) { test(t, kind) })
	}
}

// places is where scripts/setup puts runsc.
func places() []string { return []string{ordinaryuser.Runsc(RunscBuild)} }

// prepare is Command with what gVisor needs.
func prepare(t *testing.T, kind string, spec Spec) (*exec.Cmd, error) {
	t.Helper()
	if kind == GVisor {
		spec.Places = places()
		if spec.State == "" {
			spec.State = t.TempDir()
		}
	}
	return Command(kind, spec)
}

// inside runs a shell script and returns what it printed.
func inside(t *testing.T, kind string, spec Spec, script string) string {
	t.Helper()
	spec.Argv = []string{"/bin/sh", "-c", script}
	cmd, err := prepare(t, kind, spec)
	if err != nil {
		t.Fatal(err)
	}
	defer Release(cmd)
	var out []byte
	if err := thread(kind, spec.off, func() error {
		out, _ = cmd.CombinedOutput() // a failing script says so in what it prints
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func TestDetectAndChoose(t *testing.T) { each(t, detectAndChoose) }

func detectAndChoose(t *testing.T, kind string) {
	ctx := context.Background()
	found := Detect(ctx, places()...)
	if len(found) != 3 || !slices.Contains(found, sdk.Isolation{Name: kind, Usable: true}) || found[2] != (sdk.Isolation{Name: None, Usable: true}) {
		t.Errorf("found %+v", found)
	}
	for asked, want := range map[string]string{"": Bubblewrap, Auto: Bubblewrap, kind: kind} {
		if got, err := Choose(ctx, asked, places()...); err != nil || !reflect.DeepEqual(got, Choice{Kind: want}) {
			t.Errorf("%q: %+v, %v", asked, got, err)
		}
	}
	if kind == GVisor { // a plan says the same, by Detect: what follows it may not be weaker
		t.Setenv("PATH", t.TempDir())
		installed := bubblewrapPlaces
		t.Cleanup(func() { bubblewrapPlaces = installed })
		clear(bubblewrapPlaces[:])
		if got, err := Choose(ctx, Auto, places()...); err != nil || !reflect.DeepEqual(got, Choice{Kind: GVisor}) {
			t.Errorf("auto, without bubblewrap: %+v, %v", got, err)
		}
	}
	if got, err := Choose(ctx, None); err != nil || got.Kind != None || !strings.Contains(got.Warning, "NO ISOLATION") {
		t.Errorf("none: %+v, %v", got, err)
	}
	if _, err := Choose(ctx, "docker"); sdk.CodeOf(err) != sdk.Invalid {
		t.Error(err)
	}
}

func TestUnusableKindIsNeverReplacedInSilence(t *testing.T) {
	noGVisor := sdk.Isolation{Name: GVisor, Reason: noRunsc, Missing: true}
	if _, err := choose(GVisor, noGVisor); sdk.CodeOf(err) != sdk.Unsupported || !strings.Contains(err.Error(), noRunsc) || !remedy.Has(remedy.Of(err), remedy.FixHost) {
		t.Errorf("asked for: %v", err)
	}
	missing := sdk.Isolation{Name: Bubblewrap, Reason: notInstalled, Missing: true}
	if _, err := choose(Bubblewrap, missing); sdk.CodeOf(err) != sdk.Unsupported || !strings.Contains(err.Error(), "apt-get install bubblewrap") {
		t.Errorf("asked for: %v", err)
	}
	got, err := choose(Auto, missing, noGVisor)
	if err != nil || got.Kind != None || !strings.Contains(got.Warning, "NO ISOLATION") || !strings.Contains(got.Warning, "apt-get install bubblewrap") ||
		!strings.Contains(got.Warning, noRunsc) || !remedy.Has(got.Remedies, remedy.FixHost) {
		t.Errorf("auto: %+v, %v", got, err)
	}
	if got, err := choose(Auto, missing, sdk.Isolation{Name: GVisor, Usable: true}); err != nil || !reflect.DeepEqual(got, Choice{Kind: GVisor}) {
		t.Errorf("auto, with gVisor: %+v, %v", got, err)
	}
}

// A try that did not end says nothing about bubblewrap: a busy computer must not lose its isolation.
func TestUndecidedIsNoReasonForNone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := Choose(ctx, Auto); !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestEmptyTree(t *testing.T) { each(t, emptyTree) }

func emptyTree(t *testing.T, kind string) {
	got := inside(t, kind, Spec{Hostname: "box"}, `id -u; id -un; hostname 2>/dev/null || cat /etc/hostname; ls /; touch /home/seer/x /tmp/x && rm /home/seer/x /tmp/x; ls -A /home /home/seer /tmp /run /var; echo $HOME; env; ls -l /proc/self/fd | wc -l`)
	want := "1000\nseer\nbox\nbin\ndev\netc\nhome\nlib\nlib64\nproc\nrun\nsbin\ntmp\nusr\nvar\n/home:\nseer\n\n/home/seer:\n\n/run:\n\n/tmp:\n\n/var:\ntmp\n\nPWD=/"
	for _, line := range strings.Split(want, "\n") {
		if !strings.Contains("\n"+got+"\n", "\n"+line+"\n") {
			t.Errorf("%q is missing in:\n%s", line, got)
		}
	}
	if strings.Contains(got, "work") || strings.Contains(got, "root") {
		t.Errorf("it sees too much:\n%s", got)
	}
}

func TestMountsAndEnvironment(t *testing.T) { each(t, mountsAndEnvironment) }

func mountsAndEnvironment(t *testing.T, kind string) {
	base := t.TempDir()
	dir := filepath.Join(base, "ordner mit ü")
	if err := os.MkdirAll(filepath.Join(dir, "in"), 0o755); err != nil {
		t.Fatal(err)
	}
	spec := Spec{
		Env:      map[string]string{"PATH": "/usr/bin:/bin", "LINES": "a\nb", "EMPTY": ""},
		Dir:      "/w",
		Mounts:   []sdk.Mount{{Source: dir, Target: "/w", Writable: true}, {Source: dir, Target: "/r"}},
		ReadOnly: []string{dir, "/usr/lib"},
	}
	got := inside(t, kind, spec, `pwd; echo "$LINES"; echo "${EMPTY-unset}"; touch /w/new && ls /r "`+dir+`"; touch /r/x "`+dir+`/x" 2>&1 | grep -c Read-only; ls "`+base+`"`)
	if !strings.HasPrefix(got, "/w\na\nb\n\n/r:\nin\nnew\n\n"+dir+":\nin\nnew\n2\nordner mit ü") {
		t.Errorf("inside:\n%s", got)
	}
	if _, err := os.Stat(filepath.Join(dir, "new")); err != nil {
		t.Error(err)
	}
}

// TestPathsThroughLinks: a file is shown where it is reached through links that are shown, too.
func TestPathsThroughLinks(t *testing.T) { each(t, pathsThroughLinks) }

func pathsThroughLinks(t *testing.T, kind string) {
	base := t.TempDir()
	for _, err := range []error{
		os.MkdirAll(filepath.Join(base, "v1/bin"), 0o755), os.WriteFile(filepath.Join(base, "v1/bin/tool"), []byte("found"), 0o644),
		os.Symlink("v1", filepath.Join(base, "current")), os.Symlink(filepath.Join(base, "current/bin"), filepath.Join(base, "v1/tools")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	in := func(name string) string { return filepath.Join(base, name) }
	got := inside(t, kind, Spec{
		Env: map[string]string{"PATH": "/usr/bin:/bin"}, Dir: "/",
		ReadOnly: []string{in("current"), in("current/tools"), in("current/tools/tool"), in("current/bin/tool")},
		Mounts:   []sdk.Mount{{Source: in("v1/bin"), Target: in("current/more")}},
	}, "cat "+in("current/bin/tool")+" "+in("current/tools/tool")+" "+in("current/more/tool"))
	if got != "foundfoundfound" {
		t.Errorf("inside: %q", got)
	}
}

func TestEnvironmentIsNotOnTheCommandLine(t *testing.T) { each(t, environmentIsNotOnTheCommandLine) }

func environmentIsNotOnTheCommandLine(t *testing.T, kind string) {
	cmd, err := prepare(t, kind, Spec{Argv: []string{"cat"}, Env: map[string]string{"TOKEN": "hush-hush"}})
	if err != nil {
		t.Fatal(err)
	}
	stdin, _ := testkit.StartPiped(t, cmd)
	Release(cmd)
	args, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", cmd.Process.Pid))
	if err != nil || strings.Contains(string(args), "hush-hush") {
		t.Errorf("%q, %v", args, err)
	}
	_ = stdin.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

func TestPlainCommand(t *testing.T) {
	spec := Spec{Argv: []string{"sh", "-c", "env; pwd"}, Env: map[string]string{"PATH": "/usr/bin:/bin"}, Dir: "/usr", Network: true}
	cmd, err := Command(None, spec)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := cmd.Output(); err != nil || !strings.Contains(string(out), "PATH=/usr/bin:/bin") || !strings.HasSuffix(string(out), "/usr\n") || strings.Contains(string(out), "HOME=") {
		t.Errorf("%q, %v", out, err)
	}
	for name, change := range map[string]func(*Spec){
		"no network":    func(s *Spec) { s.Network = false },
		"other place":   func(s *Spec) { s.Mounts = []sdk.Mount{{Source: "/usr", Target: "/models"}} },
		"no command":    func(s *Spec) { s.Argv = nil },
		"not in PATH":   func(s *Spec) { s.Argv = []string{"no-such-program"} },
		"PATH is empty": func(s *Spec) { s.Env = nil },
		"an image":      func(s *Spec) { s.Root.Image = "/usr" },
		"writable":      func(s *Spec) { s.Root.Writable = true },
	} {
		bad := spec
		change(&bad)
		if _, err := Command(None, bad); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

func TestDieWithParent(t *testing.T) {
	if kind := os.Getenv("SEER_TEST_PARENT"); kind != "" {
		cmd, err := prepare(t, kind, Spec{Argv: []string{"/bin/sh", "-c", "echo up; exec sleep 1000"}, DieWithParent: true, State: os.Getenv("SEER_TEST_STATE")})
		if err != nil {
			t.Fatal(err)
		}
		cmd.Stdout = os.NewFile(3, "out")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		return
	}
	each(t, dieWithParentIn)
}

func dieWithParentIn(t *testing.T, kind string) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	parent := exec.Command("/proc/self/exe", "-test.run=^TestDieWithParent$")
	parent.Env = append(os.Environ(), "SEER_TEST_PARENT="+kind, "SEER_TEST_STATE="+t.TempDir())
	parent.ExtraFiles = []*os.File{w}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	up := make([]byte, 3)
	if _, err := io.ReadFull(r, up); err != nil {
		t.Fatal(err)
	}
	_ = parent.Process.Kill()
	_ = parent.Wait()
	_ = r.SetReadDeadline(time.Now().Add(2 * time.Minute))
	if _, err := io.ReadAll(r); err != nil { // ends when the last holder of the pipe has died
		t.Errorf("it outlived its parent: %v", err)
	}
}

func TestNetworkOfItsOwn(t *testing.T) { each(t, networkOfItsOwn) }

func networkOfItsOwn(t *testing.T, kind string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	script := fmt.Sprintf(`python3 -c 'import socket; socket.create_connection(("127.0.0.1", %d), 5); print("connected")' 2>&1 | tail -n 1`, l.Addr().(*net.TCPAddr).Port)
	env := map[string]string{"PATH": "/usr/bin:/bin"}
	if got := inside(t, kind, Spec{Env: env}, script); !strings.Contains(got, "refused") {
		t.Errorf("without a network: %s", got)
	}
	if got := inside(t, kind, Spec{Env: env, Network: true}, script); got != "connected" {
		t.Errorf("with a network: %s", got)
	}
}

func TestReasons(t *testing.T) {
	sysctl := func(set map[string]string) func(string) string { return func(name string) string { return set[name] } }
	for want, tc := range map[string]struct {
		out string
		set map[string]string
	}{
		"sysctl -w kernel.unprivileged_userns_clone=1":            {"", map[string]string{"kernel/unprivileged_userns_clone": "0"}},
		"sysctl -w user.max_user_namespaces=15000":                {"", map[string]string{"user/max_user_namespaces": "0"}},
		"sysctl -w kernel.apparmor_restrict_unprivileged_userns=": {"bwrap: setting up uid map: Permission denied", map[string]string{"kernel/apparmor_restrict_unprivileged_userns": "1"}},
		"install version 0.5":                                     {"bwrap: Unknown option --as-pid-1", nil},
		"does not work here: bwrap: odd":                          {"bwrap: odd", nil},
		"does not work here: exit status 9":                       {"", nil},
	} {
		if got := explain(tc.out, fmt.Errorf("exit status 9"), sysctl(tc.set)); !strings.Contains(got, want) {
			t.Errorf("%q does not say %q", got, want)
		}
	}
}

// TestAsOrdinaryUser runs all the other tests again without root's rights.
func TestAsOrdinaryUser(t *testing.T) {
	again := ordinaryuser.Again{Args: []string{"-test.skip=^TestAsOrdinaryUser$"}, Files: map[string][]byte{"attacks.py": attacks(t)}}
	if dir := ordinaryuser.Runsc(RunscBuild); exists(filepath.Join(dir, "runsc")) { // without it, the tests that need it are skipped there as they are here
		again.Runsc = dir
	}
	if also := flag.Lookup("test.skip").Value.String(); also != "" {
		again.Args[0] += "|" + also
	}
	if only := flag.Lookup("test.run").Value.String(); only != "" && only != "^TestAsOrdinaryUser$" {
		again.Args = append(again.Args, "-test.run="+only)
	}
	again.Run(t)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
