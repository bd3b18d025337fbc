package egress

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

// shell is a host whose commands this test answers.
type shell struct {
	run func(ctx context.Context, host string, argv []string, stdin []byte) (SSHResult, error)

	mu   sync.Mutex
	used []string
}

func (s *shell) Run(ctx context.Context, host string, argv []string, stdin io.Reader) (SSHResult, error) {
	var sent []byte
	if stdin != nil {
		var err error
		if sent, err = io.ReadAll(stdin); err != nil {
			return SSHResult{}, err
		}
	}
	return s.run(ctx, host, argv, sent)
}

func (s *shell) Used(plugin, host string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used = append(s.used, plugin+" "+host)
	return nil
}

func (s *shell) Of(string) ([]string, error) { return []string{"lab-1"}, nil }

func lab() sdk.Manifest {
	return sdk.Manifest{
		ID:       "provider-lab",
		Settings: []sdk.Setting{{Name: "hosts", Doc: "hosts", Env: []string{"LAB_HOSTS"}}},
		Permissions: sdk.Permissions{SSH: []sdk.SSHPermission{
			{Hosts: []string{"lab-*", "{hosts}"}, Use: []string{sdk.SSHExec}, Reason: "runs"},
			{Hosts: []string{"lab-1"}, Use: []string{sdk.SSHForward}, Reason: "reaches"},
		}},
	}
}

func labWorld(s *shell, audits *[]Audit) world {
	return world{manifest: lab(), env: map[string]string{"LAB_HOSTS": "me@box, other"}, audits: audits,
		options: func(o *Options) { o.SSH, o.SSHHosts = s, s }}
}

func (g *guest) ssh(in sdk.SSHOpen, stdin string) (answer, error) {
	g.t.Helper()
	o, err := g.s.OpenSSH(in)
	return g.exchange(o, err, in.Body, stdin)
}

func TestCommandOnAHost(t *testing.T) {
	t.Parallel()
	large := bytes.Repeat([]byte("0123456789abcdef"), 200<<10) // more than a window
	var audits []Audit
	s := &shell{run: func(_ context.Context, host string, argv []string, stdin []byte) (SSHResult, error) {
		if argv[0] == "large" {
			return SSHResult{Stdout: bytes.Clone(large)}, nil
		}
		return SSHResult{Stdout: stdin, Stderr: []byte(host + " " + strings.Join(argv, " ") + strings.Repeat("x", 5000) + "end"), Code: 3}, nil
	}}
	g := labWorld(s, &audits).guest(t)
	for _, host := range []string{"lab-7", "me@box", "other"} {
		a, err := g.ssh(sdk.SSHOpen{Host: host, Argv: []string{sdk.SSHProgram, "provider", "list"}, Body: true}, "{}")
		if err != nil || a.body != "{}" || a.end.Code != 3 || len(a.end.Message) != 4<<10 || !strings.HasSuffix(a.end.Message, "end") {
			t.Errorf("%s: %q %+v, %v", host, a.body, a.end.Code, err)
		}
	}
	if a, err := g.ssh(sdk.SSHOpen{Host: "lab-1", Argv: []string{"large"}}, ""); err != nil || a.body != string(large) {
		t.Errorf("%d bytes, %v", len(a.body), err)
	}
	if !slices.Equal(s.used, []string{"provider-lab lab-7", "provider-lab me@box", "provider-lab other", "provider-lab lab-1"}) {
		t.Errorf("remembered %q", s.used)
	}
	if a := audits[0]; len(audits) != 4 || a.Destination != "ssh://lab-7" || a.Path != "/{seer-runtime} provider list" || a.Permission != "ssh lab-* exec" || a.Status != 3 || a.Sent != 2 {
		t.Errorf("%d audits, the first %+v", len(audits), a)
	}
}

