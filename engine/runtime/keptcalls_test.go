package runtime_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
)

func errorCode(answer map[string]any) any {
	e, _ := answer["error"].(map[string]any)
	return e["code"]
}

func TestNamedCalls(t *testing.T) {
	t.Parallel()
	m := upReal(t)
	m.mustServe("tools", realCode+"\n@expose\ndef big(n): return 'x' * n\n")
	const nap, add = `{"args":[0.5],"kwargs":{}}`, `{"args":[1],"kwargs":{}}`

	// Later than the wait: the answer is asked for, by one after another.
	if status, a := m.answerOf("POST", "call/nap?wait=0", nap, "Seer-Call-Id", "call-long"); status != 202 || a["id"] != "call-long" {
		t.Errorf("%d %v", status, a)
	}
	for range 2 {
		if status, a := m.answerOf("GET", "calls/call-long?wait=20", ""); status != 200 || a["result"] != "slept" {
			t.Errorf("%d %v", status, a)
		}
	}
	// The same name never runs twice, however many ask at once.
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			if status, a := m.answerOf("POST", "call/add?wait=20", add, "Seer-Call-Id", "call-once"); status != 200 || a["result"] != 3.0 {
				t.Errorf("%d %v", status, a)
			}
		})
	}
	wg.Wait()
	if got, err := m.call("count"); err != nil || got != "1" {
		t.Errorf("it ran %s times, %v", got, err)
	}
	// Answers that failed are kept like others, and so are large ones.
	for range 2 {
		if status, a := m.answerOf("POST", "call/none?wait=20", add, "Seer-Call-Id", "call-none"); status != 422 || errorCode(a) != "unknown_function" {
			t.Errorf("%d %v", status, a)
		}
		if status, a := m.answerOf("POST", "call/big?wait=20", `{"args":[3000000]}`, "Seer-Call-Id", "call-big"); status != 200 || len(a["result"].(string)) != 3_000_000 {
			t.Errorf("%d", status)
		}
	}
	// What is acknowledged is gone, and still does not run again.
	_, _ = m.answerOf("DELETE", "calls/call-long", "")
	_, _ = m.answerOf("POST", "call/count?wait=20", `{"args":[],"kwargs":{}}`, "Seer-Call-Id", "call-next", "Seer-Call-Done", "call-once, call-big")
	for _, name := range []string{"call-long", "call-once", "call-big"} {
		if status, a := m.answerOf("POST", "call/add?wait=20", add, "Seer-Call-Id", name); status != 422 || errorCode(a) != "interrupted" {
			t.Errorf("%s: %d %v", name, status, a)
		}
	}
	if got, err := m.call("count"); err != nil || got != "1" {
		t.Errorf("it ran %s times, %v", got, err)
	}
}

func TestNamedCallsAreCancelled(t *testing.T) {
	t.Parallel()
	m := upReal(t)
	m.mustServe("tools", realCode)
	if status, _ := m.answerOf("POST", "call/forever?wait=0.2", `{"args":[],"kwargs":{}}`, "Seer-Call-Id", "call-forever"); status != 202 {
		t.Errorf("%d", status)
	}
	waiting := make(chan any, 1)
	go func() {
		_, a := m.answerOf("GET", "calls/call-forever?wait=20", "")
		waiting <- errorCode(a)
	}()
	if status, _ := m.answerOf("DELETE", "calls/call-forever", ""); status != 200 {
		t.Errorf("%d", status)
	}
	if code := <-waiting; code != "interrupted" && code != "cancelled" {
		t.Errorf("who waited was told %v", code)
	}
	eventually(t, "the worker to be free", func() error {
		if got, err := m.call("count"); err != nil || got != "0" {
			return fmt.Errorf("%s %v", got, err)
		}
		return nil
	})
	// The cancelling may arrive before the call.
	_, _ = m.answerOf("DELETE", "calls/call-later", "")
	if status, a := m.answerOf("POST", "call/add?wait=20", `{"args":[1]}`, "Seer-Call-Id", "call-later"); status != 422 || errorCode(a) != "interrupted" {
		t.Errorf("%d %v", status, a)
	}
	eventually(t, "the machine to be idle", func() error {
		if h, err := m.client.Health(testContext(t)); err != nil || h.Busy {
			return errors.New("busy")
		}
		return nil
	})
}

func TestNamedCallsThatAreRefused(t *testing.T) {
	t.Parallel()
	m := upReal(t)
	m.mustServe("tools", realCode)
	const add = `{"args":[1],"kwargs":{}}`
	for _, id := range []string{"", "short", "has space in it", strings.Repeat("x", 101)} {
		if status, a := m.answerOf("POST", "call/add?wait=1", add, "Seer-Call-Id", id); status != 400 || errorCode(a) != "invalid" {
			t.Errorf("%q: %d %v", id, status, a)
		}
	}
	if status, a := m.answerOf("GET", "calls/call-unknown?wait=1", ""); status != 404 || errorCode(a) != "not_found" {
		t.Errorf("%d %v", status, a)
	}
	// A repeat that may have reached a runtime before this one does not run.
	if status, a := m.answerOf("POST", "call/add?wait=1", add, "Seer-Call-Id", "call-repeat", "Seer-Call-Age", "3600"); status != 422 || errorCode(a) != "interrupted" {
		t.Errorf("%d %v", status, a)
	}
	eventually(t, "a repeat to be sound", func() error {
		if status, a := m.answerOf("POST", "call/add?wait=1", add, "Seer-Call-Id", "call-repeat", "Seer-Call-Age", "0.1"); status != 200 {
			return fmt.Errorf("%d %v", status, a)
		}
		return nil
	})
	if status, a := m.answerOf("POST", "call/add?wait=1", add, "Seer-Call-Id", "call-odd-age", "Seer-Call-Age", "-1"); status != 400 {
		t.Errorf("%d %v", status, a)
	}
	// Another service's token asks in vain.
	m.mustServe("other", realCode)
	if resp := m.raw("GET", "/v1/services/tools/calls/call-repeat?wait=0", serviceToken+"other", nil); resp.StatusCode != 403 {
		t.Errorf("%s", resp.Status)
	}
}
