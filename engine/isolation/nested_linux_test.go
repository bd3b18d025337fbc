package isolation

import (
	"os"
	"strings"
	"testing"

	"github.com/seer-engine/seer/internal/attack"
	"github.com/seer-engine/seer/sdk"
)

// TestNested: with the switch, a program inside makes a sandbox of its own, in which it
// still cannot do what the filter refuses. Only an ordinary user has the switch.
func TestNested(t *testing.T) {
	if _, err := bubblewrapPath(); err != nil {
		t.Skip(err)
	}
	script := `bwrap --ro-bind / / --unshare-user --unshare-pid echo nested 2>&1 | tail -n 1`
	env := map[string]string{"PATH": "/usr/bin:/bin"}
	if got := inside(t, Bubblewrap, Spec{Env: env}, script); got == "nested" {
		t.Error("without the switch, it makes one")
	}
	allowed := defences{nested: true}
	if got := inside(t, Bubblewrap, Spec{Env: env, Nested: true, off: allowed}, script); got != "nested" {
		t.Errorf("with the switch: %s", got)
	}
	for _, name := range []string{"chmod", "acl", "file_capability", "keyring_read", "proc_keys", "io_uring", "int80", "vsock"} {
		if err := attempt(t, Bubblewrap, Spec{Nested: true, off: allowed}, name); err == nil {
			t.Errorf("nested: %s succeeds", name)
		}
	}
	spec := Spec{Argv: []string{"/bin/true"}, Nested: true}
	if os.Geteuid() != 0 {
		cmd, err := Command(Bubblewrap, spec)
		if err != nil {
			t.Fatal(err)
		}
		Release(cmd)
	} else if _, err := Command(Bubblewrap, spec); sdk.CodeOf(err) != sdk.Unsupported {
		t.Errorf("root: %v", err)
	}
}

func TestAttacksByOverlay(t *testing.T) {
	rows := []attack.Row{
		{Name: "overlay-copies-setuid-file", Isolation: Bubblewrap, Want: "use isolation gvisor", Try: overlayOfRoot},
	}
	if os.Geteuid() == 0 {
		attack.Run(t, rows)
		return
	}
	// An ordinary user's namespace has no root, so the kernel itself refuses the copy.
	err := attempt(t, Bubblewrap, Spec{Nested: true}, "overlay")
	if err == nil || !strings.Contains(err.Error(), "EACCES") {
		t.Errorf("an ordinary user: %v", err)
	}
}

func overlayOfRoot(t *testing.T, defended bool) error {
	spec := Spec{Nested: true, off: defences{nested: !defended}}
	if defended {
		spec.Argv = []string{"/bin/true"}
		cmd, err := Command(Bubblewrap, spec)
		if err == nil {
			Release(cmd)
			return attempt(t, Bubblewrap, spec, "overlay")
		}
		return err
	}
	return attempt(t, Bubblewrap, spec, "overlay")
}

// TestToolsWithoutAttributes: what copies modes and extended attributes works without
// the latter, and sets modes as ever.
func TestToolsWithoutAttributes(t *testing.T) {
	script := `set -e; cd /tmp
mkdir -m 0777 a; echo x > a/f; chmod 0666 a/f; cp -a a b; tar cf - a | (mkdir c; cd c; tar xpf -)
stat -c %a b/f c/a/f c/a
python3 -c 'import os, shutil, tempfile
shutil.copytree("a", "d"); tempfile.mkdtemp(); os.chmod("d/f", 0o777); print(oct(os.stat("d/f").st_mode))'
if command -v git >/dev/null; then git init -q g; fi
echo done`
	got := inside(t, Bubblewrap, Spec{Env: map[string]string{"PATH": "/usr/bin:/bin", "HOME": "/tmp"}}, script)
	if got != "666\n666\n777\n0o100777\ndone" {
		t.Errorf("inside:\n%s", got)
	}
}
