package acceptance

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/internal/testbuild"
)

// newJupyterPlace is a home whose Python has Jupyter, so that nothing is installed.
func newJupyterPlace(t *testing.T) *place {
	t.Helper()
	p := newPlace(t)
	p.env["SEER_PYTHON"] = testbuild.Jupyter(t)
	p.notebook("timeout: 10m")
	return p
}

// notebook writes the experiment of a notebook.
func (p *place) notebook(more string) {
	p.write("exp.yaml", "name: test\nsandbox: {execution_mode: notebook, "+more+"}\nworkspace: {init: 'ready = \"set up\"'}\n")
}

// inNotebook starts a sandbox with those settings, and in it a notebook of an agent.
func (p *place) inNotebook(settings string) *agent {
	p.t.Helper()
	p.notebook(settings)
	p.up("lab")
	a := p.agent("--notebook", "lab")
	a.ok("start_new_session", map[string]any{})
	return a
}

// agent is a client of a `seer mcp` over its standard streams.
type agent struct {
	*job
	in      io.WriteCloser
	answers chan map[string]any
	next    int
	held    map[int]map[string]any // answers that came before others
}

// agent starts `seer mcp` and greets it.
func (p *place) agent(args ...string) *agent {
	p.t.Helper()
	cmd := p.command(append([]string{installed.seer, "mcp"}, args...)...)
	in, err := cmd.StdinPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		p.t.Fatal(err)
	}
	cmd.Stdout = write
	a := &agent{job: p.start(cmd), in: in, answers: make(chan map[string]any, 1000), held: map[int]map[string]any{}}
	write.Close()
	p.t.Cleanup(func() { read.Close() })
	go func() {
		defer close(a.answers)
		lines := bufio.NewReaderSize(read, 1<<20)
		for {
			line, err := lines.ReadBytes('\n')
			var m map[string]any
			if json.Unmarshal(line, &m) == nil {
				a.answers <- m
			}
			if err != nil {
				return
			}
		}
	}()
	a.take(a.send("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`))
	if _, err := io.WriteString(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"); err != nil {
		p.t.Fatal(err)
	}
	return a
}

func (a *agent) send(method, params string) int {
	a.p.t.Helper()
	a.next++
	if _, err := fmt.Fprintf(a.in, `{"jsonrpc":"2.0","id":%d,"method":"%s","params":%s}`+"\n", a.next, method, params); err != nil {
		a.p.t.Fatal(err)
	}
	return a.next
}

// begin asks for a tool; what it answers is taken later.
func (a *agent) begin(tool string, args map[string]any) int {
	a.p.t.Helper()
	data, err := json.Marshal(map[string]any{"name": tool, "arguments": args})
	if err != nil {
		a.p.t.Fatal(err)
	}
	return a.send("tools/call", string(data))
}

// take waits for the answer to a request.
func (a *agent) take(id int) map[string]any {
	a.p.t.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		if m, ok := a.held[id]; ok {
			return m
		}
		select {
		case m, ok := <-a.answers:
			if !ok {
				a.p.t.Fatalf("the server has ended: %s", text(a.err))
			}
			if n, ok := m["id"].(float64); ok && m["method"] == nil {
				a.held[int(n)] = m
			}
		case <-late.C:
			a.p.t.Fatalf("no answer to request %d; it said: %s", id, text(a.err))
		}
	}
}

// answer is what a tool said.
type answer struct {
	failed bool
	text   string
	data   map[string]any
}

func (a *agent) result(id int) answer {
	a.p.t.Helper()
	m := a.take(id)
	var got struct {
		IsError           bool
		StructuredContent map[string]any
		Content           []struct{ Text string }
	}
	data, _ := json.Marshal(m["result"])
	if err := json.Unmarshal(data, &got); err != nil || m["error"] != nil {
		return answer{failed: true, text: fmt.Sprint(m["error"])}
	}
	r := answer{failed: got.IsError, data: got.StructuredContent}
	for _, c := range got.Content {
		r.text += c.Text
	}
	return r
}

func (a *agent) call(tool string, args map[string]any) answer {
	a.p.t.Helper()
	return a.result(a.begin(tool, args))
}

// ok is a call that must not fail.
func (a *agent) ok(tool string, args map[string]any) answer {
	a.p.t.Helper()
	r := a.call(tool, args)
	if r.failed {
		a.p.t.Fatalf("%s failed: %s; stderr: %s", tool, clip(r.text), text(a.err))
	}
	return r
}

// runs runs a cell, which must say the words.
func (a *agent) runs(code string, words ...string) answer {
	a.p.t.Helper()
	r := a.call("execute_code", map[string]any{"code": code})
	for _, w := range words {
		if !strings.Contains(r.text, w) {
			a.p.t.Errorf("%s\ndid not say %q but %s", code, w, clip(r.text))
		}
	}
	return r
}

func (r answer) str(key string) string {
	s, _ := r.data[key].(string)
	return s
}

// exists waits for a file in the sandbox, by its name in the working folder.
func (p *place) exists(sandbox, name string) {
	p.t.Helper()
	p.eventually(name+" in the sandbox", func() bool {
		return p.seer("exec", sandbox, "--", "test", "-e", name).wait().code == 0
	})
}
