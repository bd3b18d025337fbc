package codeserver

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/notebook"
	"github.com/seer-engine/seer/internal/attack"
	"github.com/seer-engine/seer/internal/testkit"
)

// program stands for code-server: it sets the cookie of a person who has logged in.
const program = `
const server = require("node:http").createServer((request, answer) => {
  answer.setHeader("Set-Cookie", "code-server-session=key; Path=/aBc/; SameSite=Lax");
  answer.end("the workspace");
});
server.listen(PORT, "127.0.0.1", () => console.log("listens"));
`

// TestAttacks asks VS Code's pages by other names, and for their cookies.
func TestAttacks(t *testing.T) {
	attack.Run(t, []attack.Row{
		{Name: "domain-that-leads-to-vscode", Want: "404", Try: func(t *testing.T, defended bool) error {
			resp := ask(t, serve(t, defended, "= HERE;", "= false;"), "evil.example")
			if resp.StatusCode != http.StatusOK {
				return fmt.Errorf("%s", resp.Status)
			}
			return nil
		}},
		{Name: "page-of-another-sandbox-by-its-name", Want: "404", Try: func(t *testing.T, defended bool) error {
			resp := ask(t, serve(t, defended, "= HERE;", "= false;"), "seer-00000000000000000000000000000000.localhost")
			if resp.StatusCode != http.StatusOK {
				return fmt.Errorf("%s", resp.Status)
			}
			return nil
		}},
		{Name: "vscode-cookie-for-other-sites", Want: "SameSite=Strict", Try: func(t *testing.T, defended bool) error {
			resp := ask(t, serve(t, defended, "? strict(value) :", "? value :"), "127.0.0.1")
			if cookie := resp.Header.Get("Set-Cookie"); !strings.Contains(cookie, "SameSite=Lax") {
				return fmt.Errorf("%s", cookie)
			}
			return nil
		}},
	})
}

func TestOwnNameLeadsToVSCode(t *testing.T) {
	port := serve(t, true, "", "")
	own := strings.TrimSuffix(strings.TrimPrefix(notebook.OwnOrigin("http://127.0.0.1/aBc/"), "http://"), "/aBc/")
	for _, host := range []string{own, own + ":1234", "127.0.0.1:1", "localhost", "[::1]:2"} {
		if resp := ask(t, port, host); resp.StatusCode != http.StatusOK || resp.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %s %v", host, resp.Status, resp.Header)
		}
	}
}

// serve starts the program behind the script; without the defence, a part of it is
// another one.
func serve(t *testing.T, defended bool, part, other string) string {
	t.Helper()
	number := testkit.FreePort(t)
	port := strconv.Itoa(number)
	spec := Spec{IP: "127.0.0.1", Base: "/aBc/"}
	text := basePathTemplate
	if !defended {
		text = strings.Replace(text, part, other, 1)
	}
	dir := t.TempDir()
	write := func(name, text string) string { return testkit.WriteFile(t, filepath.Join(dir, name), text) }
	cmd := exec.CommandContext(t.Context(), "node", "--require", write("basepath.cjs", string(spec.fill(text, number))),
		write("program.js", strings.Replace(program, "PORT", port, 1)))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(line, err)
	}
	return port
}

func ask(t *testing.T, port, host string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1:"+port+"/aBc/x", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = host
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}
