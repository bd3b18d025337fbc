package notebook_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	mcpnotebook "github.com/seer-engine/seer/engine/mcp/notebook"
	"github.com/seer-engine/seer/engine/notebook"
	"github.com/seer-engine/seer/internal/testkit"
)

// A cell that prints nothing is heard of every few seconds, so that no client gives it
// up. It ends when that has been seen.
func TestASilentCellIsHeardOf(t *testing.T) {
	t.Parallel()
	heard := make(chan struct{})
	f := &fake{events: func(w http.ResponseWriter, _ int) {
		w.(http.Flusher).Flush()
		<-heard
		fmt.Fprint(w, end("done"))
	}}
	a := newAgent(t, f.serve(t))
	a.do("start_new_session", nil)
	done := make(chan answer)
	go func() { done <- a.do("execute_code", map[string]any{"code": "x"}) }()
	testkit.Eventually(t, "that the cell runs", func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		n := len(a.progress)
		return n >= 2 && a.progress[n-1].Progress > a.progress[n-2].Progress && strings.Contains(a.progress[n-1].Message, "running for")
	})
	close(heard)
	if r := <-done; r.State != "done" {
		t.Errorf("%+v", r)
	}
}

// What tools answer is as they say, also where fields are empty.
func TestAnswersAreAsTheToolsSay(t *testing.T) {
	f := &fake{events: func(w http.ResponseWriter, _ int) {
		fmt.Fprint(w, `{"n":1,"t":"output","output":{"output_type":"stream","name":"stdout","text":"50%|##  | 1/2"}}`+"\n"+end("done"))
	}}
	a := newAgent(t, f.serve(t))
	schemas := map[string]*jsonschema.Resolved{}
	for tool, err := range a.session.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(tool.OutputSchema)
		if err != nil {
			t.Fatal(err)
		}
		var s jsonschema.Schema
		if err := json.Unmarshal(data, &s); err != nil || s.Type != "object" || len(s.Properties) < 2 {
			t.Fatalf("%s: %v %s", tool.Name, err, data)
		}
		if schemas[tool.Name], err = s.Resolve(nil); err != nil {
			t.Fatalf("%s: %v", tool.Name, err)
		}
	}
	if len(schemas) != 17 {
		t.Errorf("%d tools", len(schemas))
	}
	for _, call := range []struct {
		tool string
		args map[string]any
	}{
		{"start_new_session", nil},
		{"execute_code", map[string]any{"code": "x"}},
		{"add_markdown", map[string]any{"content": "x"}},
		{"wait_execution", map[string]any{"execution_id": "e1"}},
		{"list_sessions", nil},
	} {
		r := a.do(call.tool, call.args)
		if err := schemas[call.tool].Validate(r.result.StructuredContent); err != nil {
			t.Errorf("%s: %v in %v", call.tool, err, r.result.StructuredContent)
		}
	}
}

// A person cannot open a socket of the agent's; the page that leads there is told where it is known.
func TestOnlyAPageForPeopleIsTold(t *testing.T) {
	o := (&fake{}).serve(t)
	plain := newAgent(t, o).do("start_new_session", nil).URL
	if plain != o.Address.Full() {
		t.Errorf("%q", plain)
	}
	inner := o.Address
	through, err := notebook.Parse("unix:/run/seer/notebook.sock?token=" + fakeToken)
	if err != nil {
		t.Fatal(err)
	}
	through.Dial = dialTo(inner)
	for _, page := range []string{"", "https://host/?token=t"} {
		o.Address, o.Page = through, page
		a := newAgent(t, o)
		if got := a.do("start_new_session", nil); got.URL != page {
			t.Errorf("%q, not %q", got.URL, page)
		}
		if got := a.do("list_sessions", nil); got.URL != page {
			t.Errorf("%q, not %q", got.URL, page)
		}
	}
}

