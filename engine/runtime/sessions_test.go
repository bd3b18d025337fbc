package runtime_test

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/internal/testkit"
)

// visitor makes a session and a client that has nothing but its token.
func (m *machine) visitor(id string) (*client.Client, string) {
	m.t.Helper()
	token := protocol.NewToken()
	if err := m.client.Sessions().Put(testContext(m.t), id, token); err != nil {
		m.t.Fatal(err)
	}
	return newClient(m.t, m.client.Endpoint(), token), token
}

// TestSessionTokens does what a session may, tries the rest, and kills the runtime.
func TestSessionTokens(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	ctx := testContext(t)
	m.configure(protocol.Config{Secrets: map[string]string{"KEY": "s3cr3t-value"}})
	m.mustServe("tools", counter)
	c, token := m.visitor("agent.1")
	var out bytes.Buffer
	if p, err := c.Processes().Run(ctx, protocol.ProcessSpec{Shell: "echo $KEY"}, nil, &out, nil); err != nil || p.ExitCode != 0 || out.String() != "[secret KEY]\n" {
		t.Errorf("%+v %v %q", p, err, out.String())
	}
	if err := c.Files().Write(ctx, "a b/é", strings.NewReader("text"), 0o600); err != nil {
		t.Error(err)
	}
	if _, err := c.Files().List(ctx, "/workspace/a b"); err != nil {
		t.Error(err)
	}
	if err := c.Files().Download(ctx, "/workspace", t.TempDir()); err != nil {
		t.Error(err)
	}
	if u, err := c.Usage(ctx); err != nil || u.Processes == 0 {
		t.Errorf("%+v %v", u, err)
	}
	for e, err := range c.Files().Watch(ctx, "/workspace", true) {
		if err != nil || e.Type != protocol.WatchReady {
			t.Errorf("%+v %v", e, err)
		}
		break
	}
	p, err := c.Processes().Start(ctx, protocol.ProcessSpec{Background: true, Shell: "echo $$ > pid; exec sleep 1000"})
	if err != nil {
		t.Fatal(err)
	}
	testkit.EventuallyNil(t, "the variables of a process, without secrets", func() error {
		var pid, env bytes.Buffer
		if _, err := c.Files().Read(ctx, "pid", &pid); err != nil {
			return err
		}
		if _, err := c.Files().Read(ctx, "/proc/"+strings.TrimSpace(pid.String())+"/environ", &env); err != nil {
			return err
		}
		if !strings.Contains(env.String(), "SEER_PROCESS="+p.ID+"\x00") || !strings.Contains(env.String(), "KEY=[secret KEY]\x00") {
			return fmt.Errorf("%q", env.String())
		}
		return nil
	})
	closed := portThatAnswers(t, c)
	checkSessionRefusals(t, m, token)

	again, err := m.client.Sessions().List(ctx)
	if err != nil || len(again) != 1 || again[0].ID != "agent.1" || again[0].Kind != protocol.SessionShell || again[0].CreatedUnix == 0 {
		t.Errorf("%+v %v", again, err)
	}
	m.killRuntime()
	testkit.EventuallyNil(t, "the session to be known again", func() error {
		_, err := c.Processes().List(ctx)
		return err
	})
	if err := closed(); err == nil {
		t.Error("a connection to a port has outlived its runtime")
	}
	closed = portThatAnswers(t, c)
	if err := m.client.Sessions().Delete(ctx, "agent.1"); err != nil {
		t.Error(err)
	}
	testkit.EventuallyNil(t, "the revoked session's connection to be closed", func() error {
		if closed() == nil {
			return fmt.Errorf("it still answers")
		}
		return nil
	})
	if _, err := c.Processes().List(ctx); protocol.CodeOf(err) != protocol.Unauthorized {
		t.Errorf("a revoked token: %v", err)
	}
	if err := m.client.Sessions().Delete(ctx, "agent.1"); protocol.CodeOf(err) != protocol.NotFound {
		t.Error(err)
	}
}

