package sshhost_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/forward"
	"github.com/seer-engine/seer/engine/ssh"
	"github.com/seer-engine/seer/internal/sshtest"
	"github.com/seer-engine/seer/internal/testbuild"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

var artifacts string

func TestMain(m *testing.M) {
	testkit.Main(m, func(dir string) (err error) {
		artifacts, err = testbuild.Runtime(dir)
		return err
	})
}

// box is a host and its client.
type box struct {
	*sshtest.Server
	t       *testing.T
	c       *ssh.Client
	options ssh.Options
	mark    string // in the keys of its machines: other tests have machines of this user, too
}

func newBox(t *testing.T) *box {
	t.Helper()
	l := sshtest.New(t)
	s := l.Start("box", "", "")
	o := ssh.Options{Dir: filepath.Join(l.Dir, "s"), ConfigFile: l.Config, Artifacts: artifacts}
	c := ssh.New(o)
	b := &box{s, t, c, o, strings.ToLower(rand.Text()[:8])}
	t.Cleanup(func() {
		for _, m := range testkit.Must(call[[]sdk.Listed](b, "list", sdk.ListInput{Owner: "me"}))(t) {
			testkit.Must(call[struct{}](b, "terminate", sdk.TerminateInput{Handle: m.Handle}))(t)
		}
		_ = c.Close()
		if err := c.Disconnect("box"); err != nil {
			t.Error(err)
		}
		sshtest.Gone(t, s.Home)
	})
	return b
}

func call[Out any](b *box, method string, in any) (Out, error) {
	b.t.Helper()
	r, err := b.c.Run(context.WithoutCancel(b.t.Context()), "box", ssh.Command{Argv: []string{ssh.ProgramArg, "provider", method}, Stdin: strings.NewReader(testkit.JSON(b.t, in))})
	if err != nil || r.Code != 0 {
		b.t.Fatalf("%s: %d %q %v\n%s", method, r.Code, r.Stderr, err, b.Log())
	}
	return sshtest.Output[Out](b.t, r.Stdout)
}

// start makes a machine, and waits until it runs.
func (b *box) start(key string) sdk.Observation {
	b.t.Helper()
	step := testkit.Must(call[sdk.CreateStep](b, "create", sdk.CreateInput{Spec: sshtest.Spec(key + b.mark)}))(b.t)
	var o sdk.Observation
	testkit.Eventually(b.t, "the machine", func() bool {
		o = testkit.Must(call[[]sdk.Observation](b, "observe", sdk.ObserveInput{Handles: []string{step.Handle}}))(b.t)[0]
		if !o.State.Live() {
			b.t.Fatalf("%+v", o)
		}
		return o.State == sdk.Running
	})
	return o
}

func (b *box) dial(target string) (net.Conn, error) {
	return b.c.Dial(b.t.Context(), ssh.Route{Host: "box"}, target)
}

// echoes connects to a target of the host, which sends back what it gets.
func (b *box) echoes(target, text string) {
	b.t.Helper()
	conn, err := b.dial(target)
	if err == nil {
		err = testkit.Echoes(conn, text)
	}
	if err != nil {
		b.t.Fatalf("%s: %v", target, err)
	}
}

var megabyte = strings.Repeat("0123456789abcdef", 1<<16)

// targets are those of the machine's socket and of its port.
func targets(o sdk.Observation) []string {
	var out []string
	for _, e := range o.Endpoints {
		out = append(out, strings.Replace(e.URL, "http://127.0.0.1:", "tcp:", 1))
	}
	return out
}

