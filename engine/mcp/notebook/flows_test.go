package notebook_test

import (
	"bytes"
	"context"
	"encoding/json"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdkmcp "github.com/modelcontextprotocol/go-sdk/mcp"

	mcpnotebook "github.com/seer-engine/seer/engine/mcp/notebook"
	"github.com/seer-engine/seer/internal/testbuild"
	"github.com/seer-engine/seer/internal/testkit"
)

// A picture of 3000 x 1500 pixels, made without any library.
const picture = `
import struct, zlib
from IPython.display import Image, display
def chunk(kind, data):
    return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
w, h = 3000, 1500
raw = b''.join(b'\0' + bytes((x * y) & 255 for x in range(0, w)) for y in [r % 7 for r in range(h)])
display(Image(data=b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', w, h, 8, 0, 0, 0, 0)) + chunk(b'IDAT', zlib.compress(raw)) + chunk(b'IEND', b'')))
`

// The flows of an agent with the real Jupyter; they share one server, as its start
// takes seconds.
func TestRealNotebooks(t *testing.T) {
	python := testbuild.Jupyter(t)
	address, root := service(t, python)
	out := filepath.Join(t.TempDir(), "out puts é")
	options := mcpnotebook.Options{Address: address, OutDir: out}
	a := newAgent(t, options)

	if got := a.fail("execute_code", map[string]any{"code": "1"}); !strings.Contains(got, "start_new_session") {
		t.Errorf("without a session: %s", got)
	}
	first := a.do("start_new_session", map[string]any{"experiment_name": "flow"})
	if first.SessionID == "" || !strings.HasSuffix(first.Path, "_flow.ipynb") || !strings.Contains(first.URL, "token=") {
		t.Fatalf("%+v", first)
	}

	t.Run("outputs", func(t *testing.T) { outputs(t, a, out) })
	t.Run("long", func(t *testing.T) { long(t, a, options) })
	t.Run("cells", func(t *testing.T) { cells(t, a) })
	t.Run("death", func(t *testing.T) { death(t, a) })
	t.Run("two agents", func(t *testing.T) { twoAgents(t, a, options, first.SessionID) })
	t.Run("resume", func(t *testing.T) { resume(t, a, root) })

	a.end()
	saved, err := filepath.Glob(out + "/*.ipynb")
	if err != nil || len(saved) < 4 {
		t.Fatalf("saved: %q, %v", saved, err)
	}
	cmd := exec.Command(python, append([]string{"-c", "import sys, nbformat\nfor f in sys.argv[1:]: nbformat.validate(nbformat.read(f, as_version=4))"}, saved...)...)
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("what was saved is not valid: %v\n%s", err, said)
	}
}

func outputs(t *testing.T, a *agent, out string) {
	r := a.do("execute_code", map[string]any{"code": "import sys\nprint('\\x1b[31mred\\x1b[0m')\nfor i in range(3): print(f'\\r step {i}', end='', file=sys.stderr)\nprint(file=sys.stderr)\ngreeting"})
	// A kernel may mix its two streams at any line, so each is looked for alone.
	if got := r.text(); !strings.Contains(got, "stream stdout|red\n") || !strings.Contains(got, "stream stderr| step 2\n") || !strings.HasSuffix(got, "\nresult |'hello from set-up'\n") || r.State != "done" {
		t.Errorf("%s: %q", r.State, got)
	}
	if !strings.HasPrefix(r.Saved, out) || !fileHas(r.Saved, "hello from set-up") {
		t.Errorf("it was not saved when the tool answered: %q", r.Saved)
	}
	r = a.do("execute_code", map[string]any{"code": picture})
	if got := images(r.result); len(got) != 1 || !strings.Contains(r.Outputs[0].Note, "scaled from 3000 x 1500 to 1024 x 512") || r.Outputs[0].Image != 1 {
		t.Errorf("%d images, %s, %+v", len(got), contentText(r.result), r.Outputs)
	} else if img, err := png.Decode(bytes.NewReader(got[0].Data)); err != nil || img.Bounds().Dx() != 1024 || len(got[0].Data) > 1<<20 {
		t.Errorf("%v, %v", img.Bounds(), err)
	}
	r = a.do("execute_code", map[string]any{"code": "from IPython.display import HTML, display\ndisplay(HTML('<table><tr><th>layer<th>norm<tr><td>0<td>1.5</table>'))"})
	if got := r.Outputs[0]; got.Text != "layer  norm\n0      1.5" || got.MIME != "text/html" {
		t.Errorf("%+v", got)
	}
	r = a.do("execute_code", map[string]any{"code": "print('start'); print('x' * 99 + '\\n' * 1, end=''); [print('line', i) for i in range(40000)]; print('the end')"})
	if got := r.text(); !strings.Contains(got, "start") || !strings.Contains(got, "the end") || !strings.Contains(got, "bytes left out; the whole is seer://notebook/executions/"+r.Exec) || len(got) > 20<<10 {
		t.Errorf("%d bytes: %.200s", len(got), got)
	}
	readWhole(t, a, r.Exec)
	r = a.do("execute_code", map[string]any{"code": "def f():\n    return 1 / 0\nf()"})
	if last := r.Outputs[len(r.Outputs)-1]; r.State != "error" || last.EName != "ZeroDivisionError" || strings.Contains(last.Text, "\x1b") || !strings.Contains(last.Text, "1 / 0") {
		t.Errorf("%s %+v", r.State, last)
	}
	r = a.do("execute_code", map[string]any{"code": "input('name? ')"})
	if got := r.text(); r.State != "error" || !strings.Contains(got, "nobody can answer") {
		t.Errorf("%s %s", r.State, got)
	}
}

