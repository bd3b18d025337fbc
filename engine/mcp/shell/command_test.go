package shell_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	sdkmcp "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seer-engine/seer/engine/mcp/shell"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/repl"
	"github.com/seer-engine/seer/internal/testkit"
)

func TestCommandsGiveTheirExitCodeAndStreams(t *testing.T) {
	s := agent(t, shell.Options{})
	a := use(t, s, "run_command", object{"command": "echo out; echo err >&2; echo $X; exit 3", "env": object{"X": "é $(id) '"}})
	a.want(t, object{"state": "exited", "exit_code": 3.0, "stdout": "out\né $(id) '\n", "stderr": "err\n", "timed_out": false})
	if id := a.text("process_id"); !strings.HasPrefix(id, "p-") {
		t.Errorf("process id %q", id)
	}
	use(t, s, "run_command", object{"command": "mkdir -p 'a folder é' && cd 'a folder é' && basename \"$PWD\""}).want(t, object{"stdout": "a folder é\n"})
	use(t, s, "run_command", object{"command": "basename \"$PWD\"", "cwd": "/workspace/a folder é"}).want(t, object{"stdout": "a folder é\n"})
	use(t, s, "run_command", object{"command": "kill -9 $$"}).want(t, object{"exit_code": 137.0, "signal": "KILL"})
	use(t, s, "run_command", object{"command": "printf '\\033[31mred\\033[0m \\377\\n'"}).want(t, object{"stdout": "red \uFFFD\n"})
	use(t, s, "run_command", object{"command": "sleep 600", "end_after": 0.3}).want(t, object{"exit_code": 124.0, "timed_out": true})

	// timeout is how long is waited; what it is over for goes on.
	a = use(t, s, "run_command", object{"command": "until [ -e now ]; do sleep 0.05; done; rm now; exit 4", "timeout": 0.2})
	a.want(t, object{"state": "running", "exit_code": nil})
	code := use(t, s, "run_python", object{"code": "import os, time\nwhile not os.path.exists('then'): time.sleep(.05)\nos.remove('then')\n'waited'", "timeout": 0.2})
	if state := code.text("state"); state != "running" && state != "queued" {
		t.Errorf("state %s", state)
	}
	use(t, s, "run_command", object{"command": "touch now then"})
	use(t, s, "wait_process", object{"process_id": a.text("process_id"), "timeout": 60}).want(t, object{"state": "exited", "exit_code": 4.0, "timed_out": false})
	use(t, s, "wait_process", object{"process_id": code.text("process_id"), "timeout": 60}).want(t, object{"result": "'waited'", "timed_out": false})

	refused(t, s, "run_command", object{"command": "  "}, "empty")
	refused(t, s, "run_command", object{"command": "true", "timeout": -1}, "above 0")
	refused(t, s, "run_python", object{"code": "1", "end_after": -1}, "above 0")
	refused(t, s, "run_command", object{"command": "echo \x00"}, "zero byte")
	refused(t, s, "run_command", object{"command": "true", "cwd": "nowhere/at all"}, "nowhere/at all")
	refused(t, s, "run_command", object{"command": "true", "env": object{"A=B": "x"}}, "A=B")
	refused(t, s, "run_command", object{"comand": "true"}, "comand")
}

func TestWhatTakesLongIsHandedOver(t *testing.T) {
	s := agent(t, shell.Options{Wait: 200 * time.Millisecond})
	a := use(t, s, "run_command", object{"command": "echo first; until [ -e go ]; do sleep 0.05; done; rm go; echo last; exit 7"})
	a.want(t, object{"state": "running", "exit_code": nil})
	id := a.text("process_id")
	if next := a.text("next"); !strings.Contains(next, "wait_process") {
		t.Errorf("next is %q", next)
	}
	use(t, s, "wait_process", object{"process_id": id, "timeout": 0.05}).want(t, object{"state": "running"})

	// Another program of the same session, as after a restart of the agent.
	other := agent(t, shell.Options{})
	use(t, other, "run_command", object{"command": "touch go"})
	use(t, other, "wait_process", object{"process_id": id}).want(t, object{"state": "exited", "exit_code": 7.0, "stdout": "first\nlast\n"})
	use(t, other, "wait_process", object{"process_id": id}).want(t, object{"exit_code": 7.0}) // as often as it is asked
	refused(t, s, "wait_process", object{"process_id": "p-none"}, "p-none", "list_processes")
	refused(t, s, "stop_process", object{"process_id": "p-../../etc"}, "there is no process")
}

