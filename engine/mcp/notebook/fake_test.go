package notebook_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	sdkmcp "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seer-engine/seer/engine/mcp/internal/serve"
	mcpnotebook "github.com/seer-engine/seer/engine/mcp/notebook"
	"github.com/seer-engine/seer/engine/notebook"
	"github.com/seer-engine/seer/internal/testkit"
)

// fake is a notebook service with one session, whose executions a test makes up.
type fake struct {
	events func(w http.ResponseWriter, from int) // of every execution
	state  string                                // of the session
	refuse string                                // what is said of a session's variables, its restart and another session
	cells  atomic.Int32                          // that were added
	source atomic.Value                          // of the last of them
}

const fakeToken = "token-of-the-fake"

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer "+fakeToken {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	session := fmt.Sprintf(`{"id":"s1","path":"notebooks/n.ipynb","kernel_name":"python3","state":%q,"message":"it was killed","version":"1"}`, f.state)
	switch path := strings.TrimPrefix(r.URL.Path, "/seer/v1"); {
	case path == "":
		fmt.Fprintf(w, `{"seer_notebook":1,"sessions":[%s]}`, session)
	case path == "/sessions" && r.Method == http.MethodPost:
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, `{"session":%s,"execution":null}`, session)
	case path == "/sessions":
		fmt.Fprintf(w, `{"sessions":[%s]}`, session)
	case path == "/sessions/s1":
		fmt.Fprint(w, session)
	case path == "/sessions/s1/notebook":
		if r.URL.Query().Get("unless") == "1" {
			if r.URL.Query().Get("wait") != "0" {
				<-r.Context().Done()
			}
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.Header().Set("X-Seer-Version", "1")
		fmt.Fprint(w, `{"cells":[]}`)
	case f.refuse != "" && (path == "/sessions/s1/variables" || path == "/sessions/s1/restart" || path == "/sessions/s2"):
		w.WriteHeader(http.StatusConflict)
		fmt.Fprint(w, f.refuse)
	case path == "/executions/e1":
		fmt.Fprint(w, `{"id":"e1","session":"s1","cell":"c1","state":"running"}`)
	case path == "/sessions/s1/cells":
		f.cells.Add(1)
		var cell struct{ Source string }
		_ = json.NewDecoder(r.Body).Decode(&cell) // an empty source is not what tests look for
		f.source.Store(cell.Source)
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, `{"cell":{"id":"c1","index":0,"type":"code","source":"x"},"execution":{"id":"e1","session":"s1","cell":"c1","state":"running"}}`)
	case path == "/executions/e1/events":
		from, _ := strconv.Atoi(r.URL.Query().Get("from")) // the client's own
		f.events(w, from)
	default:
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprintf(w, `{"error":{"code":"not_found","message":"nothing at %s"}}`, path)
	}
}

func (f *fake) serve(t *testing.T) mcpnotebook.Options {
	t.Helper()
	if f.state == "" {
		f.state = "idle"
	}
	srv := httptest.NewServer(f)
	t.Cleanup(srv.Close)
	t.Cleanup(srv.CloseClientConnections)
	a, err := notebook.Parse(srv.URL + "/?token=" + fakeToken)
	if err != nil {
		t.Fatal(err)
	}
	return mcpnotebook.Options{Address: a, OutDir: t.TempDir()}
}

func end(state string) string {
	return `{"n":1000,"t":"end","execution":{"id":"e1","session":"s1","cell":"c1","state":"` + state + `"}}` + "\n"
}

