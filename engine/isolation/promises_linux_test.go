package isolation

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

// A socket made inside is reached from outside; one made outside is reached from
// inside only where that was asked for.
func TestSockets(t *testing.T) { each(t, socketsIn) }

func socketsIn(t *testing.T, kind string) {
	work := testkit.ShortDir(t)
	testkit.Serve(testkit.Listen(t, "unix", filepath.Join(work, "out")), testkit.Say("from outside"))
	const program = `
import socket, sys
try:
    c = socket.socket(socket.AF_UNIX); c.connect("/workspace/out"); said = c.recv(99).decode()
except OSError as e:
    said = "refused"
s = socket.socket(socket.AF_UNIX); s.bind("/workspace/in"); s.listen(); print("ready", flush=True)
while True:
    c, _ = s.accept(); c.sendall(said.encode()); c.close()
`
	for _, allowed := range []bool{false, true} {
		_ = os.Remove(filepath.Join(work, "in"))
		b := start(t, kind, Spec{
			HostSockets: allowed, Mounts: []sdk.Mount{{Source: work, Target: "/workspace", Writable: true}},
			Env: map[string]string{"PATH": "/usr/bin"},
		}, "exec python3 -c '"+program+"'")
		c, err := net.Dial("unix", filepath.Join(work, "in"))
		if err != nil {
			t.Fatal(err)
		}
		said, err := io.ReadAll(c)
		_ = c.Close()
		want := "from outside"
		if kind == GVisor && !allowed {
			want = "refused"
		}
		if err != nil || string(said) != want {
			t.Errorf("allowed %v: %q, %v", allowed, said, err)
		}
		b.kill()
	}
}

// Nothing of the neighbours, of this computer's processes or its kernel's switches.
func TestHostile(t *testing.T) { each(t, hostileIn) }

func hostileIn(t *testing.T, kind string) {
	secret := t.TempDir()
	if err := os.WriteFile(filepath.Join(secret, "key"), []byte("top-secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/sleep", "100")
	cmd.Env = []string{"TOKEN=top-secret"}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	script := fmt.Sprintf(`cat %[1]s/key %[2]s/config.json ../..%[1]s/key; cat /proc/%[3]d/environ /proc/*/environ | tr '\0' '\n'; kill -9 %[3]d
		for f in /proc/sys/kernel/core_pattern /proc/sys/kernel/hostname /proc/sysrq-trigger /proc/1/root%[1]s/key; do cat $f >/dev/null; echo owned >$f && echo "wrote $f"; done
		mount -t tmpfs x /tmp && echo mounted; mknod /tmp/sda b 8 0 && cat /tmp/sda && echo disk; chroot / true && echo chroot; ls /dev
		unshare -Ur mount --bind /usr /tmp && echo bound; cat /etc/shadow && echo shadow; ls /root /work /var/lib/dpkg`, secret, "/tmp/seer*", cmd.Process.Pid)
	got := inside(t, kind, Spec{Env: map[string]string{"PATH": "/usr/bin:/bin:/usr/sbin:/sbin"}}, script+" 2>&1")
	for _, bad := range []string{"top-secret", "wrote ", "mounted", "disk\n", "chroot\n", "shadow\n", "sda\n", "kvm", "mem\n"} {
		if strings.Contains(got+"\n", bad) {
			t.Errorf("%q is in:\n%s", bad, got)
		}
	}
	if err := cmd.Process.Signal(syscall.Signal(0)); err != nil {
		t.Error("it killed a process outside")
	}
}

// What is written to the command's files is all there, in order, and an exit code
// is the command's own.
func TestOutputAndExit(t *testing.T) { each(t, outputAndExit) }

func outputAndExit(t *testing.T, kind string) {
	file, err := os.OpenFile(filepath.Join(t.TempDir(), "log"), os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteString("before\n"); err != nil {
		t.Fatal(err)
	}
	cmd, err := prepare(t, kind, Spec{Argv: []string{"/bin/sh", "-c", "echo out; echo err >&2; (echo child); exit 7"}})
	if err != nil {
		t.Fatal(err)
	}
	defer Release(cmd)
	cmd.Stdout, cmd.Stderr = file, file
	var exit *exec.ExitError
	if err := cmd.Run(); !errors.As(err, &exit) || exit.ExitCode() != 7 {
		t.Errorf("it ended with %v", err)
	}
	if said, err := os.ReadFile(file.Name()); err != nil || string(said) != "before\nout\nerr\nchild\n" {
		t.Errorf("%q, %v", said, err)
	}
}