func TestCommandRefused(t *testing.T) {
	t.Parallel()
	s := &shell{run: func(context.Context, string, []string, []byte) (SSHResult, error) {
		t.Error("ssh was started")
		return SSHResult{}, nil
	}}
	var audits []Audit
	g := labWorld(s, &audits).guest(t)
	for host, want := range map[string]sdk.Code{
		"box": sdk.Unauthorized, "me@lab-1": sdk.Unauthorized, "": sdk.Invalid, "-oProxyCommand=x": sdk.Invalid, "lab-1;id": sdk.Invalid, "lab-1 id": sdk.Invalid,
	} {
		_, err := g.ssh(sdk.SSHOpen{Host: host, Argv: []string{"id"}}, "")
		testkit.WantCode(t, err, want, "")
	}
	for _, argv := range [][]string{nil, {""}, {"a\x00b"}, {strings.Repeat("x", 70<<10)}} {
		_, err := g.ssh(sdk.SSHOpen{Host: "lab-1", Argv: argv}, "")
		testkit.WantCode(t, err, sdk.Invalid, "")
	}
	for _, a := range audits {
		if !a.Refused || a.Permission != "" && a.Destination == "" {
			t.Errorf("%+v", a)
		}
	}
	withheld := granted(labWorld(s, nil), func(line string) bool { return line != "ssh lab-* exec" }).guest(t)
	_, err := withheld.ssh(sdk.SSHOpen{Host: "lab-1", Argv: []string{"id"}}, "")
	testkit.WantCode(t, err, sdk.Unauthorized, "`ssh lab-* exec`, but it was not granted")
	limited := labWorld(s, nil)
	limited.options = func(o *Options) { o.SSH, o.Destinations = s, []string{"*.example.org"} }
	_, err = limited.guest(t).ssh(sdk.SSHOpen{Host: "lab-1", Argv: []string{"id"}}, "")
	testkit.WantCode(t, err, sdk.Unauthorized, "plugins.destinations")
}

func TestCommandFails(t *testing.T) {
	t.Parallel()
	s := &shell{run: func(ctx context.Context, host string, _ []string, _ []byte) (SSHResult, error) {
		if host == "lab-slow" {
			<-ctx.Done()
			return SSHResult{}, ctx.Err()
		}
		return SSHResult{}, sdk.Errorf(sdk.NotFound, "there is no host %s", host)
	}}
	g := labWorld(s, nil).guest(t)
	_, err := g.ssh(sdk.SSHOpen{Host: "lab-9", Argv: []string{"id"}}, "")
	testkit.WantCode(t, err, sdk.NotFound, "there is no host lab-9")
	_, err = g.ssh(sdk.SSHOpen{Host: "lab-slow", Argv: []string{"id"}, TimeoutSeconds: 0.05}, "")
	testkit.WantCode(t, err, sdk.Unavailable, "took too long")
	if len(s.used) != 0 {
		t.Errorf("hosts that nobody has reached are remembered: %q", s.used)
	}
}

func TestRoutesNeedAPermission(t *testing.T) {
	t.Parallel()
	g := labWorld(&shell{}, nil).gateway(t)
	route := sdk.SSHRoute{Host: "lab-1", Target: "tcp:80"}
	if err := g.AllowRoute(t.Context(), sdk.Route{SSH: &route}); err != nil {
		t.Error(err)
	}
	route.Command = []string{sdk.SSHProgram, "pipe"}
	if err := g.AllowRoute(t.Context(), sdk.Route{SSH: &route}); err != nil {
		t.Error(err)
	}
	route.Host = "lab-2"
	testkit.WantCode(t, g.AllowRoute(t.Context(), sdk.Route{SSH: &route}), sdk.Unauthorized, "does not allow forward on the host lab-2")
	onlyForward := granted(labWorld(&shell{}, nil), func(line string) bool { return strings.HasSuffix(line, " forward") }).gateway(t)
	route.Host = "lab-1"
	testkit.WantCode(t, onlyForward.AllowRoute(t.Context(), sdk.Route{SSH: &route}), sdk.Unauthorized, "not granted")
}

func TestHostsNeedAPermission(t *testing.T) {
	t.Parallel()
	if hosts, err := labWorld(&shell{}, nil).guest(t).s.SSHHosts(); err != nil || !slices.Equal(hosts, []string{"lab-1"}) {
		t.Errorf("%q, %v", hosts, err)
	}
	_, err := world{manifest: cloud()}.guest(t).s.SSHHosts()
	testkit.WantCode(t, err, sdk.Unauthorized, "asks for no host")
}

func TestCheckSSH(t *testing.T) {
	t.Parallel()
	m := lab()
	m.Permissions.SSH = append(m.Permissions.SSH, sdk.SSHPermission{Hosts: []string{"", "a b", "lab-[", "a/b", "{no}"}, Use: []string{"exec", "shell"}}, sdk.SSHPermission{Reason: "x"})
	var at []string
	for _, p := range Check(m) {
		at = append(at, strings.TrimPrefix(p.At, "permissions.ssh."))
	}
	slices.Sort(at)
	want := []string{"2.hosts.0", "2.hosts.1", "2.hosts.2", "2.hosts.3", "2.hosts.4", "2.reason", "2.use.1", "3.hosts", "3.use"}
	if !slices.Equal(at, want) {
		t.Errorf("mistakes at %q", at)
	}
}
