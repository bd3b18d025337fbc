package acceptance

import (
	"os"
	"strings"
	"syscall"
	"testing"
)

// TestInterfacesThatDoNotLoad: each is told at once, with the user's own line, and
// leaves no worker and no surface.
func TestInterfacesThatDoNotLoad(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.up("lab")
	for name, bad := range map[string]struct {
		code  string
		words []string
	}{
		"syntax":  {"x = 1\ndef f(:\n    pass\n", []string{"SyntaxError", `syntax.py", line 2`, "def f(:"}},
		"missing": {"\nimport no_such_module\n", []string{"ModuleNotFoundError", "no_such_module", `missing.py", line 2`}},
		"empty":   {"def f():\n    return 1\n", []string{"@expose"}},
		"twice":   {"@expose\ndef f():\n    return 1\n\n@expose\ndef f():\n    return 2\n", []string{"f", "twice.py", "line"}},
		"leaves":  {"import sys\nsys.exit(3)\n", []string{"exit"}},
		"dies":    {"import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n", nil},
	} {
		p.write(name+".py", bad.code)
		p.exits(7, []string{"serve", "lab", name + ".py", "--name", name, "--out", "out"}, bad.words...)
	}
	p.write("bytes.py", "x = '\xff'\n")
	p.exits(3, []string{"serve", "lab", "bytes.py", "--out", "out"}, "UTF-8")
	if p.has("out") {
		t.Error("a surface was written for an interface that is not served")
	}
	p.exits(4, []string{"call", "lab", "syntax.f"}, "it serves nothing")
	p.eventually("the end of every worker", func() bool { return len(p.workers()) == 0 })
}

// TestInterfaceThatLoadsForEver is ended by Ctrl-C, and its worker with it.
func TestInterfaceThatLoadsForEver(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.up("lab")
	p.write("endless.py", "open('/workspace/loading', 'w').close()\nwhile True:\n    try:\n        while True: pass\n    except BaseException: pass\n")
	p.write("good.py", "@expose\ndef f():\n    return 1\n")
	p.ok("serve", "lab", "good.py", "--name", "endless", "--out", "out")

	j := p.seer("serve", "lab", "endless.py", "--name", "endless", "--out", "out")
	p.eventually("it loads", func() bool { return p.seer("exec", "lab", "--", "test", "-e", "loading").wait().code == 0 })
	if got := p.ok("call", "lab", "endless.f"); got != "1" {
		t.Errorf("while the new one loads, the old one answers %q", got)
	}
	j.signal(syscall.SIGINT)
	p.check(j.wait(), 130, "interrupt")
	p.eventually("the end of its worker", func() bool { return len(p.workers()) == 1 })
	if got := p.ok("call", "lab", "endless.f"); got != "1" {
		t.Errorf("the service that was there before answers %q", got)
	}
}

const misbehaving = `
import os, signal

class Odd: pass

@expose
def raises(layer):
    raise IndexError(f"no layer {layer}")

@expose
def odd():
    return {"a": [Odd()]}

@expose
def nan():
    return {"loss": float("nan"), "best": float("-inf")}

@expose
def large():
    return "x" * 100_000_000

@expose
def size(text):
    return len(text)

@expose
def leaves():
    raise SystemExit(3)

@expose
def hard_exit():
    os._exit(5)

@expose
def killed():
    os.kill(os.getpid(), signal.SIGKILL)

@expose
def fine():
    return os.getpid()
`

// TestFunctionsThatMisbehave through the program: each has its code, and the next
// call is answered.
func TestFunctionsThatMisbehave(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.up("lab")
	p.write("bad.py", misbehaving)
	p.ok("serve", "lab", "bad.py", "--out", "out")
	for _, bad := range []struct {
		code  int
		call  []string
		words []string
	}{
		{8, []string{"bad.raises", "layer=9"}, []string{"IndexError: no layer 9", `bad.py", line 8`}},
		{8, []string{"bad.odd"}, []string{"Odd", "result"}},
		{0, []string{"bad.nan"}, []string{"NaN", "-Infinity"}},
		{8, []string{"bad.leaves"}, []string{"exit"}},
		{9, []string{"bad.hard_exit"}, nil},
		{9, []string{"bad.killed"}, nil},
	} {
		p.exits(bad.code, append([]string{"call", "lab"}, bad.call...), bad.words...)
		p.ok("call", "lab", "bad.fine")
	}
	if got := p.ok("call", "lab", "bad.large", "-r"); len(got) != 100_000_000 {
		t.Errorf("100 MB came as %d bytes", len(got))
	}
}