// readWhole reads the text of an execution piece by piece, as an agent would.
func readWhole(t *testing.T, a *agent, exec string) {
	t.Helper()
	var whole strings.Builder
	for uri, n := "seer://notebook/executions/"+exec+"/text", 0; uri != "" && n < 10; n++ {
		r, err := a.session.ReadResource(t.Context(), &sdkmcp.ReadResourceParams{URI: uri})
		if err != nil {
			t.Fatal(err)
		}
		piece, next, more := strings.Cut(r.Contents[0].Text, "; read on with ")
		if uri = ""; more {
			piece = piece[:strings.LastIndex(piece, "\n[bytes ")]
			uri = strings.TrimSuffix(next, "]")
		}
		whole.WriteString(piece)
	}
	if got := whole.String(); strings.Count(got, "\n") != 40003 || !strings.Contains(got, "line 23456\n") || !strings.HasSuffix(got, "the end\n") {
		t.Errorf("the whole text has %d lines", strings.Count(got, "\n"))
	}
}

func long(t *testing.T, a *agent, o mcpnotebook.Options) {
	r := a.do("execute_code", map[string]any{"timeout": 1, "code": "import time, sys\nprint(' 40%|####      | 4/10 [00:01<00:02, 4.4it/s]', end='\\r', file=sys.stderr, flush=True)\nprint('begun', flush=True)\nwhile 'go' not in globals(): time.sleep(.05)\n"})
	if r.State != "running" && r.State != "queued" || !strings.Contains(r.Next, "wait_execution") {
		t.Fatalf("%+v", r)
	}
	testkit.Eventually(t, "what was printed", func() bool {
		return strings.Contains(a.do("wait_execution", map[string]any{"execution_id": r.Exec, "timeout": 0.2}).text(), "begun")
	})
	testkit.Eventually(t, "the bar as progress", func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		for _, p := range a.progress {
			if p.Total == 10 && p.Progress >= 4 && p.Progress < 5 {
				return true
			}
		}
		return false
	})
	testkit.Eventually(t, "what was printed in the file while the cell runs", func() bool { return fileHas(r.Saved, "begun") })
	if got := a.fail("variables", nil); !strings.Contains(got, "run") {
		t.Errorf("the service's own words are lost: %s", got)
	}
	other := newAgent(t, o)
	if got := other.do("wait_execution", map[string]any{"execution_id": r.Exec, "timeout": 0.2}); got.State != "running" {
		t.Errorf("through another server: %+v", got)
	}
	other.end()
	if got := a.do("wait_execution", map[string]any{"execution_id": r.Exec, "timeout": 0.2}); got.State != "running" {
		t.Errorf("it ended with a client that only watched: %+v", got)
	}
	queued := a.do("execute_code", map[string]any{"code": "print('after')", "background": true})
	if queued.State != "queued" {
		t.Errorf("%+v", queued)
	}
	if got := a.do("interrupt", nil); !strings.Contains(got.Dropped, "1 queued cell was dropped") {
		t.Errorf("%+v", got)
	}
	if got := a.do("wait_execution", map[string]any{"execution_id": r.Exec}); got.State != "interrupted" || !strings.Contains(got.text(), "KeyboardInterrupt") {
		t.Errorf("%+v", got)
	}
	if got := a.fail("wait_execution", map[string]any{"execution_id": queued.Exec}); !strings.Contains(got, "never ran") {
		t.Errorf("%s", got)
	}

	deaf := a.do("execute_code", map[string]any{"code": "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('deaf', flush=True)\ntime.sleep(600)", "background": true})
	testkit.Eventually(t, "the code that ignores interrupts", func() bool {
		return strings.Contains(a.do("wait_execution", map[string]any{"execution_id": deaf.Exec, "timeout": 0.2}).text(), "deaf")
	})
	if got := a.do("interrupt", nil); got.State != "busy" || !strings.Contains(got.Next, "restart ends it") {
		t.Errorf("%+v", got)
	}
	if got := a.do("restart", nil); got.Next != "" {
		t.Errorf("%+v", got)
	}
	a.do("execute_code", map[string]any{"code": "import time"})

	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		time.Sleep(300 * time.Millisecond)
		cancel()
	}()
	if _, err := a.try(ctx, "execute_code", map[string]any{"code": "time.sleep(600)"}); err == nil {
		t.Error("a cancelled request has an answer")
	}
	if got := a.do("execute_code", map[string]any{"code": "print('free again')"}); !strings.Contains(got.text(), "free again") {
		t.Errorf("%+v", got)
	}
}