// portThatAnswers connects to an echo, and returns what tries it again.
func portThatAnswers(t *testing.T, c *client.Client) func() error {
	t.Helper()
	conn, err := c.DialPort(testContext(t), listenEcho(t, "127.0.0.1:0"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	try := func() error {
		if _, err := io.WriteString(conn, "ping"); err != nil {
			return err
		}
		_, err := io.ReadFull(conn, make([]byte, 4))
		return err
	}
	if err := try(); err != nil {
		t.Fatal(err)
	}
	return try
}

func checkSessionRefusals(t *testing.T, m *machine, token string) {
	for request, want := range map[string]int{
		"GET /v1/health": 403, "PUT /v1/config": 403, "GET /v1/config": 403, "GET /v1/lease": 403, "PUT /v1/lease": 403,
		"POST /v1/shutdown": 403, "POST /v1/freeze": 403, "POST /v1/thaw": 403, "GET /v1/sessions": 403,
		"PUT /v1/sessions/agent.1": 403, "PUT /v1/sessions/other": 403, "DELETE /v1/sessions/agent.1": 403,
		"GET /v1/services": 403, "GET /v1/services/tools": 403, "PUT /v1/services/mine": 403, "GET /v1/services/tools/logs": 403,
		"POST /v1/services/tools/call/add": 403, "GET /v1/services/tools/connect": 403, "GET /v1/services/tools/tokens": 403,
		"GET /v1/services/tools/journal": 403, "GET /loader/v1": 403, "POST /loader/v1/push": 403, "GET /v1/nothing": 403,
		"GET /v1/files/../config": 403, "GET /v1/processes/..%2f..%2fconfig": 404, "GET /v1/processes/%2e%2e/config": 403,
		"GET /v1/ports/..%2fconfig": 400, "GET /v1/ports/10.0.0.1:80": 400, "GET /v1/ports/0": 400, "GET /v1/ports/65536": 400,
		"GET /v1/ports/-1": 400, "GET /v1/ports/80%20": 400, "GET /v1/ports/22": 426,
		"GET /v1/watch": 400, "GET /v1/watch?path=/nowhere": 404, "GET /v1/watch?path=/&wait=-1": 400,
		"GET /v1/files?path=/proc/self/fd/4": 403, // what the runtime remembers, secrets among it
		"GET /v1/files?path=/dev/fd/4":       403,
	} {
		status, body := m.written(t, request+" HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+token+"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
		if status == 301 || status == 307 {
			continue // to the clean path, for which the same holds
		}
		if status != want || strings.Contains(body, "s3cr3t") {
			t.Errorf("%s: %d %s", request, status, body)
		}
	}
}

func TestSessionMistakes(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	ctx := testContext(t)
	hash := protocol.HashToken("x")
	for request, want := range map[string]int{
		`PUT /v1/sessions/a ` + `{"kind":"shell","token_sha256":"` + hash + `"}`:                        200,
		`PUT /v1/sessions/b ` + `{"kind":"shell","token_sha256":"` + hash + `"}`:                        409,
		`PUT /v1/sessions/c ` + `{"kind":"root","token_sha256":"` + hash + `"}`:                         400,
		`PUT /v1/sessions/d ` + `{"kind":"shell","token_sha256":"x"}`:                                   400,
		`PUT /v1/sessions/e ` + `{"kind":"shell","token_sha256":"` + hash + `","access":"all"}`:         400,
		`PUT /v1/sessions/e%20f ` + `{"kind":"shell","token_sha256":"` + hash + `"}`:                    400,
		`PUT /v1/sessions/g ` + `{"kind":"shell","token_sha256":"` + protocol.HashToken(m.token) + `"}`: 409,
	} {
		if strings.Contains(request, "sessions/b") {
			continue // after a, below
		}
		line, body, _ := strings.Cut(request, " {")
		if status, text := m.putText(line, "{"+body); status != want {
			t.Errorf("%s: %d %s", request, status, text)
		}
	}
	if status, text := m.putText("PUT /v1/sessions/b", `{"kind":"shell","token_sha256":"`+hash+`"}`); status != 409 {
		t.Errorf("a token of two sessions: %d %s", status, text)
	}
	// Another token takes the place of the one before.
	c, _ := m.visitor("a")
	if _, err := newClient(t, m.boot.Listen, "x").Processes().List(ctx); protocol.CodeOf(err) != protocol.Unauthorized {
		t.Error(err)
	}
	if _, err := c.Processes().List(ctx); err != nil {
		t.Error(err)
	}
}

// putText sends a request with a body as it is written.
func (m *machine) putText(line, body string) (int, string) {
	return m.written(m.t, fmt.Sprintf("%s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		line, m.token, len(body), body))
}

// listenEcho answers everything with the same on a port of this computer, which the test's
// machine shares.
func listenEcho(t testing.TB, address string) int {
	t.Helper()
	return testkit.Port(testkit.Serve(testkit.Listen(t, "tcp", address), testkit.Echo))
}

// TestHome finds the home of processes by its short name.
func TestHome(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	ctx := testContext(t)
	home := filepath.Join(t.TempDir(), "a home")
	mustMkdir(t, home)
	m.configure(protocol.Config{Env: map[string]string{"HOME": home}})
	if err := m.client.Files().Write(ctx, "~/.seer/x", strings.NewReader("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	if p, out, _ := m.run(protocol.ProcessSpec{Argv: []string{"cat", "x"}, Cwd: "~/.seer"}); p.ExitCode != 0 || out != "text" {
		t.Errorf("%+v %q", p, out)
	}
	if e, err := m.client.Files().List(ctx, "~"); err != nil || len(e) != 1 || e[0].Path != "~/.seer" {
		t.Errorf("%+v %v", e, err)
	}
	if out := m.shell(`cat "$HOME/.seer/x"; ls -d ./~x 2>&1 || true`); !strings.HasPrefix(out, "text") {
		t.Error(out)
	}
	if err := m.client.Files().Write(ctx, "~x", strings.NewReader("of nobody's home"), 0o644); err != nil {
		t.Error(err)
	}
	if _, err := m.client.Files().Stat(ctx, "/workspace/~x"); err != nil {
		t.Error(err)
	}
}
