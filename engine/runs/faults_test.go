package runs_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/errdefs"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/runs"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/internal/testkit"
)

// written is the folder of a run with a log of these bytes.
func written(t testing.TB, log []byte) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, runs.EventsName), log, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A writer that is killed leaves a log that ends anywhere.
func TestCutLog(t *testing.T) {
	f, send := create(t, t.TempDir(), "run-0123456789abcdef", noon)
	send(small()...)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(filepath.Join(f.Path(), runs.EventsName))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(f.Path(), runs.EventsName)
	for n := len(log); n > bytes.IndexByte(log, '\n'); n-- {
		if err := os.Truncate(path, int64(n)); err != nil {
			t.Fatal(err)
		}
		r := open(t, f.Path())
		whole := int64(bytes.Count(log[:n], []byte("\n")))
		state := runs.Interrupted
		if n == len(log) {
			state = runs.Finished
		}
		events := int64(0)
		for _, err := range r.Events() {
			events++
			if err != nil {
				t.Fatalf("%d bytes: %v", n, err)
			}
		}
		if r.State != state || r.EventCount != whole || events != whole || r.Faults != 0 || r.Lost != 0 {
			t.Fatalf("%d bytes: %s, %d and %d events of %d, %d faults, %d lost", n, r.State, r.EventCount, events, whole, r.Faults, r.Lost)
		}
	}
}

const killed = "SEER_TEST_RUNS_KILLED"