// TestFunctionsThatMisbehaveForALibrary: the same in the Python of an agent, with
// nothing but what was written for it.
func TestFunctionsThatMisbehaveForALibrary(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.up("lab")
	p.write("bad.py", misbehaving)
	p.ok("serve", "lab", "bad.py", "--name", "tools", "--out", "the agent's")
	p.write("the agent's/agent.py", `
import math, tools

def answers():
    # A connection may still go to the worker that is just dying; the call is then interrupted, and never repeated.
    while True:
        try:
            return tools.fine()
        except Exception as e:
            if type(e).__name__ != "Interrupted":
                raise

def fails(name, *words, **kwargs):
    try:
        getattr(tools, name)(**kwargs)
    except Exception as e:
        text = type(e).__name__ + " " + str(e)
        missing = [w for w in words if w not in text]
        assert not missing, (name, missing, text)
    else:
        raise AssertionError(name + " did not fail")
    assert answers() > 0

fails("raises", "IndexError", "no layer 9", layer=9)
fails("odd", "Odd")
fails("leaves", "exit")
fails("hard_exit")
fails("killed")
got = tools.nan()
assert math.isnan(got["loss"]) and got["best"] == -math.inf, got
assert len(tools.large()) == 100_000_000
assert tools.size("y" * 20_000_000) == 20_000_000
print("done")
`)
	cmd := p.command("/usr/bin/python3", "-B", "agent.py")
	cmd.Dir = p.path("the agent's")
	p.check(p.start(cmd).wait(), 0, "done")
}

// TestConnectionsThatDoNotFit: a wrong or missing token, a file of something else,
// a sandbox that is gone.
func TestConnectionsThatDoNotFit(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.up("lab")
	p.write("good.py", "@expose\ndef f():\n    return 1\n")
	p.write("other.py", "@expose\ndef f():\n    return 2\n")
	p.ok("serve", "lab", "good.py", "--name", "good", "--out", "out")
	p.ok("serve", "lab", "other.py", "--name", "other", "--out", "out")
	file := "out/good/connection.json"
	right := p.read(file)
	token := strings.Split(strings.Split(right, `"token": "`)[1], `"`)[0]
	call := func(code int, change func(string) string, words ...string) {
		t.Helper()
		p.write(file, change(right))
		p.exits(code, []string{"call", "--connection", file, "f"}, words...)
		cmd := p.command("/usr/bin/python3", "-B", "-c", "import good; good.f()")
		cmd.Dir = p.path("out")
		r := p.start(cmd).wait()
		if r.code != 1 || strings.Contains(r.err, "JSONDecodeError") || strings.Contains(r.err, "KeyError") {
			t.Errorf("the library ended with %d and said: %s", r.code, r.err)
		}
	}
	replace := func(old, by string) func(string) string {
		return func(s string) string { return strings.Replace(s, old, by, 1) }
	}
	call(10, replace(token, strings.Repeat("a", len(token))), "token")
	call(10, replace(`"service": "good"`, `"service": "other"`)) // its token is the other's
	call(3, replace(token, ""), "token")
	call(3, replace(`"token"`, `"taken"`), "token")
	call(3, replace(`"version": 1`, `"version": 2`), "version 2")
	call(3, func(string) string { return "{" }, "JSON")
	call(3, func(string) string { return "" }, "JSON")
	call(3, replace("unix:", "unix:x"), "endpoint")
	p.write(file, right)
	p.ok("call", "--connection", file, "f")
	p.ok("down", "lab")
	call(6, func(s string) string { return s })
	_ = os.Remove(p.path(file))
	p.exits(4, []string{"call", "--connection", file, "f"}, "serve")
}
