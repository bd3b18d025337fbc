package runtime_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/internal/testkit"
)

// piece sends a part of a binary on a connection of its own, and breaks it off
// after some bytes. It returns what the loader says it has; -1 where it said nothing.
func (m *machine) piece(data []byte, offset, n, breakOff int) int {
	m.t.Helper()
	conn, err := net.Dial("unix", strings.TrimPrefix(m.boot.Listen, "unix:"))
	if err != nil {
		m.t.Error(err)
		return -1
	}
	defer conn.Close()
	sum := sha256.Sum256(data)
	fmt.Fprintf(conn, "POST /loader/v1/push HTTP/1.1\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n%s: %d\r\n%s: %d\r\nX-Seer-Sha256: %s\r\n\r\n",
		m.token, n, protocol.HeaderOffset, offset, protocol.HeaderSize, len(data), hex.EncodeToString(sum[:]))
	_, _ = conn.Write(data[offset : offset+min(n, breakOff)])
	if breakOff < n {
		return -1
	}
	answer, _ := io.ReadAll(conn)
	head, body, _ := bytes.Cut(answer, []byte("\r\n\r\n"))
	var said struct{ Have int }
	if !bytes.Contains(head, []byte("\r\nSeer: 1\r\n")) || json.Unmarshal(body, &said) != nil || !bytes.HasPrefix(head, []byte("HTTP/1.1 200")) {
		m.t.Errorf("the loader said %s", answer)
	}
	return said.Have
}

// TestPushIsResumed brings a binary in pieces that break off, come twice, come at
// the same time and leave gaps.
func TestPushIsResumed(t *testing.T) {
	t.Parallel()
	m := start(t, nil)
	m.listens()
	data := noise(7, 3<<20)
	if have := m.piece(data, 0, 0, 0); have != 0 {
		t.Errorf("it has %d of nothing", have)
	}
	m.piece(data, 0, 1<<20, 700_000)
	testkit.EventuallyNil(t, "a part of a piece", func() error {
		if have := m.piece(data, 0, 0, 0); have != 700_000 {
			return fmt.Errorf("it has %d", have)
		}
		return nil
	})
	if have := m.piece(data, 1<<20, 1<<20, 1<<20); have != 700_000 {
		t.Errorf("it has %d after a gap", have)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { m.piece(data, 500_000, 1<<20, 1<<20) })
	}
	wg.Wait()
	if have := m.piece(data, 500_000, 1000, 1000); have != 500_000+1<<20 {
		t.Errorf("it has %d after many at once", have)
	}
	for range 2 { // the last one may come twice as well
		if have := m.piece(data, 500_000+1<<20, len(data)-500_000-1<<20, len(data)); have != len(data) {
			t.Errorf("it has %d of %d", have, len(data))
		}
	}
	sum := sha256.Sum256(data)
	stored, err := os.ReadFile(filepath.Join(m.boot.Cache, "seer-runtime-"+hex.EncodeToString(sum[:])))
	if err != nil || !bytes.Equal(stored, data) {
		t.Errorf("%d bytes were stored, %v", len(stored), err)
	}
	// Another binary takes the place of one that never came whole.
	for i := range byte(3) {
		m.piece(noise(i, 100_000), 0, 50_000, 50_000)
	}
	if parts, _ := filepath.Glob(filepath.Join(m.boot.Cache, "*.part")); len(parts) != 1 {
		t.Errorf("parts: %v", parts)
	}
	m.end()
	if parts, _ := filepath.Glob(filepath.Join(m.boot.Cache, "*.part")); len(parts) != 0 {
		t.Errorf("parts were left: %v", parts)
	}
}

// TestLoaderMarksItsAnswers tells them from those of a tunnel.
func TestLoaderMarksItsAnswers(t *testing.T) {
	t.Parallel()
	m := start(t, nil)
	m.listens()
	for _, token := range []string{m.token, "wrong"} {
		for _, path := range []string{"/loader/v1", "/v1/health"} {
			if resp := m.raw(http.MethodGet, path, token, nil); resp.Header.Get("Seer") != "1" {
				t.Errorf("%s: %s without the marker", path, resp.Status)
			}
		}
	}
	m.push()
	if resp := m.raw(http.MethodGet, "/v1/health", "wrong", nil); resp.StatusCode != http.StatusUnauthorized || resp.Header.Get("Seer") != "1" {
		t.Errorf("%s without the marker", resp.Status)
	}
}
