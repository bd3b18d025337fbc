package ssh_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/pipe"
	"github.com/seer-engine/seer/engine/ssh"
	"github.com/seer-engine/seer/internal/sshtest"
	"github.com/seer-engine/seer/internal/testbuild"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

func client(t testing.TB, l *sshtest.Lab, change ...func(*ssh.Options)) *ssh.Client {
	t.Helper()
	o := ssh.Options{Dir: filepath.Join(testkit.ShortDir(t), "s"), ConfigFile: l.Config, Artifacts: artifacts}
	for _, f := range change {
		f(&o)
	}
	c := ssh.New(o)
	t.Cleanup(func() {
		_ = c.Close()
		for _, name := range []string{"box", "bastion", "inner"} {
			_ = c.Disconnect(name)
		}
	})
	return c
}

func TestRun(t *testing.T) {
	t.Parallel()
	l := sshtest.New(t)
	box := l.Start("box", "", "")
	testkit.WriteFile(t, filepath.Join(box.Home, ".bashrc"), "echo welcome to box\necho noise >&2\nprintf half\n")
	c := client(t, l)
	hostile := []string{"printf", "%s|", "", "it's", "a b", "$HOME", "`id`", "!x", "*", "\\n", "é\n", "-n", "50%"}
	r, err := c.Run(t.Context(), "box", ssh.Command{Argv: hostile})
	if err != nil || r.Code != 0 || string(r.Stdout) != strings.Join(hostile[2:], "|")+"|" || len(r.Stderr) != 0 {
		t.Fatalf("%q %q %d %v\n%s", r.Stdout, r.Stderr, r.Code, err, box.Log())
	}
	data := bytes.Repeat([]byte("0123456789abcde\n\x00\xff"), 1<<16)
	r, err = c.Run(t.Context(), "box", ssh.Command{Argv: []string{"sh", "-c", "cat; echo bad >&2; exit 255"}, Stdin: bytes.NewReader(data)})
	if err != nil || r.Code != 255 || !bytes.Equal(r.Stdout, data) || string(r.Stderr) != "bad\n" {
		t.Errorf("%d bytes, %q, %d, %v", len(r.Stdout), r.Stderr, r.Code, err)
	}
	r, err = c.Run(t.Context(), "box", ssh.Command{Argv: []string{"sh", "-c", "kill -9 $$"}})
	if err != nil || r.Code != 137 {
		t.Errorf("a signal: %d, %v", r.Code, err)
	}
	if n := box.Connections(); n != 1 {
		t.Errorf("%d logins for three commands", n)
	}
	_, err = c.Run(t.Context(), "box", ssh.Command{Argv: []string{"cat", "/dev/zero"}})
	wantKind(t, err, ssh.Unusable, "has said more than 16 MiB")
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(200*time.Millisecond, cancel)
	if _, err := c.Run(ctx, "box", ssh.Command{Argv: []string{"sleep", "600"}}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// What the login shell is does not matter.
func TestLoginShells(t *testing.T) {
	t.Parallel()
	l := sshtest.New(t)
	l.Start("box", `ForceCommand exec tcsh -c "$SSH_ORIGINAL_COMMAND"`, "")
	hostile := []string{"printf", "%s|", "it's", "!!", "a\nb", "$HOME", `\'`}
	r, err := client(t, l).Run(t.Context(), "box", ssh.Command{Argv: hostile})
	if err != nil || string(r.Stdout) != strings.Join(hostile[2:], "|")+"|" {
		t.Errorf("%q %q %v", r.Stdout, r.Stderr, err)
	}
}

func TestBastion(t *testing.T) {
	t.Parallel()
	l := sshtest.New(t)
	l.Start("bastion", "", "")
	inner := l.Start("inner", "", "  ProxyJump bastion")
	// ssh hands the file on to the jump, and the jump is how it came in.
	r, err := client(t, l).Run(t.Context(), "inner", ssh.Command{Argv: []string{"sh", "-c", "echo $SSH_CONNECTION"}})
	if err != nil || !strings.HasSuffix(strings.TrimSpace(string(r.Stdout)), fmt.Sprint(" 127.0.0.1 ", inner.Port)) {
		t.Errorf("%q %q %v", r.Stdout, r.Stderr, err)
	}
}

func TestMoreSessionsThanAllowed(t *testing.T) {
	t.Parallel()
	l := sshtest.New(t)
	l.Start("box", "MaxSessions 1", "")
	c := client(t, l)
	errs := make(chan error)
	for range 8 {
		go func() {
			r, err := c.Run(t.Context(), "box", ssh.Command{Argv: []string{"sh", "-c", "sleep .3; echo here"}})
			if err == nil && string(r.Stdout) != "here\n" {
				err = fmt.Errorf("%q", r.Stdout)
			}
			errs <- err
		}()
	}
	for range 8 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

func wantKind(t *testing.T, err error, kind ssh.Kind, text string) {
	t.Helper()
	var e *ssh.Error
	if !errors.As(err, &e) || e.Kind != kind || !strings.Contains(err.Error(), text) {
		t.Errorf("%v; want %s: %s", err, kind, text)
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	l := sshtest.New(t)
	box := l.Start("box", "", "")
	other := l.Start("other", "", "")
	silent := testkit.Serve(testkit.Loopback(t), testkit.Echo)
	files := map[string]string{}
	for _, name := range []string{"box", "other"} {
		files[name] = filepath.Join(l.Dir, name+"-known_hosts")
	}
	impostor := strings.Replace(testkit.ReadFile(t, files["other"]), "other", "changed", 1)
	testkit.WriteFile(t, filepath.Join(l.Dir, "changed"), impostor)
	l.Append(fmt.Sprintf(`
Host changed
  HostName 127.0.0.1
  Port %d
  HostKeyAlias changed
  UserKnownHostsFile %s/changed
  StrictHostKeyChecking yes
Host new
  HostName 127.0.0.1
  Port %d
  UserKnownHostsFile /dev/null
  GlobalKnownHostsFile /dev/null
  StrictHostKeyChecking yes
Host stranger
  HostName 127.0.0.1
  Port %d
  HostKeyAlias other
  UserKnownHostsFile %s
  IdentityFile /nowhere
  IdentitiesOnly yes
Host closed
  HostName 127.0.0.1
  Port 1
Host silent
  HostName 127.0.0.1
  Port %d
Host gone
  HostName gone.invalid
`, box.Port, l.Dir, box.Port, other.Port, files["other"], testkit.Port(silent)))
	c := client(t, l, func(o *ssh.Options) { o.ConnectTimeout = 2 * time.Second })
	for host, want := range map[string]struct {
		kind ssh.Kind
		code sdk.Code
		text string
	}{
		"changed":   {ssh.HostKey, sdk.Unauthorized, "its key has changed"},
		"new":       {ssh.HostKey, sdk.Unauthorized, "its key is not known"},
		"stranger":  {ssh.Denied, sdk.Unauthorized, "Permission denied"},
		"closed":    {ssh.Lost, sdk.Unavailable, "Connection refused"},
		"silent":    {ssh.TimedOut, sdk.Unavailable, "see whether it is up"},
		"gone":      {ssh.HostUnknown, sdk.NotFound, "Could not resolve"},
		"bux":       {ssh.HostUnknown, sdk.NotFound, "ssh_config has box, which may have been meant"},
		"-oProxy=x": {ssh.BadHost, sdk.Invalid, "a host is NAME or USER@NAME"},
		"a b":       {ssh.BadHost, sdk.Invalid, "a host is NAME or USER@NAME"},
		"me@-x":     {ssh.BadHost, sdk.Invalid, "a host is NAME or USER@NAME"},
	} {
		_, err := c.Run(t.Context(), host, ssh.Command{Argv: []string{"true"}})
		wantKind(t, err, want.kind, want.text)
		if sdk.CodeOf(err) != want.code {
			t.Errorf("%s: code %s, want %s", host, sdk.CodeOf(err), want.code)
		}
	}
	none := client(t, l, func(o *ssh.Options) { o.Command = []string{"/nowhere/ssh"} })
	_, err := none.Run(t.Context(), "box", ssh.Command{Argv: []string{"true"}})
	wantKind(t, err, ssh.NoSSH, "install OpenSSH")
}

// The program behind a route ends at once; the error has its reason.
func TestRouteEndsAtOnce(t *testing.T) {
	t.Parallel()
	l := sshtest.New(t)
	l.Start("box", "", "")
	route := ssh.Route{Host: "box", Command: []string{"sh", "-c", "echo step refused: no port is free >&2; exit 1"}}
	_, err := client(t, l).Dial(t.Context(), route, "tcp:80")
	wantKind(t, err, ssh.Lost, "no port is free")
}

// The connection is cut while a command runs; the next one makes another one.
// TestManyProgramsAtOnce runs more commands than sshd allows in a connection, by several programs.
func TestManyProgramsAtOnce(t *testing.T) {
	t.Parallel()
	l := sshtest.New(t)
	box := l.Start("box", "", "")
	dir := filepath.Join(testkit.ShortDir(t), "s")
	began := time.Now()
	var all sync.WaitGroup
	for range 5 {
		c := client(t, l, func(o *ssh.Options) { o.Dir = dir })
		for range 5 {
			all.Go(func() {
				r, err := c.Run(t.Context(), "box", ssh.Command{Argv: []string{"sh", "-c", "sleep 0.1; echo done"}})
				if err != nil || string(r.Stdout) != "done\n" {
					t.Errorf("%q, %v", r.Stdout, err)
				}
			})
		}
	}
	all.Wait()
	// A command that has waited for five seconds may open a connection of its own.
	if n := box.Connections(); n != 1 && time.Since(began) < 5*time.Second {
		t.Errorf("%d logins", n)
	}
}

func TestServerDiesDuringCommand(t *testing.T) {
	t.Parallel()
	l := sshtest.New(t)
	box := l.Start("box", "", "")
	c := client(t, l)
	begun := make(chan struct{}, 1)
	done := make(chan error)
	go func() {
		_, err := c.Run(t.Context(), "box", ssh.Command{Argv: []string{"sh", "-c", "echo begun; exec sleep 600"}, Stdout: signal(begun)})
		done <- err
	}()
	<-begun
	box.Kill()
	wantKind(t, <-done, ssh.Lost, "the connection was cut while the command ran")
	_, err := c.Run(t.Context(), "box", ssh.Command{Argv: []string{"true"}})
	wantKind(t, err, ssh.Lost, "Connection refused")
	box.Run()
	if _, err := c.Run(t.Context(), "box", ssh.Command{Argv: []string{"true"}}); err != nil {
		t.Error(err)
	}
}

type signal chan struct{}

func (s signal) Write(p []byte) (int, error) {
	select {
	case s <- struct{}{}:
	default:
	}
	return len(p), nil
}

// artifacts has the runtime's program, built once for all tests.
var artifacts string

func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "login" {
		if err := loginTwice(os.Args[2], os.Args[3]); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if len(os.Args) == 3 && os.Args[1] == "pipe" {
		os.Exit(pipe.TargetsMain(os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	}
	testkit.Main(m, func(dir string) (err error) {
		artifacts, err = testbuild.Runtime(dir)
		return err
	})
}
