package loader_test

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/internal/attack"
)

// Lines of the loader, and what is there without the defence.
var (
	unsealed  = []string{"            self.seal(f)\n", ""}
	unchecked = []string{`raise OSError(errno.EBADF, "it was changed")`, "pass"}
	readable  = []string{"(0o111, 0o555)", "(0o555,)", "services=program.exposed)", "services=False)", "if program.exposed and not alone:", "if False:"}
	dumpable  = []string{".prctl(4, 0, 0, 0, 0)", ".prctl(4, 1, 0, 0, 0)"}
	leaders   = []string{`os.listdir(folder + "/task") if`, "() if", "folder if threads > 1", "folder if False", "os.kill(-1, signal.SIGKILL)", "pass"}
	patient   = []string{`say("the lease has ended, and the runtime does nothing; the machine ends")`, `return open("/workspace/overdue", "w").write("yes") and False`}
	unheld    = []string{"self.holder.hold(self.others)", "pass"}
	quick     = []string{"OVERDUE = 10 ", "OVERDUE = 1 "}
)

// kinds are the isolations that are tried.
func kinds() []string {
	if os.Getenv("SEER_TEST_GVISOR") != "" {
		return []string{isolation.Bubblewrap, isolation.GVisor}
	}
	return []string{isolation.Bubblewrap}
}

func defences(defended bool, off ...[]string) (pairs []string) {
	if defended {
		return nil
	}
	for _, pair := range off {
		pairs = append(pairs, pair...)
	}
	return pairs
}

// TestAttacks is what code in a sandbox does to become the runtime, or to outlive it.
func TestAttacks(t *testing.T) {
	t.Parallel()
	if len(kinds()) > 1 {
		attack.Run(t, []attack.Row{{Name: "thread-outlives-its-leader", Isolation: isolation.GVisor, Want: "denied", Try: func(t *testing.T, defended bool) error {
			return openAsThread(up(t, isolation.GVisor, map[string]string{slowStart: "1"}, defences(defended, leaders)...))
		}}})
	}
	for _, kind := range kinds() {
		attack.RunParallel(t, []attack.Row{
			{Name: "replaced-runtime", Isolation: kind, Want: "sealed", Try: func(t *testing.T, defended bool) error {
				return replaceRuntime(up(t, kind, nil, defences(defended, unsealed, unchecked)...))
			}},
			{Name: "replaced-runtime-without-sealed-memory", Isolation: kind, Want: "it was changed", Try: func(t *testing.T, defended bool) error {
				return replaceRuntime(up(t, kind, nil, append(unsealed, defences(defended, unchecked)...)...))
			}},
			{Name: "memory-of-the-loader", Isolation: kind, Want: "denied", Try: func(t *testing.T, defended bool) error {
				return open(up(t, kind, nil, defences(defended, dumpable)...), `"/proc/1/fd/4"`)
			}},
			{Name: "memory-of-a-runtime-that-starts", Isolation: kind, Want: "denied", Try: func(t *testing.T, defended bool) error {
				return openAtStart(up(t, kind, map[string]string{slowStart: "1"}, defences(defended, readable)...))
			}},
			{Name: "moves-while-parked", Isolation: kind, Want: "stands still", Try: func(t *testing.T, defended bool) error {
				return moveWhileParked(up(t, kind, nil, defences(defended, unheld)...), defended)
			}},
			{Name: "stopped-runtime", Isolation: kind, Want: "the machine ended", Try: func(t *testing.T, defended bool) error {
				return stopRuntime(up(t, kind, nil, append(quick, defences(defended, patient)...)...), kind)
			}},
		})
	}
}

// TestArguments: an agent that lists processes does not get ten kilobytes of the loader.
func TestArguments(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds() {
		t.Run(kind, func(t *testing.T) {
			b := up(t, kind, nil)
			b.start(`
import os
said = []
for name in os.listdir("/proc"):
    if name.isdigit():
        with open("/proc/%s/cmdline" % name, "rb") as f:
            said.append(f.read().replace(b"\0", b" "))
open("said.part", "wb").write(b"\n".join(said)) and os.rename("said.part", "said")
`)
			b.eventually("the list", func() bool { return b.told("said") != "" })
			said := b.told("said")
			if !strings.Contains(said, "seer-loader") || strings.Contains(said, "zlib.decompress") {
				t.Errorf("the processes: %.300s", said)
			}
		})
	}
}

// replaceRuntime replaces the runtime's binary and kills the runtime.
func replaceRuntime(b *box) error {
	b.start(`
import os, signal
for name in os.listdir("/seer/cache"):
    if name.startswith("seer-runtime-"):
        path = "/seer/cache/" + name
        os.unlink(path)
        with open(path, "w") as f:
            f.write("#!/bin/sh\nls /proc/self/fd > /workspace/stolen\nsleep 1000\n")
        os.chmod(path, 0o755)
open("/workspace/old", "w").write(str(os.getppid()))
os.kill(os.getppid(), signal.SIGKILL)
`)
	b.eventually("the attack", func() bool { return b.told("old") != "" })
	var err error
	b.eventually("a runtime", func() bool {
		switch {
		case b.told("stolen") != "":
			return true
		case b.ended():
			err = errors.New("the machine ended: " + b.log())
			return true
		case !strings.Contains(b.log(), "the runtime was started again"):
			return false
		}
		err = errors.New("the loader started the runtime that it had sealed")
		return true
	})
	return err
}