func TestMachineOnAHost(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	info := testkit.Must(call[sdk.ProviderInfo](b, "describe", struct{}{}))(t)
	if info.Name != "local" || len(info.Isolations) != 3 || !info.Isolations[0].Usable {
		t.Fatalf("%+v", info)
	}
	if offers := testkit.Must(call[[]sdk.Offer](b, "offers", sdk.OfferQuery{}))(t); len(offers) != 1 || offers[0].ID != "local" {
		t.Errorf("%+v", offers)
	}
	one := b.start("seer-one")
	again := testkit.Must(call[sdk.CreateStep](b, "create", sdk.CreateInput{Spec: sshtest.Spec("seer-one" + b.mark)}))(t)
	if again.Handle != one.Handle || one.Isolation != "bubblewrap" || len(one.Endpoints) != 2 {
		t.Errorf("%+v, again %+v", one, again)
	}
	two := b.start("seer-two") // wants the same port
	for _, target := range append(targets(one), targets(two)...) {
		b.echoes(target, megabyte)
	}
	listed := testkit.Must(call[[]sdk.Listed](b, "list", sdk.ListInput{Owner: "me"}))(t)
	if len(listed) != 2 || listed[0].EndUnix == 0 {
		t.Errorf("%+v", listed)
	}
	testkit.Must(call[struct{}](b, "terminate", sdk.TerminateInput{Handle: one.Handle}))(t)
	for _, target := range targets(one) {
		if conn, err := b.dial(target); sdk.CodeOf(err) != sdk.Unavailable {
			t.Errorf("of a machine that has ended, %s: %v, %v", target, conn, err)
		}
	}
	if o := testkit.Must(call[[]sdk.Observation](b, "observe", sdk.ObserveInput{Handles: []string{one.Handle, two.Handle}}))(t); o[0].State != sdk.Stopped || o[1].State != sdk.Running {
		t.Errorf("%+v", o)
	}
	if n := b.Connections(); n != 1 {
		t.Errorf("%d logins", n)
	}
	_, err := call[struct{}](b, "explode", struct{}{})
	testkit.WantCode(t, err, sdk.Unsupported, `no method "explode"`)
	_, err = call[struct{}](b, "create", []int{1})
	testkit.WantCode(t, err, sdk.Invalid, "not what the contract says")
	facts := testkit.Must(call[map[string]any](b, "facts", struct{}{}))(t)
	if facts["state_dir"] != filepath.Join(b.Home, ".local/state/seer") || !strings.Contains(fmt.Sprint(facts["python"]), "/python3") {
		t.Errorf("%v", facts)
	}
	checkAndClean(t, b, two)
}

// checkAndClean has the host look at itself, and removes its cache: not beside a machine, and then
// all of it but the program that a connection still uses.
func checkAndClean(t *testing.T, b *box, machine sdk.Observation) {
	t.Helper()
	for _, method := range []string{"check", "check-node"} {
		states := map[string]string{}
		for _, f := range testkit.Must(call[[]sdk.Finding](b, method, sdk.CheckQuery{Network: "none", Isolation: "bubblewrap"}))(t) {
			states[f.Name] = f.State
		}
		for _, name := range []string{"python", "isolation", "user namespaces"} {
			if states[name] != sdk.FindingOK {
				t.Errorf("%s: %v", method, states)
			}
		}
	}
	cache := filepath.Join(b.Home, ".cache/seer/models")
	if err := os.MkdirAll(cache, 0o700); err != nil {
		t.Fatal(err)
	}
	names := func(dry bool) (all []string) {
		for _, c := range testkit.Must(call[[]sdk.Cleaned](b, "clean", sdk.CleanInput{DryRun: dry}))(t) {
			if strings.HasPrefix(c.Name, "~/") {
				all = append(all, c.Name)
			}
		}
		return all
	}
	if got := names(true); len(got) != 0 {
		t.Errorf("beside a machine: %v", got)
	}
	testkit.Must(call[struct{}](b, "terminate", sdk.TerminateInput{Handle: machine.Handle}))(t)
	for _, dry := range []bool{true, false} {
		if got := names(dry); len(got) == 0 || got[len(got)-1] != "~/.cache/seer/models" {
			t.Errorf("dry %v: %v", dry, got)
		}
	}
	for _, name := range names(true) {
		if strings.HasPrefix(name, "~/.cache/seer/host/") {
			t.Errorf("%s goes, which a connection still uses", name)
		}
	}
	if _, err := os.Stat(cache); !os.IsNotExist(err) {
		t.Errorf("the cache is still there: %v", err)
	}
}

