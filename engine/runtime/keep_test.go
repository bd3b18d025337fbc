package runtime_test

import (
	"fmt"
	"strconv"
	"syscall"
	"testing"
)

// TestDetachedCallsAreKept kills the worker as soon as the last of some detached calls
// is said to be there: they wait behind another, so that none has begun, and all run.
func TestDetachedCallsAreKept(t *testing.T) {
	t.Parallel()
	m := upReal(t)
	m.mustServe("tools", realCode+"\n@expose\ndef pid(): return os.getpid()\n")
	for round := range 2 {
		text, err := m.call("pid")
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		if status, a := m.answerOf("POST", "call/nap?wait=0", `{"args":[600]}`, "Seer-Call-Id", fmt.Sprint("nap-before-", round)); status != 202 {
			t.Fatalf("%d %v", status, a)
		}
		name := func(i int) string { return fmt.Sprintf("detached-%d-%d", round, i) }
		submit := func(i int) {
			status, a := m.answerOf("POST", "call/add?wait=0", fmt.Sprintf(`{"args":[%d,1]}`, i), "Seer-Call-Id", name(i), "Seer-Call-Options", `{"detach":true}`)
			if (status != 202 || a["id"] != name(i)) && (i < 10 || status != 200) {
				t.Errorf("%d %v", status, a)
			}
		}
		for i := range 10 {
			submit(i)
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		// There is no worker now: whoever is told that it is there can rely on it as well.
		submit(10)
		for i := range 11 {
			if status, a := m.answerOf("GET", "calls/"+name(i)+"?wait=120", ""); status != 200 || a["result"] != float64(i+1) {
				t.Errorf("%s: %d %v", name(i), status, a)
			}
		}
		if status, a := m.answerOf("GET", "calls/"+fmt.Sprint("nap-before-", round)+"?wait=120", ""); status != 422 || errorCode(a) != "interrupted" {
			t.Errorf("%d %v", status, a)
		}
	}
}

// TestDoneOnTheWay says with a question about one call that the answer of another has
// arrived.
func TestDoneOnTheWay(t *testing.T) {
	t.Parallel()
	m := upTools(t)
	for i, name := range []string{"call-first", "call-second"} {
		if status, a := m.answerOf("POST", "call/add?wait=120", fmt.Sprintf(`{"args":[%d]}`, i), "Seer-Call-Id", name); status != 200 || a["result"] != float64(i+2) {
			t.Errorf("%d %v", status, a)
		}
	}
	if status, a := m.answerOf("GET", "calls/call-second?wait=120", "", "Seer-Call-Done", "call-first, no-such-call"); status != 200 || a["result"] != 3.0 {
		t.Errorf("%d %v", status, a)
	}
	if status, a := m.answerOf("GET", "calls/call-first?wait=120", ""); errorCode(a) != "unknown_call" {
		t.Errorf("an answer that has arrived is still there: %d %v", status, a)
	}
	if status, a := m.answerOf("GET", "calls/call-second?wait=120", ""); status != 200 || a["result"] != 3.0 {
		t.Errorf("%d %v", status, a)
	}
}
