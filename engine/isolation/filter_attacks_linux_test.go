package isolation

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/seer-engine/seer/internal/attack"
	"github.com/seer-engine/seer/sdk"
)

// attempt runs one of testdata/attacks.py inside. The folder /w is one of this computer.
func attempt(t *testing.T, kind string, spec Spec, name string, args ...string) error {
	t.Helper()
	work := t.TempDir()
	if err := os.WriteFile(filepath.Join(work, "attacks.py"), attacks(t), 0o644); err != nil {
		t.Fatal(err)
	}
	spec.Env = map[string]string{"PATH": "/usr/local/bin:/usr/bin:/bin"}
	spec.Mounts = append(spec.Mounts, sdk.Mount{Source: work, Target: "/w", Writable: true})
	said := inside(t, kind, spec, strings.Join(append([]string{"exec python3 /w/attacks.py", name}, args...), " "))
	if said != "done" {
		return errors.New(said)
	}
	return nil
}

// attacks is the program. The tests as another user, who cannot read this folder, get it
// by a file of theirs.
func attacks(t *testing.T) []byte {
	t.Helper()
	file := "testdata/attacks.py"
	if asked := os.Getenv("SEER_TEST_RUNSC"); asked != "" {
		file = filepath.Join(asked, "attacks.py")
	}
	program, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// filtered is an attack that the filter of system calls refuses.
func filtered(kind, name string) func(*testing.T, bool) error {
	return func(t *testing.T, defended bool) error {
		return attempt(t, kind, Spec{off: defences{filter: !defended}}, name)
	}
}

// unprivileged is one that needs a user namespace of its own.
func unprivileged(name string) func(*testing.T, bool) error {
	return func(t *testing.T, defended bool) error {
		return attempt(t, Bubblewrap, Spec{off: defences{filter: !defended, userns: !defended}}, name)
	}
}

// keys is an attack on a key of this user's session keyring. What the defence is, off
// switches off.
func keys(name string, with, without defences) func(*testing.T, bool) error {
	return func(t *testing.T, defended bool) error {
		switch os.Getenv("SEER_TEST_KEYS") {
		case "refused", "control": // the user's program, whose session has the key
			off := without
			if os.Getenv("SEER_TEST_KEYS") == "refused" {
				off = with
			}
			return attempt(t, Bubblewrap, Spec{off: off}, name)
		}
		mode := "control"
		if defended {
			mode = "refused"
		}
		cmd := exec.Command("/proc/self/exe", "-test.run=^"+strings.ReplaceAll(t.Name(), "/", "$/^")+"$", "-test.v")
		cmd.Env = append(os.Environ(), "SEER_TEST_KEYS="+mode)
		var said []byte
		var failed error
		err := thread(None, defences{}, func() error {
			if err := ownKeyring(); err != nil {
				return err
			}
			if _, err := unix.AddKey("user", "seer-test", []byte("hush"), unix.KEY_SPEC_SESSION_KEYRING); err != nil {
				return err
			}
			said, failed = cmd.CombinedOutput()
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		// The row says there what it says here: refused as it wants, or not at all.
		if failed != nil {
			return errors.New(string(said))
		}
		if defended {
			return errors.New("refused: as the row wants")
		}
		return nil
	}
}

func TestAttacksBySystemCall(t *testing.T) {
	attack.Run(t, []attack.Row{
		{Name: "setuid-chmod", Isolation: Bubblewrap, Want: "EPERM", Try: filtered(Bubblewrap, "chmod")},
		{Name: "setuid-chmod-high-bits", Isolation: Bubblewrap, Want: "EPERM", Try: filtered(Bubblewrap, "chmod_high_bits")},
		{Name: "setuid-fchmod", Isolation: Bubblewrap, Want: "EPERM", Try: filtered(Bubblewrap, "fchmod")},
		{Name: "setuid-fchmodat", Isolation: Bubblewrap, Want: "EPERM", Try: filtered(Bubblewrap, "fchmodat")},
		{Name: "setuid-fchmodat2", Isolation: Bubblewrap, Want: "EPERM", Try: filtered(Bubblewrap, "fchmodat2")},
		{Name: "setuid-open", Isolation: Bubblewrap, Want: "EPERM", Try: filtered(Bubblewrap, "open_")},
		{Name: "setuid-openat", Isolation: Bubblewrap, Want: "EPERM", Try: filtered(Bubblewrap, "openat")},
		{Name: "setuid-tmpfile", Isolation: Bubblewrap, Want: "EPERM", Try: filtered(Bubblewrap, "tmpfile")},
		{Name: "setuid-creat", Isolation: Bubblewrap, Want: "EPERM", Try: filtered(Bubblewrap, "creat")},
		{Name: "setuid-mknod", Isolation: Bubblewrap, Want: "EPERM", Try: filtered(Bubblewrap, "mknod")},
		{Name: "setuid-mknodat", Isolation: Bubblewrap, Want: "EPERM", Try: filtered(Bubblewrap, "mknodat")},
		{Name: "setuid-openat2", Isolation: Bubblewrap, Want: "ENOSYS", Try: filtered(Bubblewrap, "openat2")},
		{Name: "setuid-int80", Isolation: Bubblewrap, Want: "EPERM", Try: filtered(Bubblewrap, "int80")},
		{Name: "setgid-chmod", Isolation: Bubblewrap, Want: "EPERM", Try: filtered(Bubblewrap, "setgid")},
		{Name: "setgid-directory", Isolation: Bubblewrap, Want: "EPERM", Try: filtered(Bubblewrap, "setgid_directory")},
		{Name: "io-uring", Isolation: Bubblewrap, Want: "ENOSYS", Try: filtered(Bubblewrap, "io_uring")},
		{Name: "tiocsti", Isolation: Bubblewrap, Want: "EPERM", Try: filtered(Bubblewrap, "tiocsti")},
		{Name: "tiocsti-high-bits", Isolation: Bubblewrap, Want: "EPERM", Try: filtered(Bubblewrap, "tiocsti_high_bits")},
		{Name: "socket-vsock", Isolation: Bubblewrap, Want: "EAFNOSUPPORT", Try: filtered(Bubblewrap, "vsock")},
		{Name: "socket-netfilter", Isolation: Bubblewrap, Want: "EAFNOSUPPORT", Try: filtered(Bubblewrap, "netfilter")},
		{Name: "socket-packet", Isolation: Bubblewrap, Want: "EPERM", Try: unprivileged("packet")},
		{Name: "user-namespace", Isolation: Bubblewrap, Want: "EPERM", Try: unprivileged("user_namespace")},
		{Name: "file-capability", Isolation: Bubblewrap, Want: "EPERM", Try: unprivileged("file_capability")},
		{Name: "agent-sets-access-control-list", Isolation: Bubblewrap, Want: "ENOTSUP", Try: filtered(Bubblewrap, "acl")},
		{Name: "setuid-chmod-gvisor", Isolation: GVisor, Want: "EPERM", Try: filtered(GVisor, "chmod")},
		{Name: "setuid-fchmod-gvisor", Isolation: GVisor, Want: "EPERM", Try: filtered(GVisor, "fchmod")},
		{Name: "setuid-fchmodat-gvisor", Isolation: GVisor, Want: "EPERM", Try: filtered(GVisor, "fchmodat")},
		{Name: "setgid-directory-gvisor", Isolation: GVisor, Want: "EPERM", Try: filtered(GVisor, "setgid_directory")},
	})
}

// TestNoFileGetsBits makes the attacks whose control gVisor itself refuses, and those
// that nothing here switches off.
func TestNoFileGetsBits(t *testing.T) { each(t, noFileGetsBits) }

func noFileGetsBits(t *testing.T, kind string) {
	for _, name := range []string{
		"open_", "openat", "openat2", "creat", "mknod", "fchmodat2", "setgid", "int80", "own_capability", "file_capability", "alg",
		"vsock", "packet", "netfilter", "io_uring", "keyring_read", "acl",
	} {
		if name == "packet" && kind == GVisor {
			continue // it is of gVisor's own network, which leads nowhere
		}
		if err := attempt(t, kind, Spec{}, name); err == nil {
			t.Errorf("%s succeeds", name)
		}
	}
}

// TestGVisorBuildsKeepBits: dpkg sets these bits in the tree that it changes. The folders
// of this computer, which it also sees, never get them.
func TestGVisorBuildsKeepBits(t *testing.T) {
	work := t.TempDir()
	spec := Spec{Root: Root{Writable: true}, Env: map[string]string{"PATH": "/usr/bin:/bin"}, Mounts: []sdk.Mount{{Source: work, Target: "/w", Writable: true}}}
	got := inside(t, GVisor, spec, `cp /usr/bin/true /usr/own; chmod 4755 /usr/own && stat -c %a /usr/own; cp /usr/bin/true /w/f; chmod 4755 /w/f; stat -c %a /w/f`)
	if got != "4755\n755" {
		t.Errorf("inside:\n%s", got)
	}
	if info, err := os.Stat(filepath.Join(work, "f")); err != nil || info.Mode()&os.ModeSetuid != 0 {
		t.Errorf("%v, %v", info, err)
	}
}

func TestAttacksOnKeys(t *testing.T) {
	attack.Run(t, []attack.Row{
		{Name: "keyring-read", Isolation: Bubblewrap, Want: "refused", Try: keys("keyring_read", defences{}, defences{filter: true, keyring: true})},
		{Name: "keyring-write", Isolation: Bubblewrap, Want: "refused", Try: keys("keyring_write", defences{}, defences{filter: true, keyring: true})},
		{Name: "keyring-of-the-session", Isolation: Bubblewrap, Want: "refused", Try: keys("keyring_read", defences{filter: true}, defences{filter: true, keyring: true})},
		{Name: "names-of-host-keys", Isolation: Bubblewrap, Want: "refused", Try: keys("proc_keys", defences{}, defences{keys: true})},
	})
}
