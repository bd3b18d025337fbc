package shell_test

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	sdkmcp "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seer-engine/seer/engine/mcp/shell"
	"github.com/seer-engine/seer/internal/testkit"
)

// meddler is a way to the sandbox on which something happens in the middle of what is
// large: after the first MiB in either direction.
type meddler struct {
	left   atomic.Int64
	change func()
}

func (m *meddler) arm(change func()) {
	m.change = change
	m.left.Store(1 << 20)
}

func (m *meddler) Write(p []byte) (int, error) {
	if left := m.left.Add(-int64(len(p))); left <= 0 && left+int64(len(p)) > 0 {
		m.change()
	}
	return len(p), nil
}

// between makes the way, and a client that uses it.
func between(t *testing.T, o shell.Options) (*meddler, *sdkmcp.ClientSession) {
	t.Helper()
	b := box(t)
	m := &meddler{}
	listener := testkit.Serve(testkit.UnixSocket(t), func(client net.Conn) { m.join(client, strings.TrimPrefix(b.session.Endpoint, "unix:")) })
	session := b.session
	session.Endpoint = "unix:" + listener.Addr().String()
	return m, agentOf(t, session, "test", o, nil)
}

func (m *meddler) join(client net.Conn, socket string) {
	server, err := net.Dial("unix", socket)
	if err != nil {
		return
	}
	defer server.Close()
	var both sync.WaitGroup
	both.Go(func() { _, _ = io.Copy(io.MultiWriter(m, server), client); server.Close() })
	both.Go(func() { _, _ = io.Copy(io.MultiWriter(m, client), server); client.Close() })
	both.Wait()
}

// A folder in which a file vanishes while it travels arrives without that file, and the
// agent is told.
func TestAFolderThatChangesArrives(t *testing.T) {
	mine := t.TempDir()
	m, s := between(t, shell.Options{Files: mine})
	there, here := folder(t, "changing")
	fill := func(dir string) {
		testkit.WriteFile(t, filepath.Join(dir, "a"), strings.Repeat("x", 16<<20)) // more than waits on the way
		testkit.WriteFile(t, filepath.Join(dir, "z"), "z")
		m.arm(func() { os.Remove(filepath.Join(dir, "z")) })
	}
	arrived := func(dir string, a answer) {
		t.Helper()
		if note := a.text("note"); !strings.Contains(note, "1 entries vanished while the folder was read: z; the rest was copied") {
			t.Errorf("note %q", note)
		}
		if info, err := os.Stat(filepath.Join(dir, "a")); err != nil || info.Size() != 16<<20 {
			t.Errorf("a: %v", err)
		}
		if _, err := os.Stat(filepath.Join(dir, "z")); err == nil {
			t.Error("z did not vanish")
		}
	}
	for _, to := range []string{"new", "new"} { // and into one that is there
		fill(filepath.Join(mine, "data"))
		arrived(filepath.Join(here, to), use(t, s, "upload", object{"from": "data", "path": there + "/" + to}))
	}
	fill(filepath.Join(here, "new"))
	arrived(filepath.Join(mine, "back"), use(t, s, "download", object{"path": there + "/new", "to": "back"}))
}