// The run of a program that is killed is running before, and interrupted afterwards.
func TestKilledWriter(t *testing.T) {
	if root := os.Getenv(killed); root != "" {
		f, send := create(t, root, "run-0123456789abcdef", noon)
		send(small()[0])
		fmt.Println(f.Path())
		for {
			send(text("agent_message_chunk", strings.Repeat("x", 1000)))
		}
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilledWriter$")
	cmd.Env = append(os.Environ(), killed+"="+t.TempDir())
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	dir := strings.TrimSpace(line)
	if err == nil {
		if r := open(t, dir); r.State != runs.Running {
			t.Errorf("while it is written: %s", r.State)
		}
		if err := runs.Remove(open(t, dir)); errdefs.KindOf(err) != errdefs.KindConflict {
			t.Errorf("removed while it is written: %v", err)
		}
	}
	if err := errors.Join(err, cmd.Process.Kill()); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	r := open(t, dir)
	if r.State != runs.Interrupted || r.Error == "" || r.Faults != 0 || r.Lost != 0 || r.ExitCode != nil {
		t.Errorf("afterwards: %+v", r.Summary)
	}
	if items, err := r.Transcript(); err != nil || len(items) > 1 {
		t.Errorf("transcript of %d items, %v", len(items), err)
	}
}

func TestTwoRunsInOneSecond(t *testing.T) {
	root := t.TempDir()
	paths := map[string]bool{}
	for range 3 { // even of the same ID
		f, send := create(t, root, "run-0123456789abcdef", noon)
		send(small()...)
		paths[f.Path()] = true
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if to, err := os.Readlink(filepath.Join(root, "latest")); to != filepath.Base(f.Path()) {
			t.Errorf("latest leads to %q, %v", to, err)
		}
	}
	if len(paths) != 3 {
		t.Errorf("folders: %v", paths)
	}
}

// TestFullDisk runs itself on a file system of 1 MiB.
func TestFullDisk(t *testing.T) { testkit.OnSmallDisk(t, 1<<20, fullDisk) }

func fullDisk(t *testing.T) {
	f, send := create(t, "/mnt/runs", "run-0123456789abcdef", noon)
	var told []error
	f.Warn = func(err error) { told = append(told, err) }
	send(small()[:5]...)
	long := strings.Repeat("0123456789", 1_000)
	for range 200 {
		send(text("agent_message_chunk", long))
	}
	send(text("agent_message_chunk", strings.Repeat(long, 30))) // a blob
	if len(told) != 1 || !errors.Is(told[0], state.ErrNoSpace) || !strings.Contains(told[0].Error(), f.Path()) {
		t.Errorf("told: %v", told)
	}
	r := open(t, f.Path())
	if r.State != runs.Running || r.Faults != 0 || r.EventCount < 50 {
		t.Errorf("on the full disk: %+v", r.Summary)
	}
	if _, err := runs.Create("/mnt/runs", "second", "run-00", noon); errdefs.KindOf(err) != errdefs.KindNoSpace && err != nil {
		t.Errorf("a run on a full disk: %v is %s", err, errdefs.KindOf(err))
	}
	if err := f.Close(); !errors.Is(err, state.ErrNoSpace) {
		t.Errorf("closed: %v", err)
	}
	if r := open(t, f.Path()); r.State != runs.Interrupted {
		t.Errorf("closed without an end: %s", r.State)
	}
}

// TestRoomAgain runs itself on a file system of 1 MiB, which is full for a while.
func TestRoomAgain(t *testing.T) { testkit.OnSmallDisk(t, 1<<20, roomAgain) }

func roomAgain(t *testing.T) {
	f, send := create(t, "/mnt/runs", "run-0123456789abcdef", noon)
	send(small()[:5]...)
	if err := os.WriteFile("/mnt/ballast", make([]byte, 1<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	for range 20 {
		send(text("agent_message_chunk", strings.Repeat("x", 1000)))
	}
	if err := os.Remove("/mnt/ballast"); err != nil {
		t.Fatal(err)
	}
	send(event.RunEnded{State: "finished"})
	if err := f.Close(); !errors.Is(err, state.ErrNoSpace) {
		t.Errorf("closed: %v", err)
	}
	r := open(t, f.Path())
	if r.State != runs.Finished || r.Faults != 0 || r.Lost < 10 || r.Lost+r.EventCount != 26 {
		t.Errorf("%s with %d events, %d lost, %d faults", r.State, r.EventCount, r.Lost, r.Faults)
	}
}

const readOnly = "SEER_TEST_RUNS_READ_ONLY"

// TestReadOnlyDisk runs itself where the run is on a disk that takes no changes.
func TestReadOnlyDisk(t *testing.T) {
	if os.Getenv(readOnly) != "" {
		readOnlyDisk(t)
		return
	}
	dir := t.TempDir()
	f, send := create(t, filepath.Join(dir, "runs"), "run-0123456789abcdef", noon)
	send(small()...)
	if err := errors.Join(f.Close(), runs.Remember(filepath.Join(dir, "state"), f)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("bwrap", "--unshare-user", "--ro-bind", "/", "/", "--ro-bind", dir, "/mnt", "--dev", "/dev",
		"--setenv", readOnly, "1", os.Args[0], "-test.run=^TestReadOnlyDisk$")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func readOnlyDisk(t *testing.T) {
	all, err := runs.List("/mnt/runs")
	if err != nil || len(all) != 1 || all[0].State != runs.Finished {
		t.Fatalf("%+v, %v", all, err)
	}
	r, err := runs.Find("latest", "/mnt/runs")
	if err != nil {
		t.Fatal(err)
	}
	if items, err := r.Transcript(); err != nil || len(items) != 5 {
		t.Errorf("%d items, %v", len(items), err)
	}
	if err := runs.Remove(r); errdefs.KindOf(err) != errdefs.KindConfig {
		t.Errorf("removed: %v is %s", err, errdefs.KindOf(err))
	}
	if _, err := runs.Create("/mnt/runs", "probe", "run-1", noon); errdefs.KindOf(err) != errdefs.KindConfig {
		t.Errorf("created: %v is %s", err, errdefs.KindOf(err))
	}
	if dirs, err := runs.Remembered("/mnt/state"); err != nil || len(dirs) != 1 {
		t.Errorf("remembered: %v, %v", dirs, err)
	}
}

// Nothing is written through a link that somebody has left.
func TestLinksInTheWay(t *testing.T) {
	dir := t.TempDir()
	victim := filepath.Join(dir, "victim")
	if err := os.Mkdir(victim, 0o700); err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(dir, "runs")
	if err := os.Symlink(victim, root); err != nil {
		t.Fatal(err)
	}
	if _, err := runs.Create(root, "probe", "run-1", noon); errdefs.KindOf(err) != errdefs.KindConfig || !strings.Contains(err.Error(), "is a link") {
		t.Errorf("through a link: %v", err)
	}
	if err := errors.Join(os.Remove(root), os.WriteFile(root, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := runs.Create(root, "probe", "run-1", noon); errdefs.KindOf(err) != errdefs.KindConfig {
		t.Errorf("in a file: %v", err)
	}
	if err := errors.Join(os.Remove(root), os.MkdirAll(filepath.Join(root, "latest"), 0o700)); err != nil {
		t.Fatal(err)
	}
	if _, err := runs.Create(root, "probe", "run-1", noon); errdefs.KindOf(err) != errdefs.KindConfig || !strings.Contains(err.Error(), "latest") {
		t.Errorf("beside a folder called latest: %v", err)
	}
	if err := errors.Join(os.Remove(filepath.Join(root, "latest")), os.Symlink(victim, filepath.Join(root, "latest"))); err != nil {
		t.Fatal(err)
	}
	f, send := create(t, root, "run-1", noon)
	send(small()...)
	if to, err := os.Readlink(filepath.Join(root, "latest")); to != filepath.Base(f.Path()) {
		t.Errorf("latest leads to %q, %v", to, err)
	}
	if left, err := os.ReadDir(victim); err != nil || len(left) != 0 {
		t.Errorf("written through a link: %v, %v", left, err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// The log of a run that is slow is on the disk after a second, without another event.
func TestSyncs(t *testing.T) {
	f, send := create(t, t.TempDir(), "run-1", noon)
	timers := 0
	var fire func()
	runs.SetAfter(f, func(d time.Duration, do func()) *time.Timer {
		timers, fire = timers+1, do
		if d != time.Second {
			t.Errorf("after %s", d)
		}
		return time.NewTimer(time.Hour)
	})
	send(text("agent_message_chunk", "a"), text("agent_message_chunk", "b"))
	if timers != 1 {
		t.Errorf("%d timers for two events", timers)
	}
	fire()
	send(text("agent_message_chunk", "c"))
	if timers != 2 {
		t.Errorf("%d timers, and one more was due", timers)
	}
	send(event.AgentFinished{}) // is on the disk at once
	fire()
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}