// The end of a machine is set by the clock of the user's computer, and kept by that of the host.
func TestClocksDiffer(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	day, now := 24*time.Hour, time.Now()
	create := func(key string, ahead, left time.Duration) string {
		spec := sshtest.Spec(key + b.mark)
		spec.EndUnix = now.Add(ahead + left).Unix()
		in := map[string]any{"spec": spec, "now_unix": time.Now().Add(ahead).Unix()}
		return testkit.Must(call[sdk.CreateStep](b, "create", in))(t).Handle
	}
	state := func(handle string) sdk.State {
		return testkit.Must(call[[]sdk.Observation](b, "observe", sdk.ObserveInput{Handles: []string{handle}}))(t)[0].State
	}
	behind := create("seer-behind", -day, time.Hour) // it has ended long ago, by the clock of the host
	ahead := create("seer-ahead", day, 5*time.Second)
	testkit.Eventually(t, "the machine", func() bool { return state(behind) == sdk.Running })
	testkit.Eventually(t, "the end of the machine", func() bool { return !state(ahead).Live() })
	if got := state(behind); got != sdk.Running {
		t.Errorf("it is %s", got)
	}
	for _, m := range testkit.Must(call[[]sdk.Listed](b, "list", map[string]any{"owner": "me", "now_unix": time.Now().Add(-day).Unix()}))(t) {
		off := time.Unix(m.EndUnix, 0).Sub(now.Add(-day + time.Hour)).Abs()
		if m.Handle == behind && off > time.Minute+time.Since(now) { // what was sent may have waited
			t.Errorf("the user is told another end than was asked for: %+v", m)
		}
	}
}

// The pipe is no way to anything but machines of its user.
func TestPipeLeadsToMachinesOnly(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	o := b.start("seer-one")
	secret := testkit.UnixSocket(t)
	testkit.Serve(secret, testkit.Say("secret"))
	open := testkit.Loopback(t)
	testkit.Serve(open, testkit.Say("secret"))
	socket := strings.TrimPrefix(targets(o)[0], "unix:")
	beside := filepath.Join(filepath.Dir(socket), "other")
	if l, err := net.Listen("unix", beside); err == nil {
		defer l.Close()
		testkit.Serve(l, testkit.Say("secret"))
	}
	for _, target := range []string{
		"unix:" + secret.Addr().String(), fmt.Sprint("tcp:", testkit.Port(open)), "tcp:22", fmt.Sprint("tcp:", b.Port), "unix:" + beside,
		"unix:" + filepath.Dir(socket), "unix:/../s", "unix:" + socket + "/../s", "tcp:8717", "unix:/x/maaaaaaaaaaaa/s",
		"tcp:0", "tcp:-1", "tcp:99999", "tcp:example.org:80", "udp:53", "unix:relative", "", "unix:/a\nunix:/b",
	} {
		conn, err := b.dial(target)
		if err == nil {
			_ = conn.SetDeadline(time.Now().Add(time.Second))
			text, _ := io.ReadAll(conn)
			t.Errorf("%q was connected to: %q", target, text)
		}
	}
	// A name below another folder for sockets is that of the same machine.
	b.echoes("unix:/elsewhere/"+filepath.Base(filepath.Dir(socket))+"/s", "hello")
}