func cells(t *testing.T, a *agent) {
	r := a.do("add_markdown", map[string]any{"content": "# What we found 𝕏"})
	if !fileHas(r.Saved, "What we found") || r.CellID == "" || r.CellIndex == nil {
		t.Errorf("markdown is not saved at once: %+v", r)
	}
	bad := a.do("execute_code", map[string]any{"code": "value = 1 +"})
	if bad.State != "error" {
		t.Errorf("%+v", bad)
	}
	fixed := a.do("edit_cell", map[string]any{"code": "value = 41 + 1; value"})
	if fixed.CellID != bad.CellID || fixed.text() != "result |42\n" || !fileHas(fixed.Saved, "41 + 1") || fileHas(fixed.Saved, "1 +\"") {
		t.Errorf("%+v", fixed)
	}
	inserted := a.do("insert_cell", map[string]any{"source": "'first'", "index": 0, "run": true})
	if *inserted.CellIndex != 0 || inserted.text() != "result |'first'\n" {
		t.Errorf("%+v", inserted)
	}
	a.do("move_cell", map[string]any{"cell": 0, "index": 1})
	page := a.do("read_notebook", map[string]any{"count": 2})
	var list []struct {
		ID     string `json:"cell_id"`
		Source string
	}
	if err := json.Unmarshal(page.Cells, &list); err != nil || len(list) != 2 || list[1].ID != inserted.CellID || !strings.Contains(page.Next, `"from": 2`) {
		t.Errorf("%v %s", err, page.Cells)
	}
	if r := a.do("delete_cell", map[string]any{"cell": inserted.CellID}); fileHas(r.Saved, inserted.CellID) {
		t.Error("a deleted cell is in the file when the tool answers")
	}
	short := a.do("read_notebook", nil)
	if len(images(short.result)) != 0 || strings.Contains(string(short.Cells), "damaged") || strings.Count(string(short.Cells), "outputs full shows it") != 1 {
		t.Errorf("an image among short outputs: %s", short.Cells)
	}
	if full := a.do("read_notebook", map[string]any{"outputs": "full"}); len(images(full.result)) != 1 || full.Total != page.Total-1 {
		t.Errorf("%d images, %d of %d cells", len(images(full.result)), full.Total, page.Total)
	}
	if got := a.fail("edit_cell", map[string]any{"cell": 4000, "code": "1"}); !strings.Contains(got, "4000") {
		t.Errorf("the service's own words are lost: %s", got)
	}
	if got := a.fail("edit_cell", map[string]any{"cel": 1, "code": "1"}); !strings.Contains(got, "cel") {
		t.Errorf("%s", got)
	}
	if got := a.do("variables", map[string]any{"name": "value"}); len(got.Variables) != 1 || got.Variables[0].Type != "int" {
		t.Errorf("%+v", got.Variables)
	}
}

