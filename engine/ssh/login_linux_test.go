package ssh_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/seer-engine/seer/engine/ssh"
	"github.com/seer-engine/seer/internal/sshtest"
	"github.com/seer-engine/seer/internal/testkit"
)

// loginTwice is a program on a terminal that uses a host twice.
func loginTwice(dir, config string) error {
	c := ssh.New(ssh.Options{Dir: dir, ConfigFile: config, Interactive: true})
	for range 2 {
		r, err := c.Run(context.Background(), "locked", ssh.Command{Argv: []string{"echo", "let in"}})
		if err != nil {
			return err
		}
		fmt.Printf("%s", r.Stdout)
	}
	return nil
}

// A login that needs a person asks on the terminal, once; without a person it fails at once.
func TestLoginThatNeedsAPerson(t *testing.T) {
	t.Parallel()
	l := sshtest.New(t)
	box := l.Start("box", "", "")
	key := filepath.Join(l.Dir, "locked")
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "open sesame", "-f", key).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	testkit.WriteFile(t, filepath.Join(l.Dir, "id.pub"), testkit.ReadFile(t, filepath.Join(l.Dir, "id.pub"))+testkit.ReadFile(t, key+".pub"))
	l.Append(fmt.Sprintf("Host locked\n  HostName 127.0.0.1\n  Port %d\n  HostKeyAlias box\n  UserKnownHostsFile %s/box-known_hosts\n  IdentityFile %s\n  IdentitiesOnly yes\n  IdentityAgent none\n",
		box.Port, l.Dir, key))
	c := client(t, l)
	began := time.Now()
	_, err := c.Run(t.Context(), "locked", ssh.Command{Argv: []string{"true"}})
	wantKind(t, err, ssh.Denied, "whether the key is in the agent")
	if took := time.Since(began); took > time.Minute {
		t.Errorf("that took %v", took)
	}

	dir := filepath.Join(l.Dir, "s")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "login", dir, l.Config)
	terminal, err := pty.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	t.Cleanup(func() { _ = ssh.New(ssh.Options{Dir: dir, ConfigFile: l.Config}).Disconnect("locked") })
	said := &testkit.Buffer{}
	done := make(chan struct{})
	go func() { defer close(done); _, _ = io.Copy(said, terminal) }()
	for !strings.Contains(said.String(), "passphrase") {
		select {
		case <-done:
			t.Fatalf("nobody asks: %q", said)
		case <-time.After(10 * time.Millisecond):
		}
	}
	if _, err := io.WriteString(terminal, "open sesame\n"); err != nil {
		t.Fatal(err)
	}
	<-done
	if err := cmd.Wait(); err != nil || strings.Count(said.String(), "passphrase") != 1 || strings.Count(said.String(), "let in") != 2 {
		t.Errorf("%v: %q", err, said)
	}
	// The connection serves programs that can ask nobody.
	other := ssh.New(ssh.Options{Dir: dir, ConfigFile: l.Config})
	if r, err := other.Run(t.Context(), "locked", ssh.Command{Argv: []string{"echo", "me too"}}); err != nil || string(r.Stdout) != "me too\n" {
		t.Errorf("%q, %v", r.Stdout, err)
	}
}