func TestNothingIsSaved(t *testing.T) {
	t.Chdir(t.TempDir())
	o := (&fake{}).serve(t)
	o.OutDir = mcpnotebook.NoOut
	a := newAgent(t, o)
	if r := a.do("start_new_session", nil); r.Saved != "" || r.Warning != "" {
		t.Errorf("%+v", r)
	}
	if r := a.do("shutdown_session", nil); r.State != "closed" {
		t.Errorf("%+v", r)
	}
	a.end()
	if found, err := os.ReadDir("."); err != nil || len(found) > 0 {
		t.Errorf("%v, %v", found, err)
	}
}

// An agent cannot make HTTP calls: whatever of them the service names in what it says is
// told by the names of tools.
func TestNoHTTPCallsAreTold(t *testing.T) {
	var files []string
	for _, pattern := range []string{"*.py", "*/*.py"} {
		found, err := filepath.Glob("../../python/seer_notebook/" + pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(files) < 40 {
		t.Fatalf("%q", files)
	}
	texts := regexp.MustCompile(`(?:Refused|Log)\(.*?"([^"]*(?:GET|POST|PUT|PATCH|DELETE) …[^"]*)"`)
	var found []string
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range texts.FindAllStringSubmatch(string(data), -1) {
			found = append(found, strings.ReplaceAll(m[1], "%s", "s1"))
		}
		if n := strings.Count(string(data), "…/"); n != len(texts.FindAllString(string(data), -1)) {
			t.Errorf("%s names %d calls, of which the test sees not all", name, n)
		}
	}
	if len(found) < 4 {
		t.Errorf("%d texts with calls: %q", len(found), found)
	}
	for _, text := range found {
		message, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		f := &fake{refuse: fmt.Sprintf(`{"error":{"code":"conflict","message":%s}}`, message), events: func(w http.ResponseWriter, _ int) {
			fmt.Fprintf(w, `{"n":1,"t":"note","text":%s}`+"\n"+end("done"), message)
		}}
		a := newAgent(t, f.serve(t))
		a.do("start_new_session", nil)
		said := []string{a.do("wait_execution", map[string]any{"execution_id": "e1"}).text()}
		for tool, args := range map[string]map[string]any{"variables": nil, "restart": nil, "attach_to_session": {"session_id": "s2"}} {
			said = append(said, a.fail(tool, args))
		}
		for _, got := range said {
			if strings.Contains(got, "…/") || !strings.Contains(got, "s1") && !strings.Contains(got, "start_new_session") {
				t.Errorf("%q is told as %q", text, got)
			}
		}
	}
}

// The content of a cell goes by another name in other tools, which is understood.
func TestACellsContentUnderItsOtherNames(t *testing.T) {
	f := &fake{events: func(w http.ResponseWriter, _ int) { fmt.Fprint(w, end("done")) }}
	a := newAgent(t, f.serve(t))
	a.do("start_new_session", nil)
	n := int32(0)
	for _, tool := range []string{"execute_code", "insert_cell", "add_markdown"} {
		for _, name := range []string{"code", "source", "content"} {
			a.do(tool, map[string]any{name: "print(1 < 2) # é"})
			if n++; f.cells.Load() != n || f.source.Load() != "print(1 < 2) # é" {
				t.Errorf("%s with %s: %d cells, the last %q", tool, name, f.cells.Load(), f.source.Load())
			}
		}
	}
	for tool, want := range map[string]string{"execute_code": "did you mean `code`?", "insert_cell": "did you mean `source`?", "add_markdown": "did you mean `content`?"} {
		if got := a.fail(tool, map[string]any{"text": "1"}); !strings.Contains(got, want) {
			t.Errorf("%s: %s", tool, got)
		}
	}
	if got := a.fail("insert_cell", map[string]any{"source": "1", "code": "2"}); !strings.Contains(got, "there is no argument `code`") {
		t.Errorf("%s", got)
	}
}
