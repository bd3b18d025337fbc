package runtime_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/runtime/internal/portforward"
	"github.com/seer-engine/seer/internal/testkit"
)

// TestPortForwarding stands outside of a machine: connects to its port by a socket, and is its proxy.
// Then the runtime is killed, and all of it works again.
func TestPortForwarding(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), strings.Repeat("long ", 25)) // longer than the kernel takes
	mustMkdir(t, dir)
	port, proxyPort := listenEcho(t, "127.0.0.1:0"), testkit.FreePort(t)
	proxyDir := t.TempDir()
	proxy, err := net.Listen("unix", filepath.Join(proxyDir, "proxy"))
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Close()
	go func() {
		_ = http.Serve(proxy, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, "asked for %s", r.URL)
		}))
	}()
	gate, err := json.Marshal(portforward.Config{Dir: dir, Ports: []int{port}, Proxy: proxy.Addr().String(), ProxyPort: proxyPort})
	if err != nil {
		t.Fatal(err)
	}
	m := startIn(t, nil, func(m *machine) { m.env = append(m.env, "SEER_GATE="+string(gate)) })
	m.push()
	check := func() {
		t.Helper()
		conn, err := dialLong(dir, strconv.Itoa(port))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
		_, _ = io.WriteString(conn, "question")
		_ = conn.(*net.UnixConn).CloseWrite()
		if answer, err := io.ReadAll(conn); err != nil || string(answer) != "question" {
			t.Errorf("%q %v", answer, err)
		}
		out := m.shell(`python3 -c 'import urllib.request; print(urllib.request.urlopen("http://example.org/x", timeout=30).read().decode())'; env`)
		at := fmt.Sprint("http://127.0.0.1:", proxyPort)
		for _, want := range []string{"asked for http://example.org/x\n", "HTTP_PROXY=" + at, "https_proxy=" + at, "ALL_PROXY=" + at, "NO_PROXY=localhost,127.0.0.1,::1"} {
			if !strings.Contains(out, want) {
				t.Errorf("%q is not in %q", want, out)
			}
		}
		if strings.Contains(out, "SEER_GATE") {
			t.Error("processes see the gate")
		}
	}
	check()
	m.killRuntime()
	testkit.EventuallyNil(t, "the socket of the next runtime", func() error {
		conn, err := dialLong(dir, strconv.Itoa(port))
		if err == nil {
			conn.Close()
		}
		return err
	})
	check()
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("the folder has %v", left)
	}
}

// dialLong connects to a socket whose path is too long.
func dialLong(dir, name string) (net.Conn, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return net.Dial("unix", fmt.Sprintf("/proc/self/fd/%d/%s", f.Fd(), name))
}

// TestGateMistakes starts machines whose gate cannot be made.
func TestGateMistakes(t *testing.T) {
	t.Parallel()
	for _, gate := range []string{"{", `{"dir":"relative","ports":[1]}`, `{"dir":"/x","ports":[0]}`, `{"dir":"/x","ports":[5,5]}`, `{"proxy":"/p"}`,
		`{"proxy_port":3128}`, `{"proxy":"/p","proxy_port":70000}`, `{"doors":1}`, `{"dir":"/no/such/folder","ports":[80]}`} {
		g, err := portforward.Parse(gate)
		if strings.Contains(gate, "/no/such") {
			if err != nil || g == nil {
				t.Errorf("%s: %v", gate, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), "SEER_GATE") {
			t.Errorf("%s: %v", gate, err)
		}
	}
	m := startIn(t, nil, func(m *machine) { m.env = append(m.env, `SEER_GATE={"dir":"/no/such/folder","ports":[80]}`) })
	ctx, cancel := context.WithCancel(testContext(t))
	defer cancel()
	go func() { _, _ = m.client.Boot(ctx, client.BootOptions{Binary: self}) }() // which waits in vain
	if code := m.ended(); code == 0 || !strings.Contains(m.log.String(), "make the socket of port 80") {
		t.Errorf("exit %d: %s", code, m.log)
	}
}
