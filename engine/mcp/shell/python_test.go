package shell_test

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	sdkmcp "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seer-engine/seer/engine/mcp/shell"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/repl"
	"github.com/seer-engine/seer/internal/testkit"
)

func itoa(n int) string { return strconv.Itoa(n) }

func TestPythonKeepsItsVariables(t *testing.T) {
	s := agent(t, shell.Options{})
	use(t, s, "run_python", object{"code": "import os, sys\nx = 41\nprint('hello é'); print('oops', file=sys.stderr)", "restart": true}).
		want(t, object{"state": "ok", "stdout": "hello é\n", "stderr": "oops\n", "result": nil})
	use(t, s, "run_python", object{"code": "x + 1"}).want(t, object{"state": "ok", "result": "42", "stdout": ""})
	use(t, s, "run_python", object{"code": "_"}).want(t, object{"result": "42"})
	use(t, s, "run_python", object{"code": "os.system('echo from a child'); None"}).want(t, object{"stdout": "from a child\n", "result": nil})
	use(t, s, "run_python", object{"code": "import asyncio\nawait asyncio.sleep(0, 'awaited')"}).want(t, object{"result": "'awaited'"})
	use(t, s, "run_python", object{"code": "def f():\n    return __name__\nimport pickle; pickle.loads(pickle.dumps(f))()"}).want(t, object{"result": "'__main__'"})
	use(t, s, "run_python", object{"code": "import multiprocessing as m\nwith m.get_context('fork').Pool(2) as p: r = p.map(abs, [-1, -2])\nr"}).want(t, object{"result": "[1, 2]"})
	use(t, s, "run_python", object{"code": "os.environ.get('SEER_PROCESS', '')[:7], os.path.basename(os.getcwd()) == os.path.basename(sys.path[0]), x"}).
		want(t, object{"result": "('python-', True, 41)"})
	// Bytes of every kind do not confuse it.
	use(t, s, "run_python", object{"code": "sys.stdout.buffer.write(b'\\0seer-x end\\n\\0\\0'); None"}).want(t, object{"state": "ok", "stdout": "\x00seer-x end\n\x00\x00"})
	use(t, s, "run_python", object{"code": "'" + strings.Repeat("a", 3<<20) + "'.__len__()"}).want(t, object{"result": itoa(3 << 20)})
	refused(t, s, "run_python", object{"code": ""}, "empty")
}

func TestErrorsHaveTheUsersTraceback(t *testing.T) {
	s := agent(t, shell.Options{})
	for code, want := range map[string][]string{
		"def g():\n    return 1 / 0\n\ng()": {"ZeroDivisionError", "division by zero", "line 2, in g\n    return 1 / 0"},
		"x = (":                             {"SyntaxError", "", "x = ("},
		"exit(3)":                           {"SystemExit", "the interpreter goes on", "SystemExit: 3"},
		"input('name?')":                    {"EOFError", "nobody is there", "input('name?')"},
		"class E(Exception):\n    def __str__(self): 1/0\nraise E":    {"E", "", "cannot be told"},
		"class R:\n    def __repr__(self): 1/0\nR()":                  {"ZeroDivisionError", "division by zero", "__repr__"},
		"import os; os.kill(os.getpid(), 2); raise KeyboardInterrupt": {"KeyboardInterrupt", "", "KeyboardInterrupt"},
		"def h(): h()\nh()": {"RecursionError", "maximum recursion depth", "more times"},
	} {
		a := use(t, s, "run_python", object{"code": code})
		e, _ := a.object["error"].(object)
		if e == nil || e["type"] != want[0] || !strings.Contains(e["message"].(string), want[1]) || !strings.Contains(e["traceback"].(string), want[2]) {
			t.Errorf("%s gave %s", code, textOf(a.raw))
			continue
		}
		if trace := e["traceback"].(string); strings.Contains(trace, "in evaluate") || strings.Contains(trace, "in execute") {
			t.Errorf("the traceback shows the interpreter: %s", trace)
		}
	}
	use(t, s, "run_python", object{"code": "1"}).want(t, object{"state": "ok", "result": "1"})
	// What no package mends is not told as if one would.
	for code, missing := range map[string]bool{"import nowhere_to_be_found": true, "import json.nowhere": false, "raise ImportError('x')": false} {
		next := use(t, s, "run_python", object{"code": code}).text("next")
		if strings.Contains(next, "`pip install` in run_command") != missing || strings.Contains(next, "sandbox.python_packages") != missing {
			t.Errorf("%s: next %q", code, next)
		}
	}
}

func TestPythonIsInterruptedAndKeepsItsVariables(t *testing.T) {
	s, patient := agent(t, shell.Options{Wait: time.Second}), agent(t, shell.Options{})
	for after := 0.3; ; after *= 3 {
		switch problem := interrupted(t, s, patient, after); {
		case problem == "":
			return
		case after > 20: // a machine that is too slow for that does not exist
			t.Fatal(problem)
		}
	}
}

