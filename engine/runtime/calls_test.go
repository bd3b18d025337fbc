package runtime_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/internal/testkit"
)

func errorCode(answer map[string]any) any {
	e, _ := answer["error"].(map[string]any)
	return e["code"]
}

func errorText(answer map[string]any) string {
	e, _ := answer["error"].(map[string]any)
	return fmt.Sprint(e["message"])
}

const noArguments = `{"args":[],"kwargs":{}}`

func TestNamedCalls(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	m.mustServe("tools", counter)

	// Later than the wait: the answer is asked for, by one after another.
	if status, a := m.answerOf("POST", "call/until?wait=0", `{"args":["long"]}`, "Seer-Call-Id", "call-long"); status != 202 || a["id"] != "call-long" {
		t.Errorf("%d %v", status, a)
	}
	m.goOn("long")
	for range 2 {
		if status, a := m.answerOf("GET", "calls/call-long?wait=120", ""); status != 200 || a["result"] != "long" {
			t.Errorf("%d %v", status, a)
		}
	}
	// The same name never runs twice, however many ask at once.
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			if status, a := m.answerOf("POST", "call/add?wait=120", `{"args":[3]}`, "Seer-Call-Id", "call-once"); status != 200 || a["result"] != 3.0 {
				t.Errorf("%d %v", status, a)
			}
		})
	}
	wg.Wait()
	// Answers that failed are kept like others, and so are large ones.
	for range 2 {
		if status, a := m.answerOf("POST", "call/boom?wait=120", noArguments, "Seer-Call-Id", "call-boom"); status != 422 || errorCode(a) != "raised" {
			t.Errorf("%d %v", status, a)
		}
		if status, a := m.answerOf("POST", "call/big?wait=120", `{"args":[3000000]}`, "Seer-Call-Id", "call-big"); status != 200 || len(a["result"].(string)) != 3_000_000 {
			t.Errorf("%d", status)
		}
	}
	if _, a := m.answerOf("GET", "calls", ""); len(a["calls"].([]any)) != 4 {
		t.Errorf("%v", a)
	}
	if _, a := m.answerOf("GET", "calls?id=call-once", ""); len(a["calls"].([]any)) != 1 {
		t.Errorf("%v", a)
	}
	// What is acknowledged is gone, and still does not run again.
	_, _ = m.answerOf("DELETE", "calls/call-long", "")
	_, _ = m.answerOf("POST", "call/add?wait=120", `{"args":[0]}`, "Seer-Call-Id", "call-next", "Seer-Call-Done", "call-once, call-big")
	for _, name := range []string{"call-long", "call-once", "call-big"} {
		if status, a := m.answerOf("POST", "call/add?wait=120", noArguments, "Seer-Call-Id", name); status != 422 || errorCode(a) != "unknown_call" {
			t.Errorf("%s: %d %v", name, status, a)
		}
	}
	m.wantCall("3", "add", 0)
}

// Who is told that a call waits can ask for it: the worker has read it by then.
func TestWaitingCallIsKnown(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	m.mustServe("tools", counter)
	for i := range 3 {
		id := fmt.Sprint("call-read-late-", i)
		if status, a := m.answerOf("POST", "call/until?wait=0", fmt.Sprintf(`{"args":[%q]}`, id), "Seer-Call-Id", id); status != 202 || a["id"] != id {
			t.Errorf("%d %v", status, a)
		}
		m.goOn(id)
		if status, a := m.answerOf("GET", "calls/"+id+"?wait=120", ""); status != 200 || a["result"] != id {
			t.Errorf("%d %v", status, a)
		}
	}
}

// frames reads what is left of an answer.
func frames(t testing.TB, r io.Reader) (list []string) {
	t.Helper()
	for {
		h, size, err := protocol.ReadFrameHeader(r)
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		body := make([]byte, size)
		if _, err := io.ReadFull(r, body); err != nil {
			t.Fatal(err)
		}
		list = append(list, fmt.Sprintf("%s %d %s", h.Kind, h.N, body))
	}
}

const acceptFrames = "application/vnd.seer.frames"

func (m *machine) stream(method, path, body string, header ...string) *http.Response {
	m.t.Helper()
	return m.raw(method, "/v1/services/tools/"+path, m.token, strings.NewReader(body), append([]string{"Accept", acceptFrames}, header...)...)
}

