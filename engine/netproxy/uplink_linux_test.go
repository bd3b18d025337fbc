package netproxy

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/seer-engine/seer/internal/attack"
	"github.com/seer-engine/seer/internal/fakenet"
)

// connected is a namespace that a tool connects, for one test.
func connected(t *testing.T, tool string, filtered bool) *uplink {
	t.Helper()
	holder, u, err := emptyNamespace(t.Context(), tool)
	if err != nil {
		t.Fatal(err)
	}
	u.log, u.unfiltered = io.Discard, !filtered
	ctx, cancel := context.WithCancel(context.Background())
	up, done := make(chan error, 1), make(chan struct{})
	go func() { defer close(done); u.keep(ctx, func(err error) { up <- err }) }()
	t.Cleanup(func() {
		cancel()
		<-done
		_, _ = holder.Process.Kill(), holder.Wait()
		u.close()
	})
	if err := <-up; err != nil {
		t.Fatal(err)
	}
	return u
}

// ask runs Python in the namespace: tcp and udp return what a service says.
func (u *uplink) ask(t *testing.T, code string) error {
	t.Helper()
	cmd, err := u.command(t.Context(), true, "python3", "-c", asking+code)
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s", lastLine(string(out)))
	}
	return nil
}

const asking = `
import socket
def tcp(host, port, family=socket.AF_INET, device=None, timeout=10):
    s = socket.socket(family); s.settimeout(timeout)
    if device: s.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, device.encode())
    s.connect((host, port)); s.sendall(b"x"); return s.recv(99)
def udp(host, port, family=socket.AF_INET, device=None):
    s = socket.socket(family, socket.SOCK_DGRAM); s.settimeout(10)
    if device: s.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, device.encode())
    s.sendto(b"x", (host, port)); return s.recv(99)
`

// usable are the tools that work here: in the namespace of the tests as root both do.
func usable(t *testing.T) (tools []string) {
	t.Helper()
	for _, tool := range []string{pasta, slirp} {
		if err := tryUplink(t.Context(), tool); err == nil {
			tools = append(tools, tool)
		} else {
			t.Logf("%s: %v", tool, err)
		}
	}
	if len(tools) == 0 && fakenet.Device() {
		t.Fatal("no tool works where the device is everybody's")
	}
	return tools
}

func TestUplink(t *testing.T) {
	if !fakenet.Enter(t) {
		return
	}
	for _, tool := range usable(t) {
		u := connected(t, tool, true)
		for what, code := range map[string]string{
			"the Internet":      `tcp("203.0.113.7", 80)`,
			"the Internet, UDP": `udp("203.0.113.7", 80)`,
			"a private network": `tcp("10.20.30.40", 80)`,
			"a name":            `s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(10); s.sendto(b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x08internet\x04test\0\0\x01\0\x01", ("169.254.1.3", 53)); assert s.recv(500)[-4:] == bytes([203, 0, 113, 7])`,
		} {
			if err := u.ask(t, code); err != nil {
				t.Errorf("%s: %s: %v", tool, what, err)
			}
		}
		if tool == pasta {
			if err := u.ask(t, `tcp("2001:db8:5::7", 80, socket.AF_INET6)`); err != nil {
				t.Errorf("IPv6: %v", err)
			}
		}
	}
}

// TestAttacksUplink makes the attacks that the tools themselves do not refuse.
func TestAttacksUplink(t *testing.T) {
	if !fakenet.Enter(t) {
		return
	}
	for _, tool := range usable(t) {
		try := func(code string) func(t *testing.T, defended bool) error {
			return func(t *testing.T, defended bool) error { return connected(t, tool, defended).ask(t, code) }
		}
		attack.Run(t, []attack.Row{
			{Name: "host-address-by-uplink", Want: "No route to host", Try: try(`tcp("10.77.0.1", 8000)`)},
			{Name: "host-address-udp-by-uplink", Want: "not permitted", Try: try(`udp("10.77.0.1", 8000)`)},
			{Name: "host-address-bound-to-interface", Want: "No route to host", Try: try(`tcp("10.77.0.1", 8000, device="seer0")`)},
			{Name: "host-address-mapped-by-uplink", Want: "No route to host", Try: try(`tcp("::ffff:10.77.0.1", 8000, socket.AF_INET6)`)},
			{Name: "metadata-by-uplink", Want: "No route to host", Try: try(`tcp("169.254.169.254", 80)`)},
			{Name: "metadata-mapped-by-uplink", Want: "No route to host", Try: try(`tcp("::ffff:169.254.169.254", 80, socket.AF_INET6)`)},
		})
	}
}

func TestToolsAreFound(t *testing.T) {
	if _, err := toolPath("no-such-tool"); err == nil || !strings.Contains(err.Error(), "not installed") {
		t.Error(err)
	}
	if path, err := toolPath("cat"); err != nil || exec.Command(path, "/dev/null").Run() != nil {
		t.Error(path, err)
	}
}
