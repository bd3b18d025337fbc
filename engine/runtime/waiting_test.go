package runtime_test

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/seer-engine/seer/internal/testkit"
)

// TestManyCallsWait has a thousand clients wait for one call each, and looks at what
// that costs the runtime.
func TestManyCallsWait(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	m.mustServe("tools", counter+"\n@expose\ndef wait():\n    while not os.path.exists('go'): time.sleep(0.1)\n    return 'went'\n")
	const many = 1000
	before := m.memory()
	var conns []net.Conn
	for i := range many {
		conn := m.dial()
		defer conn.Close()
		fmt.Fprintf(conn, "POST /v1/services/tools/call/wait?wait=60 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n"+
			"Seer-Call-Id: call-wait-%d\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", m.token, i)
		conns = append(conns, conn)
	}
	testkit.EventuallyNil(t, "all calls to be there", func() error {
		resp := m.raw("GET", "/v1/services/tools/calls", m.token, nil)
		data, _ := io.ReadAll(resp.Body)
		if n := strings.Count(string(data), `"running"`); n < many {
			return fmt.Errorf("only %d", n)
		}
		return nil
	})
	each := (m.memory() - before) / many
	t.Logf("%d KiB for each call that waits", each>>10)
	if limit := int64(64 << 10); each > limit && !testkit.Race {
		t.Errorf("a call that waits costs %d KiB", each>>10)
	}
	writeFile(t, m.boot.Roots["/workspace"]+"/go", "")
	for i, conn := range conns {
		if data, err := io.ReadAll(conn); err != nil || !strings.HasSuffix(string(data), `{"result":"went","tagged":false}`) {
			t.Fatalf("%d: %q %v", i, data, err)
		}
	}
}

// dial makes a connection, also while too many others are being made.
func (m *machine) dial() (conn net.Conn) {
	m.t.Helper()
	testkit.EventuallyNil(m.t, "a connection", func() (err error) {
		conn, err = net.Dial("unix", strings.TrimPrefix(m.boot.Listen, "unix:"))
		return err
	})
	return conn
}
