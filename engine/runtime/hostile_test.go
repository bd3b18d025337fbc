package runtime_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/internal/testkit"
)

// guest makes a token and a client that has nothing else.
func (m *machine) guest(t testing.TB, token protocol.Token) (*client.Client, string) {
	t.Helper()
	secret := "guest-" + token.ID + "-0123456789"
	token.SHA256 = protocol.HashToken(secret)
	if err := m.client.Tokens().Put(testContext(t), "tools", token); err != nil {
		t.Fatal(err)
	}
	return newClient(t, m.boot.Listen, secret), secret
}

// written sends a request as it is written and reads the answer's status and body.
func (m *machine) written(t testing.TB, request string) (int, string) {
	t.Helper()
	conn := m.dial()
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
	if _, err := io.WriteString(conn, request); err != nil {
		return 0, err.Error()
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0, err.Error()
	}
	body, _ := io.ReadAll(answer.Body)
	return answer.StatusCode, string(body)
}

func TestGuestsStayGuests(t *testing.T) {
	t.Parallel()
	m := upTools(t)
	m.mustServe("other", realCode)
	_, secret := m.guest(t, protocol.Token{ID: "t-guest", Functions: []string{"add"}, Calls: 3})
	for path, want := range map[string]int{
		"GET /v1/services/tools":                    200,
		"GET /v1/services/other":                    403,
		"GET /v1/services":                          403,
		"GET /v1/services/tools/logs":               403,
		"GET /v1/services/tools/journal":            403,
		"GET /v1/services/tools/tokens":             403,
		"PUT /v1/services/tools/tokens/t-guest":     403,
		"DELETE /v1/services/tools/tokens/t-guest":  403,
		"PUT /v1/config":                            403,
		"GET /v1/config":                            403,
		"GET /v1/services/tools%2f..%2fother":       403,
		"GET /v1/services/tools/../other":           403,
		"GET /v1/services//tools/logs":              403,
		"POST /v1/services/tools/call/..%2f..%2fx":  422,
		"GET /v1/services/tools/calls/..%2f..%2f..": 400,
		"GET /v1/files?path=/etc/passwd":            403,
		"POST /v1/processes":                        403,
		"GET /v1/health":                            403,
	} {
		request := path + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + secret + "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
		status, body := m.written(t, request)
		if status == 307 || status == 301 {
			continue // to the clean path, for which the same holds
		}
		if status != want {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
}

func TestHostileRequests(t *testing.T) {
	t.Parallel()
	m := upTools(t)
	_, secret := m.guest(t, protocol.Token{ID: "t-guest"})
	head := "POST /v1/services/tools/call/add HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + secret + "\r\n"
	bomb := "\x00SV1\x02\x00\x00\x00" // two parts; the second is zlib and says that it is 64 GiB
	for name, request := range map[string]string{
		"two lengths":                      head + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
		"length and pieces":                head + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"a large header":                   head + "X: " + strings.Repeat("x", 2<<20) + "\r\n\r\n",
		"large options":                    head + "Seer-Call-Options: " + strings.Repeat("[", 100_000) + "\r\nContent-Length: 0\r\n\r\n",
		"foreign options":                  head + "Seer-Call-Options: {\"token\":\"main\"}\r\nContent-Length: 0\r\n\r\n",
		"foreign options in other letters": head + "Seer-Call-Options: {\"Token\":\"main\",\"ID\":\"x\"}\r\nContent-Length: 0\r\n\r\n",
		"a negative timeout":               head + "Seer-Call-Options: {\"timeout\":-1}\r\nContent-Length: 0\r\n\r\n",
		"a name that is a path":            head + "Seer-Call-Id: ../../../etc\r\nContent-Length: 0\r\n\r\n",
		"two names":                        head + "Seer-Call-Id: aaaaaaaa-1\r\nSeer-Call-Id: main-calls-1\r\nContent-Length: 11\r\n\r\n{\"args\":[1}",
		"deep arguments":                   head + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", 200_000, strings.Repeat("[", 200_000)),
		"a bomb":                           head + fmt.Sprintf("Content-Type: application/vnd.seer.value\r\nContent-Length: %d\r\n\r\n%s", len(bomb)+34, bomb+strings.Repeat("\xff", 34)),
		"too many bytes announced":         head + "Content-Length: 9999999999999\r\n\r\n",
		"no JSON":                          head + "Content-Length: 4\r\n\r\n\xff\xfe{}",
	} {
		conn := m.dial()
		_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
		_, _ = io.WriteString(conn, request)
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err == nil && (answer.StatusCode < 400 || answer.StatusCode >= 500) {
			body, _ := io.ReadAll(answer.Body)
			t.Errorf("%s: %d %s", name, answer.StatusCode, body)
		}
		conn.Close()
	}
	m.wantCall("3", "add", 1, 2)
}

// Connections that are opened and say nothing, or nothing whole, are nobody's hindrance.
func TestManyIdleConnections(t *testing.T) {
	t.Parallel()
	m := upTools(t)
	_, secret := m.guest(t, protocol.Token{ID: "t-guest"})
	var conns []net.Conn
	defer func() {
		for _, c := range conns {
			c.Close()
		}
	}()
	for i := range 1500 {
		conn := m.dial()
		conns = append(conns, conn)
		switch i % 4 {
		case 1:
			_, _ = io.WriteString(conn, "GET /v1/services/tools HTTP/1.1\r\nHost: x\r\nX")
		case 2:
			_, _ = io.WriteString(conn, "POST /v1/services/tools/call/add HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+secret+"\r\nContent-Length: 100\r\n\r\n{")
		case 3:
			_, _ = io.WriteString(conn, "GET /v1/services/tools/connect HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+secret+"\r\nConnection: Upgrade\r\nUpgrade: seer-frames/2\r\n\r\n")
		}
	}
	for i := range 20 {
		if got, err := m.call("add", i, 2); err != nil || got != fmt.Sprint(i+2) {
			t.Fatalf("%s %v", got, err)
		}
	}
}

// A token's calls, arguments and answers are nobody else's.
func TestTokensDoNotMeet(t *testing.T) {
	t.Parallel()
	m := upTools(t)
	ctx := testContext(t)
	mine, _ := m.guest(t, protocol.Token{ID: "t-mine"})
	theirs, _ := m.guest(t, protocol.Token{ID: "t-theirs"})
	if _, err := mine.Calls().Do(ctx, client.CallRequest{Service: "tools", Function: "add", ID: "mine-0001", Keep: true, Args: []any{40}}, client.CallHandler{}); err != nil {
		t.Fatal(err)
	}
	if _, err := mine.Calls().Submit(ctx, client.CallRequest{Service: "tools", Function: "nap", ID: "mine-0002", Args: []any{60}}); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = mine.Calls().Cancel(context.WithoutCancel(ctx), "tools", "mine-0002") }()
	testkit.EventuallyNil(t, "the call runs", func() error {
		calls, err := mine.Calls().List(ctx, "tools")
		for _, c := range calls {
			if c.ID == "mine-0002" && c.State == protocol.CallRunning {
				return err
			}
		}
		return fmt.Errorf("%v %v", calls, err)
	})
	for _, id := range []string{"mine-0001", "mine-0002"} {
		if _, err := theirs.Calls().Attach(ctx, "tools", id, 1, client.CallHandler{}).Wait(ctx); err == nil {
			t.Errorf("another token has the answer of %s", id)
		}
		_ = theirs.Calls().Cancel(ctx, "tools", id) // what is not there need not be cancelled; below it goes on
		if _, err := theirs.Calls().Do(ctx, client.CallRequest{Service: "tools", Function: "add", ID: id, Args: []any{1}}, client.CallHandler{}); err == nil {
			t.Errorf("another token could use the name %s", id)
		}
	}
	if calls, err := theirs.Calls().List(ctx, "tools"); err != nil || len(calls) != 0 {
		t.Errorf("another token sees %v %v", calls, err)
	}
	if calls, err := mine.Calls().List(ctx, "tools"); err != nil || len(calls) != 2 || calls[1].State != protocol.CallRunning {
		t.Errorf("%v %v", calls, err)
	}
}

// Limits hold over HTTP, by frames and with many calls at once.
func TestLimitsHoldInARace(t *testing.T) {
	t.Parallel()
	m := upTools(t)
	guest, secret := m.guest(t, protocol.Token{ID: "t-guest", Calls: 10, Functions: []string{"add"}})
	ctx := testContext(t)
	var wg sync.WaitGroup
	var mu sync.Mutex
	fine := 0
	count := func(err error) {
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			fine++
		}
	}
	for i := range 40 {
		wg.Go(func() {
			if i%2 == 0 {
				_, err := guest.Calls().Do(ctx, client.CallRequest{Service: "tools", Function: "add", Args: []any{i}}, client.CallHandler{})
				count(err)
				return
			}
			status, body := m.written(t, fmt.Sprintf("POST /v1/services/tools/call/add HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: 12\r\n\r\n{\"args\":[1]}", secret))
			if status != 200 {
				count(fmt.Errorf("%d %s", status, body))
				return
			}
			count(nil)
		})
	}
	wg.Wait()
	if fine != 10 {
		t.Errorf("%d of 10 calls ran", fine)
	}
	m.wantCall("10", "count")
}

func TestArgumentsDoNotFillTheDisk(t *testing.T) {
	t.Parallel()
	m := upTools(t)
	_, secret := m.guest(t, protocol.Token{ID: "t-guest"})
	refused := 0
	for i := range 200 {
		request := fmt.Sprintf("POST /v1/services/tools/arguments/guest-%06d?offset=0 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: 10\r\nConnection: close\r\n\r\n0123456789", i, secret)
		if status, _ := m.written(t, request); status == 503 {
			refused++
		} else if status != 200 {
			t.Fatal(status)
		}
	}
	if refused == 0 {
		t.Error("one token had the arguments of 200 calls on their way")
	}
	admin := bytes.NewBufferString(`{"args":[1]}`)
	req, _ := http.NewRequest("POST", "http://x/v1/services/tools/arguments/main-000001?offset=0", admin)
	req.Header.Set("Authorization", "Bearer "+m.token)
	conn := m.dial()
	defer conn.Close()
	if err := req.Write(conn); err != nil {
		t.Fatal(err)
	}
	if answer, err := http.ReadResponse(bufio.NewReader(conn), req); err != nil || answer.StatusCode != 200 {
		t.Errorf("others have no room: %v %v", answer, err)
	}
}