func TestCallsAsFrames(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	m.mustServe("tools", counter+"\n@expose\ndef steps(n):\n    for i in range(n):\n        yield i\n        time.sleep(0.05)\n")
	resp := m.stream("POST", "call/steps", `{"args":[3]}`, "Seer-Call-Id", "call-steps")
	want := "[item 1 0 item 2 1 item 3 2 result 4 null]"
	if got := fmt.Sprint(frames(t, resp.Body)); got != want || resp.Header.Get("Content-Type") != acceptFrames {
		t.Errorf("%s %v", got, resp.Header)
	}
	if got := fmt.Sprint(frames(t, m.stream("GET", "calls/call-steps?from=3", "").Body)); got != "[item 3 2 result 4 null]" {
		t.Error(got)
	}
	if status, a := m.answerOf("POST", "call/steps", `{"args":[3]}`); status != 200 || fmt.Sprint(a["result"]) != "[0 1 2]" {
		t.Errorf("a generator in JSON: %d %v", status, a)
	}
	// The time is over in the middle, and one goes on from there.
	got := frames(t, m.stream("POST", "call/until?wait=0.2", `{"args":["slow"]}`, "Seer-Call-Id", "call-slow").Body)
	if fmt.Sprint(got) != "[waiting 1 ]" {
		t.Error(got)
	}
	m.goOn("slow")
	if got := frames(t, m.stream("GET", "calls/call-slow?wait=120&from=1&skip=3", "").Body); fmt.Sprint(got) != `[result 1 ow"]` {
		t.Error(got)
	}
	if got := frames(t, m.stream("GET", "calls/call-none?wait=1", "").Body); len(got) != 1 || !strings.HasPrefix(got[0], "error") {
		t.Error(got)
	}
}

