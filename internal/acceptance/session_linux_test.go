package acceptance

import (
	"encoding/json"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// hold is a cell that runs until the file NAME.go is there.
func hold(name string) string {
	return "import os, time\nopen('/workspace/" + name + "', 'w').close()\nwhile not os.path.exists('/workspace/" + name + ".go'): time.sleep(0.05)\nprint('held', '" + name + "')"
}

// TestNotebookFaults is one sandbox with what happens to its agents and its kernel.
func TestNotebookFaults(t *testing.T) {
	t.Parallel()
	p := newJupyterPlace(t)
	p.up("lab")
	if log := p.ok("logs", "lab", "--service", "jupyter"); !strings.Contains(log, "listening at") {
		t.Errorf("the log of Jupyter: %s", clip(log))
	}
	if r := p.seer("logs", "lab", "--service", "code-server").wait(); r.code != 4 || !strings.Contains(r.err, "code-server") {
		t.Errorf("the log of what is not there: %d, %s", r.code, clip(r.err))
	}

	// The agent's program is killed in the middle of a cell: the cell goes on, and who
	// comes next sees what it said.
	first := p.agent("--notebook", "lab", "--out", "out é")
	session := first.ok("start_new_session", map[string]any{"experiment_name": "my work"}).str("session_id")
	first.runs("print(ready, 6 * 7)", "set up 42")
	first.begin("execute_code", map[string]any{"code": hold("one")})
	p.exists("lab", "one")
	first.signal(syscall.SIGKILL)
	_ = first.cmd.Wait()
	p.ok("exec", "lab", "--", "touch", "one.go")
	second := p.agent("--notebook", "lab", "--out", "out é")
	if got := second.ok("attach_to_session", map[string]any{}).str("session_id"); got != session {
		t.Errorf("attached to %s, not %s", got, session)
	}
	p.eventually("the result of the cell", func() bool {
		return strings.Contains(second.ok("read_notebook", map[string]any{}).text, "held one")
	})
	p.eventually("the copy", func() bool { return strings.Contains(p.copies("out é"), "held one") })

	// The way is cut in the middle of a cell: the answer comes all the same.
	cut := p.shears("lab")
	far := p.agent("--notebook", cut.url, "--out", "far")
	far.ok("attach_to_session", map[string]any{})
	running := far.begin("execute_code", map[string]any{"code": hold("two")})
	p.exists("lab", "two")
	cut.cut()
	p.ok("exec", "lab", "--", "touch", "two.go")
	if r := far.result(running); r.failed || !strings.Contains(r.text, "held two") {
		t.Errorf("after a cut: %s", clip(r.text))
	}

	// Two agents in one notebook: their cells take turns, and each sees the other's.
	both := []int{second.begin("execute_code", map[string]any{"code": "print('from ' + 'here')"}), 0}
	both[1] = far.begin("execute_code", map[string]any{"code": "print('from ' + 'there')"})
	if a, b := second.result(both[0]), far.result(both[1]); !strings.Contains(a.text, "from here") || !strings.Contains(b.text, "from there") {
		t.Errorf("side by side: %s %s", clip(a.text), clip(b.text))
	}
	for _, a := range []*agent{second, far} {
		if all := a.ok("read_notebook", map[string]any{}).text; !strings.Contains(all, "from here") || !strings.Contains(all, "from there") {
			t.Errorf("an agent sees only %s", clip(all))
		}
	}

	// Much output is cut, and that is said.
	if r := second.runs("for i in range(20): print('x' * 999_999)"); r.failed || len(r.text) > 100_000 || !strings.Contains(r.text, "left out") {
		t.Errorf("20 MB: failed %v, %d characters: %s", r.failed, len(r.text), clip(r.text))
	}

	// What leads out is refused, and said.
	for tool, args := range map[string]map[string]any{
		"start_session_resume_notebook":   {"notebook_path": "../../../etc/passwd"},
		"start_session_continue_notebook": {"notebook_path": "/etc/passwd"},
		"attach_to_session":               {"session_id": "../../etc"},
		"wait_execution":                  {"execution_id": "../x"},
		"edit_cell":                       {"cell": "../x", "code": "1"},
	} {
		if r := second.call(tool, args); !r.failed || strings.Contains(r.text, "root:") {
			t.Errorf("%s %v: %s", tool, args, clip(r.text))
		}
	}

	// The kernel dies: it is said at once, and it starts again only when asked.
	if r := second.runs("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "killed by signal 9", `"state":"dead"`); !r.failed {
		t.Errorf("a killed kernel: %s", clip(r.text))
	}
	if r := second.runs("1"); !r.failed {
		t.Errorf("a dead kernel runs cells: %s", clip(r.text))
	}
	second.ok("restart", map[string]any{})
	second.runs("print(ready)", "set up")

	// The sandbox ends while a cell runs, and its agents go.
	second.begin("execute_code", map[string]any{"code": hold("three")})
	p.exists("lab", "three")
	p.ok("down", "lab")
	for _, a := range []*agent{second, far} {
		a.in.Close()
		if r := a.wait(); r.code != 0 && r.code != 6 {
			t.Errorf("%s ended with %d: %s", r.line, r.code, r.err)
		}
	}
	p.nothingRuns()
	p.nothingLies()
}

// copies are the notebooks in a folder, one after another.
func (p *place) copies(dir string) (all string) {
	files, _ := filepath.Glob(filepath.Join(p.path(dir), "*.ipynb"))
	for _, file := range files {
		data, _ := os.ReadFile(file)
		all += string(data)
	}
	return all
}

// shears lead to the Jupyter of a sandbox, until their connections are cut.
type shears struct {
	url   string
	mu    sync.Mutex
	conns []net.Conn
}

func (p *place) shears(sandbox string) *shears {
	p.t.Helper()
	var info struct {
		Environment struct {
			URL string `json:"jupyter_url"`
		}
	}
	if err := json.Unmarshal([]byte(p.ok("show", sandbox, "--json")), &info); err != nil {
		p.t.Fatal(err)
	}
	at, err := url.Parse(info.Environment.URL)
	if err != nil {
		p.t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { l.Close() })
	c := &shears{}
	target := at.Host
	at.Host = l.Addr().String()
	c.url = at.String()
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", target)
			if err != nil {
				near.Close()
				continue
			}
			c.mu.Lock()
			c.conns = append(c.conns, near, far)
			c.mu.Unlock()
			go func() { _, _ = io.Copy(far, near); far.Close() }()
			go func() { _, _ = io.Copy(near, far); near.Close() }()
		}
	}()
	return c
}

func (c *shears) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.conns {
		conn.Close()
	}
	c.conns = nil
}