// interrupted says what came in between where the machine was too slow.
func interrupted(t *testing.T, s, patient *sdkmcp.ClientSession, after float64) (problem string) {
	t.Helper()
	use(t, patient, "run_python", object{"code": "kept = 'still here'; globals().pop('ran', None)"})
	a := try(t, patient, "run_python", object{"code": "import time\nprint('begun', flush=True)\nwhile True: time.sleep(0.01)", "end_after": after})
	if a.text("state") == "died" || a.text("stdout") == "" {
		return "it did not begin in its time, or was not interrupted soon: " + textOf(a.raw)
	}
	a.want(t, object{"state": "interrupted", "timed_out": true, "stdout": "begun\n"})

	a = use(t, s, "run_python", object{"code": "print('again')\nwhile True: time.sleep(0.01)"})
	if state := a.text("state"); state != "running" && state != "queued" {
		t.Errorf("state %s", state)
	}
	id := a.text("process_id")
	testkit.Eventually(t, "it runs", func() bool {
		a := use(t, s, "wait_process", object{"process_id": id, "timeout": 0.1})
		return a.text("state") == "running" && a.text("stdout") == "again\n"
	})
	queued := use(t, s, "run_python", object{"code": "ran = True", "background": true}).text("process_id")
	stop(t, s, object{"process_id": queued}).want(t, object{"state": "interrupted"})
	if a = stop(t, s, object{"process_id": id}); a.text("state") == "died" {
		return "it was not interrupted soon: " + textOf(a.raw)
	}
	a.want(t, object{"state": "interrupted", "stdout": "again\n"})
	use(t, patient, "run_python", object{"code": "kept, 'ran' in globals()"}).want(t, object{"result": "('still here', False)"})
	return ""
}

func TestADeadInterpreterIsSaid(t *testing.T) {
	s, other := agent(t, shell.Options{}), agent(t, shell.Options{})
	use(t, s, "run_python", object{"code": "y = 1"})
	use(t, other, "run_python", object{"code": "y"}).want(t, object{"result": "1"}) // they share it
	a := try(t, s, "run_python", object{"code": "print('last words', flush=True)\nimport os, signal; os.kill(os.getpid(), signal.SIGKILL)"})
	a.want(t, object{"state": "died", "stdout": "last words\n"})
	if !a.raw.IsError || !strings.Contains(a.text("note"), "killed") || !strings.Contains(a.text("note"), "variables are gone") {
		t.Errorf("got %s", textOf(a.raw))
	}
	a = use(t, s, "run_python", object{"code": "'y' in globals()"})
	a.want(t, object{"result": "False"})
	if !strings.Contains(a.text("note"), "started again") {
		t.Errorf("the restart is not said: %s", textOf(a.raw))
	}
	if a = use(t, other, "run_python", object{"code": "2"}); !strings.Contains(a.text("note"), "started again") {
		t.Errorf("the restart is not said to the other: %s", textOf(a.raw))
	}
	if a = use(t, s, "run_python", object{"code": "3"}); a.text("note") != "" {
		t.Errorf("the restart is said twice: %s", textOf(a.raw))
	}
	// Code that cannot be interrupted costs the interpreter.
	for after := 0.2; ; after *= 5 {
		a = try(t, s, "run_python", object{"code": "import time\nwhile True:\n    try:\n        print('deaf')\n        time.sleep(600)\n    except KeyboardInterrupt: pass", "end_after": after})
		if a.text("stdout") != "" || after > 20 { // else it has not begun in its time
			break
		}
	}
	a.want(t, object{"state": "died", "timed_out": true})
}

// Code that ends while it is about to be killed does not have the code of others killed in its place.
func TestOnlyTheCodeThatIsMeantIsKilled(t *testing.T) {
	c, ctx := box(t).admin, t.Context()
	i, _, err := repl.Ensure(ctx, c, repl.Python{}, true)
	if err != nil {
		t.Fatal(err)
	}
	submit := func(id, code string) {
		t.Helper()
		if err := i.Submit(ctx, c, id, code); err != nil {
			t.Fatal(err)
		}
	}
	submit("x-ended", "kept = 'still here'")
	for range 2 { // the first waits for the end of that
		if got, err := repl.Execute(ctx, c, repl.Python{}, "print(kept)"); got != "still here\n" || err != nil {
			t.Fatalf("%q, %v", got, err)
		}
		if killed, err := i.Kill(ctx, c, "x-ended"); killed || err != nil {
			t.Fatal(killed, err)
		}
	}

	// It ends when it was seen to run, just before the signal.
	dir := t.TempDir()
	submit("x-ends", "import os, time\nwhile not os.path.exists('"+dir+"/end'): time.sleep(0.01)")
	testkit.Eventually(t, "the code runs", func() bool { _, err := c.Files().Stat(ctx, i.Path("x-ends.running")); return err == nil })
	submit("x-next", "open('"+dir+"/begun', 'w').close()")
	if err := c.Files().Write(ctx, i.Path("x-ends.kill"), strings.NewReader(""), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/end", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "the end of the interpreter", func() bool {
		p, err := c.Processes().Get(ctx, i.Process.ID)
		return err == nil && p.State == protocol.ProcessExited && p.Signal == "KILL"
	})
	if _, err := os.Stat(dir + "/begun"); err == nil {
		t.Error("the next code began in an interpreter that is about to be killed")
	}

	// One of another version does not say what runs.
	if i, _, err = repl.Ensure(ctx, c, repl.Python{}, true); err != nil {
		t.Fatal(err)
	}
	i.Process.Argv = []string{"python3", "-u", "-c", "another program", i.Nonce}
	if killed, err := i.Kill(ctx, c, "any"); !killed || err != nil {
		t.Error(killed, err)
	}
}

