package acceptance

import (
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestClientIsKilled while it waits: whoever comes back with the name has the answer.
func TestClientIsKilled(t *testing.T) {
	inEach(t, func(p *place) {
		call := []string{"call", "lab", "tools.hold", "name=program", "--id", "client-killed-1", "-r"}
		j := p.seer(call...)
		p.begun("program")
		j.signal(syscall.SIGKILL)
		again := p.seer(call...)

		lib := p.library(`
call = tools.hold.submit("library")
print(call.id, flush=True)
call.result()`)
		p.eventually("the name of the call", func() bool { return strings.HasSuffix(text(lib.out), "\n") })
		lib.signal(syscall.SIGKILL)
		attached := p.library("print(tools.attach(sys.argv[1]).result())", strings.TrimSpace(text(lib.out)))

		p.release()
		p.check(again.wait(), 0, "held program")
		p.check(attached.wait(), 0, "held library")
		if got := p.ok(call...); got != "held program" {
			p.t.Errorf("asked again after its end: %q", got)
		}
		p.once("program", "library")
	})
}

// TestRuntimeIsKilledUnderCalls: each call has its one answer, whatever it was doing.
func TestRuntimeIsKilledUnderCalls(t *testing.T) {
	inEach(t, func(p *place) {
		running := p.seer("call", "lab", "tools.hold", "name=running", "-r")
		p.begun("running")
		queued := p.seer("call", "lab", "tools.add", "name=queued", "x=1")
		library := p.library(`print(tools.add("library", 2))`)
		detached := p.ok("call", "lab", "tools.count", "name=detached", "n=3", "--detach")
		p.killRuntime()
		later := p.ok("call", "lab", "tools.add", "name=later", "x=3", "--detach")
		p.release()
		p.check(running.wait(), 0, "held running")
		p.check(queued.wait(), 0, "2")
		p.check(library.wait(), 0, "3")
		if got := strings.Fields(p.ok("calls", "wait", "lab", detached)); strings.Join(got, " ") != "0 1 2" {
			p.t.Errorf("the items of a detached call: %q", got)
		}
		if got := p.ok("calls", "wait", "lab", later); got != "4" {
			p.t.Errorf("a call that came while there was no runtime: %q", got)
		}

		// A stream goes on where it was, and what is printed comes once.
		streams := []*job{
			p.seer("call", "lab", "tools.count", "name=program", "n=20", "pause=0.1"),
			p.library(`print(*tools.count("stream", 20, 0.1))`),
		}
		p.begun("program")
		p.killRuntime()
		for i, name := range []string{"program", "stream"} {
			r := streams[i].wait()
			if got := strings.Join(strings.Fields(withoutLines(r.out)), " "); got != "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19" {
				p.t.Errorf("%s: items %q", name, got)
			}
			if all := r.out + r.err; strings.Count(all, "line ") != 20 || !strings.Contains(onlyLines(all), counted(name, 20)) {
				p.t.Errorf("%s: printed %q", name, all)
			}
		}
		p.once("running", "queued", "library", "detached", "later", "program", "stream")
		if n := p.lines("loads")["loaded"]; n != 1 {
			p.t.Errorf("the file was loaded %d times", n)
		}
	})
}

func withoutLines(s string) string { return pick(s, false) }
func onlyLines(s string) string    { return pick(s, true) }

// pick are the lines that a function has printed, or the others.
func pick(s string, printed bool) string {
	var out strings.Builder
	for line := range strings.Lines(s) {
		if strings.HasPrefix(line, "line ") == printed {
			out.WriteString(line)
		}
	}
	return out.String()
}

// killRuntime kills the runtime, and waits until there is another one.
func (p *place) killRuntime() {
	p.t.Helper()
	before := p.machine("lab")["runtime"]
	if !kill(before) {
		p.t.Fatal("there is no runtime")
	}
	p.eventually("another runtime", func() bool {
		now := p.machine("lab")["runtime"]
		return len(now) == 1 && now[0].pid != before[0].pid
	})
}

// TestWorkerIsKilledUnderCalls: the one that runs is interrupted, once; those that wait
// run in the next worker; what tokens have used is not forgotten.
func TestWorkerIsKilledUnderCalls(t *testing.T) {
	inEach(t, func(p *place) {
		p.ok("token", "new", "lab", "tools", "--calls", "3", "--out", "guest.json")
		guest := []string{"call", "--connection", "guest.json", "add", "x=1"}
		p.ok(append(guest, "name=guest1")...)
		p.ok(append(guest, "name=guest2")...)

		interrupted := []*job{p.seer("call", "lab", "tools.hold", "name=running", "--id", "worker-killed-1")}
		p.begun("running")
		queued := []*job{
			p.seer("call", "lab", "tools.add", "name=queued", "x=1"),
			p.library(`print(tools.add("library", 2))`),
		}
		detached := p.ok("call", "lab", "tools.add", "name=detached", "x=3", "--detach")
		p.eventually("they wait", func() bool { return strings.Count(p.ok("calls", "ls", "lab"), "queued") >= 3 })
		kill(p.machine("lab")["worker"])
		for _, j := range interrupted {
			p.check(j.wait(), 9, "killed by signal", "may have had effects", "try 1 of 3", "models are loaded again")
		}
		p.check(queued[0].wait(), 0, "2")
		p.check(queued[1].wait(), 0, "3")
		if got := p.ok("calls", "wait", "lab", detached); got != "4" {
			p.t.Errorf("a detached call that had not begun: %q", got)
		}
		p.exits(9, []string{"call", "lab", "tools.hold", "name=running", "--id", "worker-killed-1"}, "try 1 of 3")

		// A library has its own connection to the worker.
		lib := p.library(`
try: tools.hold("second")
except Exception as e: print(type(e).__name__, e)
print(tools.add("next", 4))`)
		p.begun("second")
		kill(p.machine("lab")["worker"])
		p.check(lib.wait(), 0, "Interrupted", "killed by signal", "try 2 of 3", "models are loaded again", "\n5\n")

		if n := p.lines("loads")["loaded"]; n != 3 {
			p.t.Errorf("the file was loaded %d times", n)
		}
		p.ok(append(guest, "name=guest3")...)
		p.exits(10, append(guest, "name=guest4"), "3 calls have been made")
		p.once("running", "queued", "library", "detached", "second", "next", "guest1", "guest2", "guest3")
		if n := p.lines("ran")["guest4"]; n != 0 {
			p.t.Errorf("a refused call ran %d times", n)
		}
	})
}

// TestWorkerAndRuntimeAreKilled at once: the next runtime finds what both have left.
func TestWorkerAndRuntimeAreKilled(t *testing.T) {
	inEach(t, func(p *place) {
		running := p.seer("call", "lab", "tools.hold", "name=running", "--id", "both-killed-1")
		p.begun("running")
		queued := p.seer("call", "lab", "tools.add", "name=queued", "x=1")
		library := p.library(`print(tools.add("library", 2))`)
		detached := p.ok("call", "lab", "tools.add", "name=detached", "x=3", "--detach")
		p.eventually("they wait", func() bool { return strings.Count(p.ok("calls", "ls", "lab"), "queued") >= 3 })
		machine := p.machine("lab")
		kill(machine["runtime"])
		kill(machine["worker"])
		p.check(running.wait(), 9, "may have had effects")
		p.check(queued.wait(), 0, "2")
		p.check(library.wait(), 0, "3")
		if got := p.ok("calls", "wait", "lab", detached); got != "4" {
			p.t.Errorf("a detached call that had not begun: %q", got)
		}
		p.exits(9, []string{"call", "lab", "tools.hold", "name=running", "--id", "both-killed-1"}, "may have had effects")
		p.once("running", "queued", "library", "detached")
		if n := p.lines("loads")["loaded"]; n != 2 {
			p.t.Errorf("the file was loaded %d times", n)
		}
	})
}

// TestMachineIsSuspended with everything that runs there, for a while.
func TestMachineIsSuspended(t *testing.T) {
	inEach(t, func(p *place) {
		pause := 5 * time.Second
		if soaking() {
			pause = time.Minute
		}
		lib := p.library(`
for i in range(2000):
    name = "each%d" % i
    assert tools.add(name, i) == i + 1
    print(i, flush=True)
    if i % 10 == 0:
        assert list(tools.count("stream%d" % i, 3)) == [0, 1, 2]
        assert list(tools.array("array%d" % i, 4)) == [0, 1, 2, 3]
        if tools.beside("end%d" % i, 1) and len(sys.argv) == 1:
            import os
            if os.path.exists("stop"): break
print("done", i)`)
		running := p.seer("call", "lab", "tools.hold", "name=held", "--timeout", "4m", "-r")
		p.begun("held")
		p.release()
		p.eventually("calls", func() bool { return strings.Contains(text(lib.out), "10\n") })
		machine := p.machine("lab")
		signalAll(machine, syscall.SIGSTOP)
		during := p.seer("call", "lab", "tools.add", "name=during", "x=1")
		time.Sleep(pause)
		signalAll(machine, syscall.SIGCONT)
		p.check(during.wait(), 0, "2")
		p.check(running.wait(), 0, "held held")
		p.write("stop", "")
		r := lib.wait()
		p.check(r, 0, "done")
		p.once("during", "held")
		for name, n := range p.lines("ran") {
			if n != 1 {
				p.t.Errorf("%s ran %d times", name, n)
			}
		}
	})
}

func signalAll(machine map[string][]process, s syscall.Signal) {
	for _, role := range machine {
		for _, one := range role {
			_ = syscall.Kill(one.pid, s)
		}
	}
}