func TestACancelledCommandEndsWithAllItHasStarted(t *testing.T) {
	s := agent(t, shell.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	mark := strconv.FormatInt(time.Now().UnixNano(), 10) // of no other run of this test on this computer
	sleep, began := "sleep 599."+mark, "began-"+mark
	go func() {
		_, err := s.CallTool(ctx, &sdkmcp.CallToolParams{Name: "run_command", Arguments: object{"command": "touch " + began + "; " + sleep + " & " + sleep + "; wait"}})
		done <- err
	}()
	testkit.Eventually(t, "the command begins", func() bool { return !try(t, s, "read_file", object{"path": began}).raw.IsError })
	cancel()
	if err := <-done; err == nil {
		t.Error("a cancelled request succeeded")
	}
	testkit.Eventually(t, "its processes end", func() bool {
		return use(t, s, "run_command", object{"command": "pgrep -fx '" + sleep + "'"}).object["exit_code"] == 1.0
	})
}

// stop ends something, and waits where that takes longer than the tool does.
func stop(t *testing.T, s *sdkmcp.ClientSession, args object) answer {
	t.Helper()
	a := try(t, s, "stop_process", args)
	testkit.Eventually(t, "its end", func() bool {
		switch a.text("state") {
		case "", "queued", "running":
			a = try(t, s, "wait_process", object{"process_id": args["process_id"], "timeout": 1})
			return false
		}
		return true
	})
	return a
}

func TestBackgroundProcesses(t *testing.T) {
	s := agent(t, shell.Options{})
	stubborn := use(t, s, "start_process", object{"command": "trap '' TERM; echo up; while true; do sleep 0.1; done", "name": "stubborn"})
	stubborn.want(t, object{"state": "running"})
	id := stubborn.text("process_id")
	testkit.Eventually(t, "it is up", func() bool { return use(t, s, "process_output", object{"process_id": id}).text("output") == "up\n" })
	found := false
	for _, p := range list(use(t, s, "list_processes", nil), "processes") {
		found = found || p["process_id"] == id && p["name"] == "stubborn" && p["state"] == "running" && strings.HasPrefix(p["command"].(string), "trap")
	}
	if !found {
		t.Error("the process is not in the list")
	}
	// What Seer itself runs to prepare a sandbox is not.
	if _, err := box(t).admin.Processes().Run(t.Context(), protocol.ProcessSpec{Argv: []string{"true"}, Name: "preparing layer"}, nil, nil, nil); err != nil {
		t.Fatal(err)
	}
	for _, p := range list(use(t, s, "list_processes", nil), "processes") {
		if p["name"] == "preparing layer" {
			t.Errorf("Seer's own is in the list: %v", p)
		}
	}
	// It ignores being asked, and is killed.
	stop(t, s, object{"process_id": id}).want(t, object{"state": "exited", "signal": "KILL", "exit_code": 137.0})
	use(t, s, "stop_process", object{"process_id": id}).want(t, object{"state": "exited"})

	for tries := 1; ; tries++ {
		polite := use(t, s, "run_command", object{"command": "trap 'echo bye; exit 5' TERM; echo ready; while true; do sleep 0.05; done", "background": true})
		id = polite.text("process_id")
		testkit.Eventually(t, "it is ready", func() bool { return use(t, s, "process_output", object{"process_id": id}).text("output") == "ready\n" })
		if a := stop(t, s, object{"process_id": id}); a.text("signal") != "KILL" || tries == 4 { // killed: the machine was slow
			a.want(t, object{"exit_code": 5.0, "stdout": "ready\nbye\n"})
			break
		}
	}
	id = use(t, s, "start_process", object{"command": "trap '' TERM; sleep 597; sleep 597"}).text("process_id")
	stop(t, s, object{"process_id": id, "force": true}).want(t, object{"signal": "KILL"})
	// What a command leaves running on purpose goes on.
	left := "sleep 598." + strconv.FormatInt(time.Now().UnixNano(), 10) // of no other run of this test on this computer
	use(t, s, "run_command", object{"command": left + " >/dev/null 2>&1 & disown"}).want(t, object{"exit_code": 0.0})
	testkit.Eventually(t, "it goes on, and ends", func() bool {
		return use(t, s, "run_command", object{"command": "pkill -fx '" + left + "'"}).object["exit_code"] == 0.0
	})
}

func TestLongOutputIsCutInTheMiddleAndIsThereAsAWhole(t *testing.T) {
	s := agent(t, shell.Options{})
	a := use(t, s, "run_command", object{"command": "seq 1 60000; echo end >&2"})
	out := a.text("stdout")
	if len(out) > repl.MaxOutput+300 || !strings.HasPrefix(out, "1\n2\n") || !strings.HasSuffix(out, "59999\n60000\n") || !strings.Contains(out, "[cut by Seer: ") {
		t.Fatalf("%d bytes: %.100q … %q", len(out), out, out[len(out)-100:])
	}
	id := a.text("process_id")
	if !strings.Contains(out, "seer://processes/"+id+"/output") {
		t.Error("it does not say where the whole is")
	}
	var whole strings.Builder
	offset, pieces := 0.0, 0
	for more := true; more; pieces++ {
		r := use(t, s, "process_output", object{"process_id": id, "offset": offset, "limit": 100000})
		whole.WriteString(r.text("output"))
		offset, more = r.object["next_offset"].(float64), r.object["more"].(bool)
	}
	var want strings.Builder
	for i := 1; i <= 60000; i++ {
		want.WriteString(itoa(i) + "\n")
	}
	if got := strings.ReplaceAll(whole.String(), "end\n", ""); pieces < 2 || got != want.String() {
		t.Errorf("%d bytes in %d pieces, want %d", len(got), pieces, want.Len())
	}
	if last := use(t, s, "process_output", object{"process_id": id, "limit": 30}).text("output"); !strings.HasPrefix(last, "[cut by Seer: ") {
		t.Errorf("the end is %q", last)
	}
	r, err := s.ReadResource(t.Context(), &sdkmcp.ReadResourceParams{URI: "seer://processes/" + id + "/output"})
	if err != nil || !strings.HasPrefix(r.Contents[0].Text, "1\n2\n") {
		t.Fatalf("the resource: %v", err)
	}
	next := r.Contents[0].Meta["next_offset"].(float64)
	r, err = s.ReadResource(t.Context(), &sdkmcp.ReadResourceParams{URI: "seer://processes/" + id + "/output?offset=" + itoa(int(next))})
	if err != nil || len(r.Contents[0].Text) == 0 {
		t.Fatalf("the next piece: %v", err)
	}
	for _, bad := range []string{"seer://processes/p-none/output", "seer://processes/" + id + "/output?offset=-1", "seer://processes/a/b/output", "seer://processes//output"} {
		if r, err := s.ReadResource(t.Context(), &sdkmcp.ReadResourceParams{URI: bad}); err == nil {
			t.Errorf("%s gave %+v", bad, r.Contents)
		}
	}
}

func TestAFloodOfOutputIsNoFloodHere(t *testing.T) {
	s := agent(t, shell.Options{})
	a := use(t, s, "run_command", object{"command": "head -c 100000000 /dev/zero | tr '\\0' x; echo; echo done"})
	a.want(t, object{"exit_code": 0.0})
	if out := a.text("stdout"); len(out) > repl.MaxOutput+300 || !strings.HasSuffix(out, "x\ndone\n") || !strings.Contains(out, "[cut by Seer: 9998") {
		t.Errorf("%d bytes, %.50q", len(out), out)
	}
}

func TestProgressIsTheLastLine(t *testing.T) {
	lines := make(chan string, 100)
	s := agentWith(t, shell.Options{}, &sdkmcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *sdkmcp.ProgressNotificationClientRequest) { lines <- r.Params.Message },
	})
	params := &sdkmcp.CallToolParams{Name: "run_command", Arguments: object{"command": "echo; echo step 1; until [ -e told ]; do sleep 0.05; done; rm told"}}
	params.SetProgressToken("p")
	done := make(chan error, 1)
	go func() {
		_, err := s.CallTool(t.Context(), params)
		done <- err
	}()
	for line := range lines {
		if line == "step 1" {
			break
		}
	}
	use(t, s, "write_file", object{"path": "told", "content": ""})
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestARuntimeThatIsKilledIsSaid(t *testing.T) {
	b, s := box(t), agent(t, shell.Options{Wait: time.Second})
	use(t, s, "run_python", object{"code": "z = 1"})
	id := use(t, s, "run_command", object{"command": "sleep 596"}).text("process_id")
	code := use(t, s, "run_python", object{"code": "import time; time.sleep(596)"}).text("process_id")
	for pid := range strings.FieldsSeq(testkit.ReadFile(t, fmt.Sprintf("/proc/%d/task/%d/children", b.cmd.Process.Pid, b.cmd.Process.Pid))) {
		n, _ := strconv.Atoi(pid)
		if err := syscall.Kill(n, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	testkit.Eventually(t, "the command is lost", func() bool { return try(t, s, "wait_process", object{"process_id": id}).raw.IsError })
	testkit.Eventually(t, "the code is lost", func() bool {
		a := try(t, s, "wait_process", object{"process_id": code})
		return a.raw.IsError && strings.Contains(textOf(a.raw), "started again")
	})
	a := use(t, s, "run_python", object{"code": "'z' in globals()"})
	if a = use(t, s, "wait_process", object{"process_id": a.text("process_id"), "timeout": 60}); a.text("result") != "False" || !strings.Contains(a.text("note"), "started again") {
		t.Errorf("got %s", textOf(a.raw))
	}
	use(t, s, "run_command", object{"command": "echo again"}).want(t, object{"stdout": "again\n"})
}

// A client that cuts long answers itself is told no more than it shows.
func TestAShortClientIsToldLess(t *testing.T) {
	s := agentNamed(t, "codex-mcp-client", shell.Options{}, nil)
	const most = 8<<10 + 600 // with the marks of what is cut
	short := func(what string, texts ...string) {
		t.Helper()
		if all := strings.Join(texts, ""); len(all) > most || len(all) < 4<<10 {
			t.Errorf("%s: %d bytes", what, len(all))
		}
	}
	a := use(t, s, "run_command", object{"command": "seq 1 60000; echo short >&2"})
	short("run_command", a.text("stdout"), a.text("stderr"))
	if out := a.text("stdout"); a.text("stderr") != "short\n" || !strings.HasPrefix(out, "1\n2\n") || !strings.HasSuffix(out, "59999\n60000\n") || !strings.Contains(out, "/output]") {
		t.Errorf("%q … %q, %q", out[:20], out[len(out)-20:], a.text("stderr"))
	}
	a = use(t, s, "run_command", object{"command": "seq 1 2500; seq 1 2500 >&2"}) // which is kept whole
	short("both streams", a.text("stdout"), a.text("stderr"))
	if !strings.Contains(a.text("stdout"), "[cut by Seer: ") || !strings.HasSuffix(a.text("stderr"), "2499\n2500\n") {
		t.Errorf("%.3000s", textOf(a.raw))
	}
	a = use(t, s, "process_output", object{"process_id": a.text("process_id"), "limit": 100000})
	short("process_output", a.text("output"))
	a = use(t, s, "run_python", object{"code": "print('x' * 20000)\n'y' * 20000"})
	short("run_python", a.text("stdout"), a.text("result"))
	use(t, s, "run_command", object{"command": "seq 1 60000 > long.txt"})
	a = use(t, s, "read_file", object{"path": "long.txt"})
	short("read_file", a.text("content"))
	if next, _ := a.object["next_offset"].(float64); next < 1000 || !strings.HasSuffix(a.text("content"), "\n"+itoa(int(next)-1)+"\n") {
		t.Errorf("it goes on at %v behind %q", next, a.text("content")[len(a.text("content"))-20:])
	}
}