// Everything of a machine that can be lost is: the short name of its socket, as at a logout,
// its network proxy and its watchdog. The next connection mends it.
func TestMachineIsMended(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	o := b.start("seer-one")
	if err := os.RemoveAll(filepath.Join(b.Home, "run")); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(b.Home, "run"), 0o700); err != nil {
		t.Fatal(err)
	}
	killed := 0
	for _, pid := range sshtest.Processes("seer-runtime-") {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if strings.HasPrefix(string(line), b.Home) && (bytes.Contains(line, []byte("\x00netproxy\x00")) || bytes.Contains(line, []byte("\x00watchdog\x00"))) {
			killed++
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	if killed != 2 {
		t.Errorf("%d processes were killed", killed)
	}
	for _, target := range targets(o) {
		b.echoes(target, "hello")
	}
}

// Another program takes the port of a network proxy that was killed. The route to the machine,
// which names that port, leads to the machine and never to the other program.
func TestPortIsTakenWhileTheProxyIsDead(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	port := targets(b.start("seer-one"))[1]
	for _, pid := range sshtest.Processes("seer-runtime-") {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if strings.HasPrefix(string(line), b.Home) && bytes.Contains(line, []byte("\x00netproxy\x00")) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	var other net.Listener
	testkit.EventuallyNil(t, "the port", func() (err error) {
		other, err = net.Listen("tcp", "127.0.0.1:"+strings.TrimPrefix(port, "tcp:"))
		return err
	})
	defer other.Close()
	testkit.Serve(other, testkit.Say("secret"))
	for range 2 {
		b.echoes(port, "hello")
	}
}

// The server is killed with all connections, and started again: machines go on.
func TestMachinesSurviveTheServer(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	o := b.start("seer-one")
	conn, err := b.dial(targets(o)[0])
	if err != nil {
		t.Fatal(err)
	}
	b.Kill()
	if _, err := io.ReadAll(conn); err == nil {
		t.Error("a connection that was cut has ended as if all had been sent")
	}
	if _, err := b.dial(targets(o)[0]); err == nil {
		t.Error("connected without a server")
	}
	b.Run()
	b.echoes(targets(o)[0], "hello")
	if now := testkit.Must(call[[]sdk.Observation](b, "observe", sdk.ObserveInput{Handles: []string{o.Handle}}))(t)[0]; now.State != sdk.Running {
		t.Errorf("%+v", now)
	}
}

// All of it together: a port of this computer leads to the machine, whatever is killed on the
// way, and stays the same.
func TestPortOfAMachine(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	o := b.start("seer-one")
	f := &forward.Forwarder{Dir: filepath.Join(filepath.Dir(b.options.Dir), "forward"), Artifacts: b.options.Artifacts, SSH: b.options}
	var wanted []forward.Wanted
	for i, target := range targets(o) {
		wanted = append(wanted, forward.Wanted{Port: o.Endpoints[i].Port, Route: forward.Route{SSH: &forward.SSH{Host: "box"}}, Target: target})
	}
	urls := testkit.Must(f.Ensure(t.Context(), "one", wanted))(t)
	t.Cleanup(func() {
		if err := f.Remove(context.Background(), "one"); err != nil {
			t.Error(err)
		}
		sshtest.Gone(t, f.Dir)
	})
	try := func() {
		t.Helper()
		for _, url := range urls {
			var conn net.Conn
			testkit.EventuallyNil(t, url, func() (err error) {
				if conn, err = net.Dial("tcp", strings.TrimPrefix(url, "http://")); err == nil {
					if _, err = conn.Write([]byte("x")); err == nil {
						_, err = io.ReadFull(conn, make([]byte, 1))
					}
				}
				return err
			})
			if err := testkit.Echoes(conn, megabyte); err != nil {
				t.Error(err)
			}
		}
	}
	try()
	for _, part := range []string{"pipe\x00", "forward\x00" + f.Dir, "seer-runtime-"} { // the last is also network proxies and watchdogs
		for _, pid := range sshtest.Processes(part) {
			line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			if strings.HasPrefix(string(line), b.Home) || strings.HasSuffix(string(line), f.Dir+"\x00") {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		if again := testkit.Must(f.Ensure(t.Context(), "one", wanted))(t); !reflect.DeepEqual(again, urls) {
			t.Errorf("%v, and before %v", again, urls)
		}
		try()
	}
	if err := b.c.Disconnect("box"); err != nil {
		t.Fatal(err)
	}
	try()
}