func death(t *testing.T, a *agent) {
	die := filepath.Join(t.TempDir(), "now")
	r := a.do("execute_code", map[string]any{"background": true, "code": "import os, signal, time\nprint('last words', flush=True)\nwhile not os.path.exists('" + die + "'): time.sleep(.05)\nos.kill(os.getpid(), signal.SIGKILL)"})
	testkit.Eventually(t, "the last words", func() bool {
		return strings.Contains(a.do("wait_execution", map[string]any{"execution_id": r.Exec, "timeout": 0.2}).text(), "last words")
	})
	if err := os.WriteFile(die, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	got := a.fail("wait_execution", map[string]any{"execution_id": r.Exec})
	if !strings.Contains(got, "SIGKILL") || !strings.Contains(got, "more memory than there is") || !strings.Contains(got, "restart") || !strings.Contains(got, "last words") {
		t.Errorf("%s", got)
	}
	if got := a.fail("execute_code", map[string]any{"code": "1"}); !strings.Contains(got, "restart") {
		t.Errorf("%s", got)
	}
	if r := a.do("restart", nil); r.State != "idle" {
		t.Errorf("%+v", r)
	}
	if r := a.do("execute_code", map[string]any{"code": "greeting, 'value' in globals()"}); r.text() != "result |('hello from set-up', False)\n" {
		t.Errorf("%+v", r)
	}
}

func twoAgents(t *testing.T, a *agent, o mcpnotebook.Options, session string) {
	b := newAgent(t, o)
	if r := b.do("attach_to_session", nil); r.SessionID != session {
		t.Fatalf("%+v", r)
	}
	done := make(chan answer)
	go func() {
		done <- b.do("execute_code", map[string]any{"code": "shared = 'from b'\nimport time; time.sleep(.3)"})
	}()
	mine := a.do("execute_code", map[string]any{"code": "mine = 'from a'"})
	theirs := <-done
	if r := a.do("execute_code", map[string]any{"code": "shared + ', ' + mine"}); r.text() != "result |'from b, from a'\n" || r.Saved != theirs.Saved || mine.Saved != r.Saved {
		t.Errorf("%s, saved %q %q", r.text(), r.Saved, theirs.Saved)
	}
	second := b.do("start_new_session", nil)
	if second.SessionID == session {
		t.Error("start_new_session gave the session that was there")
	}
	if got := b.fail("execute_code", map[string]any{"code": "1"}); !strings.Contains(got, "session_id") || !strings.Contains(got, second.SessionID) {
		t.Errorf("which of two: %s", got)
	}
	if got := newAgent(t, o).fail("attach_to_session", nil); !strings.Contains(got, second.SessionID) {
		t.Errorf("%s", got)
	}
	b.do("shutdown_session", map[string]any{"session_id": second.SessionID})
	if r := b.do("execute_code", map[string]any{"code": "2"}); r.SessionID != session {
		t.Errorf("after shutdown: %+v", r)
	}
	// A client that vanishes takes no cell with it.
	r := b.do("execute_code", map[string]any{"code": "time.sleep(1); print('slept')", "background": true})
	b.end()
	if got := a.do("wait_execution", map[string]any{"execution_id": r.Exec}); got.State != "done" || !strings.Contains(got.text(), "slept") {
		t.Errorf("%+v", got)
	}
}

func resume(t *testing.T, a *agent, root string) {
	s := a.do("start_new_session", map[string]any{"experiment_name": "kept"})
	in := map[string]any{"session_id": s.SessionID}
	with := func(code string) map[string]any { return map[string]any{"session_id": s.SessionID, "code": code} }
	a.do("execute_code", with("kept = 7"))
	a.do("execute_code", with("import os; assert not os.environ.get('NO_SUCH'), 'never'\nraise ValueError('again')"))
	a.do("execute_code", with("kept *= 2"))
	end := a.do("shutdown_session", in)
	if end.State != "closed" || !fileHas(end.Saved, "kept *= 2") {
		t.Errorf("%+v", end)
	}
	if got := a.fail("execute_code", with("1")); !strings.Contains(got, "start_session_resume_notebook") {
		t.Errorf("%s", got)
	}
	for n, tool := range []string{"start_session_resume_notebook", "start_session_continue_notebook"} {
		r := a.do(tool, map[string]any{"notebook_path": s.Path})
		if r.Restored == nil || r.Restored.Cells != 3+n || len(r.Restored.Errors) != 1 || r.Restored.Errors[0].Index != 1 || r.Restored.Errors[0].EValue != "again" {
			t.Fatalf("%s: %s", tool, contentText(r.result))
		}
		if same := r.Path == s.Path; same != (tool == "start_session_resume_notebook") {
			t.Errorf("%s: %s", tool, r.Path)
		}
		if v := a.do("execute_code", map[string]any{"session_id": r.SessionID, "code": "kept"}); v.text() != "result |14\n" {
			t.Errorf("%s: %s", tool, v.text())
		}
		if _, err := os.Stat(filepath.Join(root, r.Path)); err != nil || r.Saved == "" {
			t.Errorf("%v, saved %q", err, r.Saved)
		}
		a.do("shutdown_session", map[string]any{"session_id": r.SessionID})
	}
	if got := a.fail("start_session_resume_notebook", map[string]any{"notebook_path": "../../etc/passwd"}); got == "" {
		t.Error("no reason is given")
	}
}