func TestCodeThatRemovesTheFilesOfTheInterpreter(t *testing.T) {
	s := agent(t, shell.Options{})
	gone := "import os, shutil\nshutil.rmtree(os.path.expanduser('~/.seer'))\n"
	use(t, s, "run_python", object{"code": gone + "kept = 1"}).want(t, object{"state": "ok"})
	use(t, s, "run_python", object{"code": "kept"}).want(t, object{"result": "1"})

	deaf := "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('deaf', flush=True)\nwhile True: signal.pause()"
	id := use(t, s, "run_python", object{"code": gone + deaf, "background": true}).text("process_id")
	testkit.Eventually(t, "it runs", func() bool {
		return use(t, s, "wait_process", object{"process_id": id, "timeout": 0.1}).text("stdout") == "deaf\n"
	})
	refused(t, s, "stop_process", object{"process_id": id}, "use restart, which ends it")
	use(t, s, "run_python", object{"code": "'kept' in globals()", "restart": true}).want(t, object{"result": "False"})
}

const onePixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="

func TestImagesAreShown(t *testing.T) {
	s := agent(t, shell.Options{})
	a := use(t, s, "run_python", object{"code": `
class Picture:
    def _repr_png_(self):
        return "` + onePixel + `"
class Large:
    def _repr_jpeg_(self):
        return b"x" * (6 << 20)
display(Picture(), 5, Large())
Picture()`})
	a.want(t, object{"state": "ok", "images": 3.0, "stdout": "5\n"})
	var kinds []string
	for _, c := range a.raw.Content[1:] {
		switch c := c.(type) {
		case *sdkmcp.ImageContent:
			kinds = append(kinds, c.MIMEType)
		case *sdkmcp.TextContent:
			kinds = append(kinds, c.Text)
		}
	}
	if len(kinds) != 3 || kinds[0] != "image/png" || !strings.Contains(kinds[1], "is not shown") || kinds[2] != "image/png" || !strings.Contains(a.text("result"), "Picture object") {
		t.Errorf("shown %q, result %q", kinds, a.text("result"))
	}
}

func TestTheSetUpRunsFirstAndAgain(t *testing.T) {
	b := box(t)
	err := repl.Prepare(t.Context(), b.admin, repl.Python{Setup: []repl.Setup{{Name: "good", Code: "a = 1"}, {Name: "init", Code: "b = a + 1\nprint('loading')\nraise ValueError('no such layer')"}}})
	var call *protocol.CallError
	if !errors.As(err, &call) || call.Type != "ValueError" || call.Message != "no such layer" || !strings.Contains(call.Traceback, `File "<init>", line 3`) {
		t.Fatalf("got %v", err)
	}
	if err := repl.Prepare(t.Context(), b.admin, repl.Python{Setup: []repl.Setup{{Name: "models", Code: "model = 'loaded'"}}}); err != nil {
		t.Fatal(err)
	}
	s := agent(t, shell.Options{})
	a := use(t, s, "run_python", object{"code": "model"})
	a.want(t, object{"result": "'loaded'"})
	if a.text("note") != "" {
		t.Errorf("note %q", a.text("note"))
	}
	a = use(t, s, "run_python", object{"code": "model", "restart": true})
	a.want(t, object{"result": "'loaded'"})
	if !strings.Contains(a.text("note"), "as was asked for") {
		t.Errorf("note %q", a.text("note"))
	}
	if err := repl.Prepare(t.Context(), b.admin, repl.Python{}); err != nil {
		t.Fatal(err)
	}
	if err := repl.Prepare(t.Context(), b.admin, repl.Python{Python: "/bin/false"}); err == nil || !strings.Contains(err.Error(), "exit code 1") {
		t.Errorf("a program that is not Python: %v", err)
	}
}
