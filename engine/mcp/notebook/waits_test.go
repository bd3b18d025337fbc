package notebook_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	mcpnotebook "github.com/seer-engine/seer/engine/mcp/notebook"
	"github.com/seer-engine/seer/engine/notebook"
)

// lines gives each line that a logger writes to a channel.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

// Whoever starts the server where nobody listens is told what it waits for, and then that
// it was in vain, before a client's own patience is over.
func TestNobodyListens(t *testing.T) {
	t.Parallel()
	said := make(lines, 10)
	log := hclog.New(&hclog.LoggerOptions{Level: hclog.Warn, Output: said})
	reader, writer := io.Pipe()
	defer writer.Close()
	o := mcpnotebook.Options{Address: notebook.Address{URL: "http://127.0.0.1:1/", Token: "t0ken"}, OutDir: "-", Logger: log}
	err := mcpnotebook.Serve(t.Context(), o, &mcp.IOTransport{Reader: reader, Writer: writer})
	if err == nil || !strings.Contains(err.Error(), "http://127.0.0.1:1/ cannot be reached") {
		t.Errorf("err = %v", err)
	}
	line := <-said
	if !strings.Contains(line, "no answer from Jupyter yet") || !strings.Contains(line, "http://127.0.0.1:1/") || strings.Contains(line, "t0ken") {
		t.Errorf("said %q", line)
	}
}

// A cell that lacks a package says who can add it.
func TestAPackageIsMissing(t *testing.T) {
	t.Parallel()
	raised := func(name, module string) string {
		return `{"n":1000,"t":"end","execution":{"id":"e1","session":"s1","cell":"c1","state":"error","error":{"ename":"` + name + `","evalue":"No module named '` + module + `'","traceback":[]}}}` + "\n"
	}
	for _, tc := range []struct {
		name, module string
		want         bool
	}{{"ModuleNotFoundError", "einops", true}, {"ModuleNotFoundError", "sklearn.svn", false}, {"ValueError", "einops", false}} {
		a := newAgent(t, (&fake{events: func(w http.ResponseWriter, _ int) { fmt.Fprint(w, raised(tc.name, tc.module)) }}).serve(t))
		a.do("start_new_session", nil)
		if r := a.do("execute_code", map[string]any{"code": "import einops"}); strings.Contains(r.Next, "sandbox.python_packages") != tc.want {
			t.Errorf("%s of %s: next is %q", tc.name, tc.module, r.Next)
		}
	}
}
