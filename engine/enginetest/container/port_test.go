package container

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
)

const portsOfAnother = "SEER_TEST_PORTS"

// TestFreePort: neither this process nor another one is given a port twice, whether somebody
// listens at it or not.
func TestFreePort(t *testing.T) {
	given := map[string]bool{}
	take := func(port string) {
		t.Helper()
		if given[port] {
			t.Errorf("the port %s was given twice", port)
		}
		given[port] = true
	}
	for range 2 * blockSize {
		port, err := FreePort()
		if err != nil {
			t.Fatal(err)
		}
		if os.Getenv(portsOfAnother) != "" {
			fmt.Println("port", port)
		}
		take(fmt.Sprint(port))
	}
	if os.Getenv(portsOfAnother) != "" {
		return
	}
	for range 2 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestFreePort$", "-test.v")
		cmd.Env = append(os.Environ(), portsOfAnother+"=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		mine := strings.Count(string(out), "port ")
		if mine != 2*blockSize {
			t.Fatalf("%d ports\n%s", mine, out)
		}
		for line := range strings.Lines(string(out)) {
			if port, is := strings.CutPrefix(strings.TrimSpace(line), "port "); is && given[port] {
				t.Errorf("another process was given the port %s, too", port)
			}
		}
	}
}

// TestPortOfIPv6 is not free, either.
func TestPortOfIPv6(t *testing.T) {
	port, err := FreePort()
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", fmt.Sprintf("[::1]:%d", port))
	if err != nil {
		t.Skip("no IPv6:", err)
	}
	defer l.Close()
	if free(port) {
		t.Errorf("%d is free, while somebody listens at [::1]", port)
	}
}