func TestWhoIsNotServed(t *testing.T) {
	foreign := httptest.NewServer(http.NotFoundHandler())
	defer foreign.Close()
	own := (&fake{}).serve(t)
	for url, want := range map[string]string{
		foreign.URL + "/?token=whatever":     "not a Jupyter server of Seer",
		own.Address.URL + "?token=old-token": "refuses the token",
	} {
		a, err := notebook.Parse(url)
		if err != nil {
			t.Fatal(err)
		}
		_, there := sdkmcp.NewInMemoryTransports()
		if err := mcpnotebook.Serve(t.Context(), mcpnotebook.Options{Address: a, OutDir: t.TempDir()}, there); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// The connection is cut again and again in the middle of a cell: its output is whole,
// and the cell ran once.
func TestCutsInACell(t *testing.T) {
	f := &fake{events: func(w http.ResponseWriter, from int) {
		for i := max(from, 1); i <= 20; i++ {
			fmt.Fprintf(w, `{"n":%d,"t":"output","output":{"output_type":"stream","name":"stdout","text":"%d,"}}`+"\n", i, i)
			if i%6 == 0 {
				w.(http.Flusher).Flush()
				panic(http.ErrAbortHandler)
			}
		}
		fmt.Fprint(w, end("done"))
	}}
	a := newAgent(t, f.serve(t))
	a.do("start_new_session", nil)
	r := a.do("execute_code", map[string]any{"code": "x"})
	if got := r.text(); got != "stream stdout|1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,\n" || f.cells.Load() != 1 {
		t.Errorf("%q, %d cells", got, f.cells.Load())
	}
}

func TestEndsOfACell(t *testing.T) {
	for name, tc := range map[string]struct {
		events func(http.ResponseWriter, int)
		want   []string
	}{
		"dead": {func(w http.ResponseWriter, _ int) {
			fmt.Fprint(w, `{"n":1,"t":"output","output":{"output_type":"stream","name":"stdout","text":"so far"}}`+"\n"+end("dead"))
		},
			[]string{"it was killed", "restart", "so far"}},
		"dropped": {func(w http.ResponseWriter, _ int) { fmt.Fprint(w, end("dropped")) }, []string{"never ran"}},
		"server started again": {func(w http.ResponseWriter, _ int) {
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"error":{"code":"not_found","message":"no execution e1"}}`)
		}, []string{"no execution e1", "started again"}},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAgent(t, (&fake{events: tc.events}).serve(t))
			a.do("start_new_session", nil)
			got := a.fail("execute_code", map[string]any{"code": "x"})
			for _, want := range tc.want {
				if !strings.Contains(got, want) {
					t.Errorf("%q is not in: %s", want, got)
				}
			}
		})
	}
}

// Where the notebook cannot be saved, the agent has its output all the same, and is
// told.
func TestNowhereToSave(t *testing.T) {
	o := (&fake{events: func(w http.ResponseWriter, _ int) { fmt.Fprint(w, end("done")) }}).serve(t)
	o.OutDir = filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(o.OutDir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	a := newAgent(t, o)
	a.do("start_new_session", nil)
	if r := a.do("execute_code", map[string]any{"code": "x"}); r.State != "done" || r.Saved != "" || !strings.Contains(r.Warning, "could not be saved") {
		t.Errorf("%+v", r)
	}
}

func imageEvents(t *testing.T) func(http.ResponseWriter, int) {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 4, 4))); err != nil {
		t.Fatal(err)
	}
	return func(w http.ResponseWriter, _ int) {
		fmt.Fprintf(w, `{"n":1,"t":"output","output":{"output_type":"display_data","data":{"image/png":%q}}}`+"\n", base64.StdEncoding.EncodeToString(b.Bytes()))
		fmt.Fprint(w, end("done"))
	}
}

// Over HTTP, with the token alone; and a client that shows no images beside structured
// content gets none of that.
func TestOverHTTP(t *testing.T) {
	const key = "a-key-of-sixteen-or-more"
	h, stop, err := mcpnotebook.Handler(t.Context(), (&fake{events: imageEvents(t)}).serve(t), serve.Guard{Token: key})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(h)
	t.Cleanup(stop)
	t.Cleanup(srv.Close)
	if resp, err := http.Post(srv.URL, "application/json", strings.NewReader("{}")); err != nil || resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("%v, %v", resp, err)
	}
	for name, structured := range map[string]bool{"codex-mcp-client": false, "claude-code": true} {
		client := sdkmcp.NewClient(&sdkmcp.Implementation{Name: name, Version: "1"}, nil)
		session, err := client.Connect(t.Context(), &sdkmcp.StreamableClientTransport{Endpoint: srv.URL, HTTPClient: &http.Client{Transport: testkit.Bearer(key)}}, &sdkmcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
		if err != nil {
			t.Fatal(err)
		}
		a := &agent{t: t, session: session}
		a.do("start_new_session", nil) // each client has its own
		r := a.do("execute_code", map[string]any{"code": "x"})
		var told struct{ State string }
		if err := json.Unmarshal([]byte(strings.TrimSpace(contentText(r.result))), &told); err != nil || told.State != "done" {
			t.Errorf("%s: the text is %s", name, contentText(r.result))
		}
		if len(images(r.result)) != 1 || (r.result.StructuredContent != nil) != structured {
			t.Errorf("%s: %d images, structured content %v", name, len(images(r.result)), r.result.StructuredContent)
		}
		session.Close()
	}
}

// What agents read of the tools: every contract's tool is there, told and closed against
// unknown arguments.
func TestTools(t *testing.T) {
	a := newAgent(t, (&fake{}).serve(t))
	list, err := a.session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	readOnly := map[string]bool{"list_sessions": true, "wait_execution": true, "read_notebook": true, "variables": true}
	want := strings.Fields("start_new_session attach_to_session start_session_resume_notebook start_session_continue_notebook list_sessions execute_code wait_execution add_markdown edit_cell insert_cell delete_cell move_cell read_notebook variables interrupt restart shutdown_session")
	seen := map[string]bool{}
	for _, tool := range list.Tools {
		seen[tool.Name] = true
		schema, _ := tool.InputSchema.(map[string]any)
		if len(tool.Description) < 40 || tool.Annotations == nil || tool.Annotations.ReadOnlyHint != readOnly[tool.Name] || schema["additionalProperties"] != false {
			t.Errorf("%s: %+v", tool.Name, tool)
		}
	}
	for _, name := range want {
		if !seen[name] {
			t.Errorf("%s is missing", name)
		}
	}
	if len(list.Tools) != len(want) {
		t.Errorf("%d tools, not %d", len(list.Tools), len(want))
	}
}

// dialTo makes connections to where the address leads.
func dialTo(a notebook.Address) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) {
		u, err := url.Parse(a.URL)
		if err != nil {
			return nil, err
		}
		var d net.Dialer
		return d.DialContext(ctx, "tcp", u.Host)
	}
}