// open reads a file as a process of the machine.
func open(b *box, path string) error {
	b.start(`
import os
try:
    os.close(os.open(` + path + `, os.O_RDWR))
    said = "opened"
except OSError as e:
    said = str(e)
open("/workspace/said", "w").write(said)
`)
	b.eventually("the attack", func() bool { return b.told("said") != "" })
	return refusal(b.told("said"))
}

func refusal(said string) error {
	if said == "opened" {
		return nil
	}
	return errors.New(said)
}

// openAtStart kills the runtime and opens the memory of the next one before it has run a
// line of its own. A process that says that a service started it outlives the runtime.
func openAtStart(b *box) error { return openNext(b, "service/x/1/y", "") }

// openAsThread does so as a thread whose process looks as if it had ended: its first thread has.
func openAsThread(b *box) error {
	return openNext(b, "", `
import ctypes, threading
def wait():
    while ") Z " not in open("/proc/%d/stat" % os.getpid()).read():
        time.sleep(0.01)
    steal()
threading.Thread(target=wait).start()
ctypes.CDLL(None).syscall({"x86_64": 60, "aarch64": 93}[os.uname().machine], 0)
`)
}

func openNext(b *box, mark, run string) error {
	b.start(strings.NewReplacer("MARK", mark, "RUN", cmp.Or(run, "steal()")).Replace(`
import os, signal, time
old = os.getppid()
if os.fork():
    time.sleep(1000)
os.setsid()
os.environ["SEER_PROCESS"] = "MARK"
os.execv("/usr/bin/env", ["env", "python3", "-c", '''
import os, signal, sys, time
def runtimes():
    for name in os.listdir("/proc"):
        if name.isdigit() and name != str(os.getpid()):
            try:
                if open("/proc/%s/cmdline" % name, "rb").read().startswith(b"/seer/cache/seer-runtime-"):
                    yield int(name)
            except OSError:
                pass
def steal():
    old = OLD
    os.kill(old, signal.SIGKILL)
    said = ""
    while not said:
        for pid in runtimes():
            if pid != old:
                try:
                    os.close(os.open("/proc/%d/fd/4" % pid, os.O_RDWR))
                    said = "opened"
                except OSError as e:
                    said = str(e)
    open("/workspace/said", "w").write(said)
RUN
'''.replace("OLD", str(old))])
`))
	b.eventually("the attack", func() bool {
		return b.told("said") != "" || strings.Contains(b.log(), "the runtime was started again")
	})
	if b.told("said") == "" {
		return errors.New("denied: the process was ended before the runtime was started")
	}
	return refusal(b.told("said"))
}

// stopRuntime stops the runtime, so that nobody ends its lease. Only gVisor lets a process
// stop process 1, too; for that, see the watchdog's attacks.
func stopRuntime(b *box, kind string) error {
	if _, err := b.client.PutLease(b.t.Context(), protocol.LeaseRequest{Kind: protocol.LeaseAttached, TTLSeconds: 2}); err != nil {
		b.t.Fatal(err)
	}
	stops := "os.kill(1, signal.SIGSTOP)"
	if kind == isolation.GVisor {
		stops = "pass"
	}
	b.start("import os, signal\n" + stops + "\nos.kill(os.getppid(), signal.SIGSTOP)\n")
	var err error
	b.eventually("the end of the lease", func() bool {
		if b.ended() {
			err = errors.New("the machine ended: " + b.log())
			return true
		}
		return b.told("overdue") != ""
	})
	return err
}

// moveWhileParked has a timer continue a process that was stopped: it would be between the
// runtime, whose socket is made anew, and whoever sends the admin token there.
func moveWhileParked(b *box, defended bool) error {
	b.start(`
import ctypes, signal, time
class Event(ctypes.Structure):
    _fields_ = [("value", ctypes.c_void_p), ("signal", ctypes.c_int), ("how", ctypes.c_int), ("rest", ctypes.c_char * 48)]
libc, timer = ctypes.CDLL(None), ctypes.c_void_p()
assert libc.timer_create(1, ctypes.byref(Event(None, signal.SIGCONT, 0, b"")), ctypes.byref(timer)) == 0
half = (ctypes.c_long * 4)(0, 500000000, 0, 500000000)
assert libc.timer_settime(timer, 0, half, None) == 0
for n in range(1 << 30):
    open("/workspace/moved", "w").write(str(n))
    time.sleep(0.01)
`)
	b.eventually("the process", func() bool { return b.told("moved") != "" })
	id := strings.Repeat("0123456789abcdef", 2)
	if _, err := b.client.Park(b.t.Context(), protocol.ParkRequest{ID: id, Key: id + id}); err != nil {
		return err
	}
	b.eventually("the machine to be parked", func() bool {
		_, err := os.Lstat(filepath.Join(b.dir, b.handle, "run", "park-"+id))
		return err == nil
	})
	before := b.told("moved")
	if !defended {
		b.eventually("the process to move", func() bool { return b.told("moved") != before })
		return nil
	}
	time.Sleep(2 * time.Second) // four times the timer's
	if b.told("moved") != before {
		return nil
	}
	return errors.New("it stands still")
}