func TestCallsOfTokens(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	m.mustServe("tools", counter+"\n@expose\ndef told(): return TOKENS\n")
	ctx := testContext(t)
	other := protocol.Token{ID: "t-other", SHA256: protocol.HashToken("other secret"), Functions: []string{"add"}, Calls: 5}
	if err := m.client.Tokens().Put(ctx, "tools", other); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []protocol.Token{
		{ID: "main", SHA256: other.SHA256}, {ID: "t-x"}, {ID: "t-x", SHA256: other.SHA256},
		{ID: "t-x", SHA256: protocol.HashToken("x"), Rate: []float64{1}},
		{ID: "t-x", SHA256: protocol.HashToken("x"), Arguments: schema(`{"format":"email"}`)},
		{ID: "t-x", SHA256: protocol.HashToken("x"), Arguments: schema(`{"items":{"minimum":"one"}}`)},
	} {
		if err := m.client.Tokens().Put(ctx, "tools", bad); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
	if got, err := m.call("told"); err != nil || !strings.Contains(got, `"t-other"`) || strings.Contains(got, other.SHA256) {
		t.Errorf("%s %v", got, err)
	}
	c := newClient(t, m.boot.Listen, "other secret")
	if v, err := c.Services().Get(ctx, "tools"); err != nil || len(v.Interface.Functions) != 1 || v.Interface.Functions[0].Name != "add" {
		t.Errorf("%+v %v", v, err)
	}
	_, _ = m.answerOf("POST", "call/add", noArguments, "Seer-Call-Id", "call-mine")
	for path, status := range map[string]int{"calls/call-mine": 422, "tokens": 403, "journal": 403} {
		if resp := m.raw("GET", "/v1/services/tools/"+path, "other secret", nil); resp.StatusCode != status {
			t.Errorf("%s: %s", path, resp.Status)
		}
	}
	if resp := m.raw("GET", "/v1/services/tools/calls", "other secret", nil); resp.StatusCode != 200 {
		t.Errorf("%s", resp.Status)
	} else if body, _ := io.ReadAll(resp.Body); strings.TrimSpace(string(body)) != `{"calls":[]}` {
		t.Errorf("another's calls: %s", body)
	}
	list, err := m.client.Tokens().List(ctx, "tools")
	if err != nil || len(list) != 2 || list[0].ID != protocol.MainToken || list[0].Use.Calls != 2 || list[1].Calls != 5 {
		t.Errorf("%+v %v", list, err)
	}
	// An earlier end, after the fact; and none at all.
	other.Expires = 1
	if err := m.client.Tokens().Put(ctx, "tools", other); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Services().Get(ctx, "tools"); protocol.CodeOf(err) != protocol.Unauthorized || !strings.Contains(err.Error(), "expired") {
		t.Errorf("%v", err)
	}
	if err := m.client.Tokens().Delete(ctx, "tools", "t-other"); err != nil {
		t.Error(err)
	}
	if _, err := c.Services().Get(ctx, "tools"); protocol.CodeOf(err) != protocol.Unauthorized || strings.Contains(err.Error(), "expired") {
		t.Errorf("%v", err)
	}
}

func schema(text string) map[string]map[string]json.RawMessage {
	return map[string]map[string]json.RawMessage{"f": {"x": json.RawMessage(text)}}
}

func TestCallsAreCancelled(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	m.mustServe("tools", counter)
	if status, _ := m.answerOf("POST", "call/sleep?wait=0.2", `{"args":[100]}`, "Seer-Call-Id", "call-forever"); status != 202 {
		t.Errorf("%d", status)
	}
	waiting := make(chan any, 1)
	go func() {
		_, a := m.answerOf("GET", "calls/call-forever?wait=120", "")
		waiting <- errorCode(a)
	}()
	if status, a := m.answerOf("DELETE", "calls/call-forever", ""); status != 200 {
		t.Errorf("%d %v", status, a)
	}
	if code := <-waiting; code != "cancelled" {
		t.Errorf("who waited was told %v", code)
	}
	if status, a := m.answerOf("DELETE", "calls/call-none", ""); status != 422 || errorCode(a) != "unknown_call" {
		t.Errorf("%d %v", status, a)
	}
	testkit.EventuallyNil(t, "the machine to be idle", func() error {
		if h, err := m.client.Health(testContext(t)); err != nil || h.Busy {
			return errors.New("busy")
		}
		return nil
	})
}

func TestCallsThatAreRefused(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	m.mustServe("tools", counter)
	for _, id := range []string{"", "short", "has space in it", strings.Repeat("x", 101)} {
		if status, a := m.answerOf("POST", "call/add?wait=1", noArguments, "Seer-Call-Id", id); status != 400 || errorCode(a) != "invalid" {
			t.Errorf("%q: %d %v", id, status, a)
		}
	}
	for header, bad := range map[string]string{"Seer-Call-Age": "-1", "Seer-Call-Options": `{"what":1}`, "Seer-Call-Arguments": "many"} {
		if status, a := m.answerOf("POST", "call/add?wait=1", noArguments, "Seer-Call-Id", "call-odd-one", header, bad); status != 400 {
			t.Errorf("%s: %d %v", header, status, a)
		}
	}
	m.mustServe("other", counter)
	if resp := m.raw("GET", "/v1/services/tools/calls/call-repeat?wait=0", serviceToken+"other", nil); resp.StatusCode != 403 {
		t.Errorf("%s", resp.Status)
	}
}

// TestArgumentsInPieces sends what no single request carries.
func TestArgumentsInPieces(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	m.mustServe("tools", counter)
	body := `{"args":["` + strings.Repeat("z", 3<<20) + `"],"kwargs":{},"timeout_seconds":20}`
	send := func(from, to int) any {
		_, a := m.answerOf("POST", fmt.Sprintf("arguments/call-pieces?offset=%d", from), body[from:to])
		return a["offset"]
	}
	if got := send(0, 0); got != 0.0 {
		t.Error(got)
	}
	size := fmt.Sprint(len(body))
	if status, _ := m.answerOf("POST", "call/length", "", "Seer-Call-Id", "call-pieces", "Seer-Call-Arguments", size); status != 409 {
		t.Errorf("%d", status)
	}
	for _, p := range []struct{ from, to, have int }{{0, 1000, 1000}, {500, 2000, 2000}, {5000, 6000, 2000}, {0, 10, 2000}, {2000, len(body), len(body)}} {
		if got := send(p.from, p.to); got != float64(p.have) {
			t.Errorf("%+v: %v", p, got)
		}
	}
	for range 2 {
		status, a := m.answerOf("POST", "call/length", "", "Seer-Call-Id", "call-pieces", "Seer-Call-Arguments", size)
		if status != 200 || a["result"] != float64(3<<20) {
			t.Errorf("%d %v", status, a)
		}
	}
}
