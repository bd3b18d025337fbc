package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/runtime/loader"
	"github.com/seer-engine/seer/internal/testkit"
)

func TestBootPushesOnce(t *testing.T) {
	t.Parallel()
	m := start(t, nil)
	var sent int64
	report := func(n, _ int64) { sent = n }
	h, err := m.client.Boot(testContext(t), client.BootOptions{Binary: self, Progress: report})
	if err != nil {
		t.Fatal(err)
	}
	if sent == 0 || h.Lease.Kind != protocol.LeaseBoot || h.Python == "" {
		t.Errorf("sent %d bytes, health %+v", sent, h)
	}
	// Booting a machine that runs changes nothing.
	if again, err := m.client.Boot(testContext(t), client.BootOptions{Binary: self}); err != nil || again.StartedUnix != h.StartedUnix {
		t.Errorf("second boot: %+v, %v", again, err)
	}
	// Another machine with the same cache gets no bytes.
	sent = 0
	m2 := start(t, func(b *loader.Boot) { b.Cache = m.boot.Cache })
	if _, err := m2.client.Boot(testContext(t), client.BootOptions{Binary: self, Progress: report}); err != nil || sent != 0 {
		t.Errorf("a warm boot sent %d bytes, error %v", sent, err)
	}
}

func TestBootReplacesDamagedCache(t *testing.T) {
	t.Parallel()
	found, _ := filepath.Glob(filepath.Join(up(t, nil).boot.Cache, "seer-runtime-*"))
	if len(found) != 1 {
		t.Fatal(found)
	}
	start(t, func(b *loader.Boot) {
		if err := os.Mkdir(b.Cache, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(b.Cache, filepath.Base(found[0])), []byte("damaged"), 0o755); err != nil {
			t.Fatal(err)
		}
	}).push()
}

func TestBootOverTCP(t *testing.T) {
	t.Parallel()
	port := freePort(t)
	m := up(t, func(b *loader.Boot) { b.Listen = "tcp:127.0.0.1:" + port })
	if out := m.shell("echo over tcp"); out != "over tcp\n" {
		t.Errorf("got %q", out)
	}
	other := start(t, func(b *loader.Boot) { b.Listen = "tcp:127.0.0.1:" + port })
	<-other.exited
	if code := other.cmd.ProcessState.ExitCode(); code != loader.PortTaken || strings.Count(other.log.String(), "\n") != 1 {
		t.Errorf("a taken port: exit %d, log %q", code, other.log)
	}
}

// freePort is the text of a port that stays free until the test listens at it.
func freePort(t testing.TB) string { return strconv.Itoa(testkit.FreePort(t)) }

func TestBootLongSocketPath(t *testing.T) {
	t.Parallel()
	m := up(t, func(b *loader.Boot) {
		dir := filepath.Join(filepath.Dir(b.Scratch), strings.Repeat("d", 100))
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		b.Listen = "unix:" + filepath.Join(dir, "socket")
	})
	if out := m.shell("echo far"); out != "far\n" {
		t.Errorf("got %q", out)
	}
	info, err := os.Stat(strings.TrimPrefix(m.boot.Listen, "unix:"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("socket: %v %v", info, err)
	}
}

func TestBootRefusals(t *testing.T) {
	t.Parallel()
	m := start(t, nil)
	wrong := newClient(t, m.boot.Listen, "wrong")
	testkit.EventuallyNil(t, "an answer", func() error {
		_, err := wrong.Health(testContext(t))
		if protocol.CodeOf(err) != protocol.Unauthorized {
			return fmt.Errorf("got %v", err)
		}
		return nil
	})
	if _, err := wrong.Boot(testContext(t), client.BootOptions{Binary: self}); !errors.Is(err, &protocol.Error{Code: protocol.Unauthorized}) {
		t.Errorf("boot with a wrong token: %v", err)
	}
	zeros := strings.Repeat("0", 64)
	if code := m.post("push", zeros, "not the runtime", 0, 15); code != http.StatusUnprocessableEntity {
		t.Errorf("a wrong digest got %d", code)
	}
	if code := m.post("start", zeros, "", 0, 0); code != http.StatusConflict {
		t.Errorf("an unknown digest got %d", code)
	}
	for _, action := range []string{"push", "start"} {
		if code := m.post(action, "../../x", "a", 0, 1); code != http.StatusBadRequest {
			t.Errorf("%s with a malformed digest got %d", action, code)
		}
	}
	for _, bad := range [][2]int{{-1, 9}, {0, 0}, {9, 9}, {0, 1 << 40}} {
		if code := m.post("push", zeros, "abc", bad[0], bad[1]); code != http.StatusBadRequest {
			t.Errorf("a piece at %d of %d got %d", bad[0], bad[1], code)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(m.boot.Cache, "*")); len(left) != 0 {
		t.Errorf("refused binaries were left: %v", left)
	}
	m.push() // after all that
}

func (m *machine) post(action, digest, body string, offset, size int) int {
	m.t.Helper()
	c := &http.Client{Transport: &http.Transport{DialContext: dialer(strings.TrimPrefix(m.boot.Listen, "unix:"))}}
	defer c.CloseIdleConnections()
	req, _ := http.NewRequest(http.MethodPost, "http://x/loader/v1/"+action, strings.NewReader(body))
	req.Header.Set("Authorization", "Bearer "+m.token)
	req.Header.Set("X-Seer-Sha256", digest)
	req.Header.Set(protocol.HeaderOffset, strconv.Itoa(offset))
	req.Header.Set(protocol.HeaderSize, strconv.Itoa(size))
	resp, err := c.Do(req)
	if err != nil {
		m.t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

func TestBootNotABinary(t *testing.T) {
	t.Parallel()
	m := start(t, nil)
	path := filepath.Join(m.dir, "junk")
	if err := os.WriteFile(path, []byte("\x7fELF, but no more than that"), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := m.client.Boot(testContext(t), client.BootOptions{Binary: func(string, string) (string, error) { return path, nil }})
	if protocol.CodeOf(err) != protocol.Internal || !strings.Contains(err.Error(), "could not be started") {
		t.Errorf("got %v", err)
	}
	m.push()
}

func TestBootTimeout(t *testing.T) {
	t.Parallel()
	m := start(t, func(b *loader.Boot) { b.BootSeconds = 0.3 })
	select {
	case <-m.exited:
	case <-time.After(2 * time.Minute):
		t.Fatal("the loader waits for ever")
	}
	if code := m.cmd.ProcessState.ExitCode(); code != 1 {
		t.Errorf("exit %d", code)
	}
	if _, err := os.Stat(strings.TrimPrefix(m.boot.Listen, "unix:")); !os.IsNotExist(err) {
		t.Errorf("the socket was left: %v", err)
	}
}

func TestBootStaleSocket(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	m.startAgain()
}

func dialer(path string) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}
}
