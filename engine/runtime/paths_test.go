package runtime_test

import (
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/protocol"
)

// Names in requests become names of files: none leads anywhere else.
func TestNoNameIsAPath(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	m.mustServe("tools", counter)
	m.shell("echo x > file; ln -s .. up")
	routes := []string{
		"PUT /v1/services/%s", "GET /v1/services/%s", "DELETE /v1/services/%s", "GET /v1/services/%s/logs", "GET /v1/services/%s/journal",
		"GET /v1/services/%s/calls", "GET /v1/services/%s/tokens", "POST /v1/services/%s/call/add", "POST /v1/services/tools/call/%s",
		"POST /v1/services/tools/arguments/%s?offset=0", "GET /v1/services/tools/calls/%s", "DELETE /v1/services/tools/calls/%s",
		"PUT /v1/services/tools/tokens/%s", "PUT /v1/sessions/%s", "GET /v1/processes/%s", "GET /v1/processes/%s/output",
		"POST /v1/processes/%s/stdin", "POST /v1/processes/%s/signal", "DELETE /v1/processes/%s", "GET /v1/ports/%s",
	}
	names := []string{"..%2f..%2fplanted", "%2e%2e%2f%2e%2e%2fplanted", "..%5c..%5cplanted", "%2ftmp%2fplanted", "planted%00", "%2e%2e", "up%2fplanted", strings.Repeat("planted", 800)}
	for _, route := range routes {
		method, path, _ := strings.Cut(route, " ")
		for _, name := range names {
			body := `{}`
			switch {
			case strings.HasPrefix(path, "/v1/sessions"):
				body = fmt.Sprintf(`{"token_sha256":%q,"kind":"shell"}`, protocol.HashToken("x"))
			case strings.Contains(path, "/tokens/"):
				body = fmt.Sprintf(`{"sha256":%q}`, protocol.HashToken("x"))
			case strings.Contains(path, "/call/"), strings.Contains(path, "/arguments/"):
				body = noArguments
			}
			resp := m.raw(method, fmt.Sprintf(path, name), m.token, strings.NewReader(body))
			if resp.StatusCode/100 != 4 && resp.StatusCode/100 != 3 && resp.StatusCode/100 != 2 {
				t.Errorf("%s with %.40s: %s", route, name, resp.Status)
			}
			if method != http.MethodDelete && resp.StatusCode/100 == 2 {
				t.Errorf("%s with %.40s: %s", route, name, resp.Status)
			}
		}
	}
	for _, id := range []string{"../../planted", "/tmp/planted", "..", "a/b", "planted\x00", strings.Repeat("planted", 800)} {
		if _, err := m.client.Processes().Start(testContext(t), protocol.ProcessSpec{ID: id, Argv: []string{"true"}}); protocol.CodeOf(err) != protocol.Invalid {
			t.Errorf("a process named %.40q: %v", id, err)
		}
		resp := m.raw(http.MethodPost, "/v1/services/tools/call/add?wait=20", m.token, strings.NewReader(noArguments), "Seer-Call-Id", strings.ReplaceAll(id, "\x00", "%00"))
		if resp.StatusCode/100 != 4 {
			t.Errorf("a call named %.40q: %s", id, resp.Status)
		}
	}
	err := filepath.WalkDir(m.dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.Contains(d.Name(), "planted") {
			t.Errorf("written: %s", path)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	// What is asked for by a path that cannot be is refused in words.
	ctx := testContext(t)
	for _, path := range []string{"a\x00b", "/workspace/" + strings.Repeat("x", 5000), "file/below"} {
		_, read := m.client.Files().ReadTree(ctx, path)
		for what, err := range map[string]error{
			"write": m.client.Files().Write(ctx, path, strings.NewReader("x"), 0o644), "mkdir": m.client.Files().Mkdir(ctx, path, 0o755),
			"remove": m.client.Files().Remove(ctx, path, true), "read": m.client.Files().Download(ctx, path, filepath.Join(t.TempDir(), "x")), "tree": read,
			"unpack": m.client.Files().WriteTree(ctx, path, strings.NewReader("")),
		} {
			if code := protocol.CodeOf(err); code != protocol.Invalid && code != protocol.NotFound && code != protocol.Conflict {
				t.Errorf("%s of %.30q: %q %v", what, path, code, err)
			}
		}
		for _, err := range m.client.Files().Watch(ctx, path, true) {
			if code := protocol.CodeOf(err); code != protocol.Invalid && code != protocol.NotFound {
				t.Errorf("watch of %.30q: %v", path, err)
			}
			break
		}
	}
}
