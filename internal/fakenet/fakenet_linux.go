package fakenet

import (
	_ "embed"
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// What is there. Every service answers with the word of where it is.
const (
	Internet  = "203.0.113.7" // TCP and UDP, InternetPort; internet.test leads there
	Internet6 = "2001:db8:5::7"
	Metadata  = "169.254.169.254" // the same; metadata.test
	Metadata6 = "fd00:ec2::254"   // the same
	Private   = "10.20.30.40"     // the same: a neighbour of the private network

	Host     = "10.77.0.1" // an address of the computer, TCP and UDP, HostPort; host.test
	Host6    = "2001:db8:4::1"
	Gateway  = "198.51.100.254" // its way to the Internet
	Abstract = "seer-fakenet"   // an abstract Unix socket of the computer
	Stub     = "127.0.0.53"     // its name server; loopback.test leads to 127.0.0.1

	InternetPort = 80
	HostPort     = 8000

	FromInternet = "INTERNET"
	FromHost     = "HOST"
)

// Device reports whether the kernel's device for tools that connect namespaces can be
// opened. For root in [Enter] it always can.
func Device() bool {
	f, err := os.OpenFile("/dev/net/tun", os.O_RDWR, 0)
	if err == nil {
		_ = f.Close()
	}
	return err == nil
}

//go:embed setup.sh
var setup string

//go:embed serve.py
var serve string

const inside = "SEER_TEST_FAKENET"

// Enter reports whether the test runs in the namespace. If not, it runs the same test there
// and reports what became of it: for root, and again for uid 65534.
func Enter(t *testing.T) bool {
	t.Helper()
	if os.Getenv(inside) != "" {
		unix.CloseOnExec(3)
		return true
	}
	self, err := os.Open("/proc/self/exe") // whose folder another user may not enter
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	args := []string{"--net", "--mount", "--propagation", "private"}
	if os.Geteuid() != 0 {
		args = append(args, "--user", "--map-root-user")
	}
	args = append(args, "--", "sh", "-c", setup, "sh", "/proc/self/fd/3", "-test.run=^"+t.Name()+"$", "-test.v")
	cmd := exec.Command("unshare", args...)
	cmd.ExtraFiles = []*os.File{self}
	cmd.Env = append(os.Environ(), inside+"="+serve, "PATH="+os.Getenv("PATH")+":/usr/sbin:/sbin")
	cmd.WaitDelay = 10 * time.Second // for what outlives the shell
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	} else if testing.Verbose() {
		t.Logf("%s", out)
	}
	return false
}
