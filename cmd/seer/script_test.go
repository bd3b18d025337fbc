package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// patience is how long a script waits for something that must come.
const patience = 2 * time.Minute

type command = func(ts *testscript.TestScript, neg bool, args []string)

func scriptCommands() map[string]command {
	return map[string]command{
		"exits":   exits,
		"until":   until,
		"capture": capture,
		"json":    jsonValue,
		"start":   start,
		"signal":  sendSignal,
		"finish":  finish,
		"lines":   lines,
		"mode":    mode,
	}
}

// exits CODE PROGRAM ARGS… runs a program that must end with the code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARGS…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			got = 128 + int(status.Signal())
		}
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// until PATTERN PROGRAM ARGS… runs a program again and again until its stdout
// matches, which is how scripts wait for something.
func until(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: until PATTERN PROGRAM ARGS…")
	}
	pattern := regexp.MustCompile("(?m)" + args[0])
	var last string
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		_ = ts.Exec(args[1], args[2:]...) // it may fail until it works
		last = ts.ReadFile("stdout")
		if pattern.MatchString(last) != neg {
			return
		}
	}
	ts.Fatalf("%q was never so; last stdout:\n%s", args[0], last)
}

// capture NAME [PATTERN] puts the last stdout, without spaces around it, or what the
// pattern has in parentheses, into a variable.
func capture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: capture NAME [PATTERN]")
	}
	text := strings.TrimSpace(ts.ReadFile("stdout"))
	if len(args) == 2 {
		found := regexp.MustCompile(args[1]).FindStringSubmatch(text)
		if len(found) != 2 {
			ts.Fatalf("no %s in:\n%s", args[1], text)
		}
		text = found[1]
	}
	ts.Setenv(args[0], text)
	env := ts.Value(scriptEnvKey{}).(*scriptEnv)
	env.captured = append(env.captured, args[0]+"=")
}

// json FILE PATH VALUE compares a value inside the last JSON line of a file or
// stream. PATH is keys and indices with dots; VALUE is JSON, or a text; "*" is
// anything that is there.
func jsonValue(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: json FILE PATH VALUE")
	}
	text := strings.TrimSpace(ts.ReadFile(args[0]))
	var root any
	if json.Unmarshal([]byte(text), &root) != nil {
		all := strings.Split(text, "\n")
		ts.Check(json.Unmarshal([]byte(all[len(all)-1]), &root))
	}
	got, err := lookUp(root, args[1])
	if neg {
		if err == nil {
			ts.Fatalf("%s is there: %v", args[1], got)
		}
		return
	}
	ts.Check(err)
	var want any
	if json.Unmarshal([]byte(args[2]), &want) != nil {
		want = args[2]
	}
	if args[2] != "*" && !reflect.DeepEqual(got, want) {
		ts.Fatalf("%s is %#v, want %#v", args[1], got, want)
	}
}

func lookUp(v any, path string) (any, error) {
	if path == "." {
		return v, nil
	}
	for _, key := range strings.Split(path, ".") {
		switch in := v.(type) {
		case map[string]any:
			inner, ok := in[key]
			if !ok {
				return nil, fmt.Errorf("%s: there is no %q in %v", path, key, in)
			}
			v = inner
		case []any:
			if key == "length" {
				v = float64(len(in))
				continue
			}
			i, err := strconv.Atoi(key)
			if err != nil || i >= len(in) {
				return nil, fmt.Errorf("%s: there is no item %q in a list of %d", path, key, len(in))
			}
			v = in[i]
		default:
			return nil, fmt.Errorf("%s: %q is asked of %v", path, key, v)
		}
	}
	return v, nil
}

// background is a program that a script has started.
type background struct {
	cmd      *exec.Cmd
	out, err *os.File
}

// scriptEnv is what the commands of one script share.
type scriptEnv struct {
	*testscript.Env
	running  map[string]*background // by name
	captured []string               // variables of capture, as NAME=
}

type scriptEnvKey struct{}

// start NAME PROGRAM ARGS… runs a program in the background. Its output is in the
// files NAME.out and NAME.err while it comes.
func start(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: start NAME PROGRAM ARGS…")
	}
	env := ts.Value(scriptEnvKey{}).(*scriptEnv)
	path, err := lookPath(env.Env, args[1])
	ts.Check(err)
	b := &background{cmd: exec.Command(path, args[2:]...)}
	b.cmd.Args[0] = args[1]
	b.cmd.Dir = ts.MkAbs(".")
	for _, v := range append(slices.Clone(env.Vars), env.captured...) { // as the script has set them since
		name, _, _ := strings.Cut(v, "=")
		b.cmd.Env = append(b.cmd.Env, name+"="+ts.Getenv(name))
	}
	b.out, err = os.Create(ts.MkAbs(args[0] + ".out"))
	ts.Check(err)
	b.err, err = os.Create(ts.MkAbs(args[0] + ".err"))
	ts.Check(err)
	b.cmd.Stdout, b.cmd.Stderr = b.out, b.err
	ts.Check(b.cmd.Start())
	env.running[args[0]] = b
	ts.Defer(func() {
		if b.cmd.ProcessState == nil {
			_ = b.cmd.Process.Kill()
			_ = b.cmd.Wait()
		}
	})
}

func started(ts *testscript.TestScript, name string) *background {
	b := ts.Value(scriptEnvKey{}).(*scriptEnv).running[name]
	if b == nil {
		ts.Fatalf("nothing was started as %s", name)
	}
	return b
}

// signal NAME SIGNAL sends a signal to a program of start.
func sendSignal(ts *testscript.TestScript, neg bool, args []string) {
	signals := map[string]syscall.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP, "KILL": syscall.SIGKILL}
	if neg || len(args) != 2 || signals[args[1]] == 0 {
		ts.Fatalf("usage: signal NAME INT|TERM|HUP|KILL")
	}
	ts.Check(started(ts, args[0]).cmd.Process.Signal(signals[args[1]]))
}

// finish NAME CODE waits for a program of start to end with the code.
func finish(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: finish NAME CODE")
	}
	b := started(ts, args[0])
	end := time.AfterFunc(patience, func() { _ = b.cmd.Process.Kill() })
	defer end.Stop()
	_ = b.cmd.Wait() // the exit code is what counts
	b.out.Close()
	b.err.Close()
	status := b.cmd.ProcessState.Sys().(syscall.WaitStatus)
	got := status.ExitStatus()
	if status.Signaled() {
		got = 128 + int(status.Signal())
	}
	if strconv.Itoa(got) != args[1] {
		ts.Fatalf("%s ended with %d, want %s; stderr:\n%s", args[0], got, args[1], ts.ReadFile(args[0]+".err"))
	}
}

// lines N FILE checks how many lines a file or stream has.
func lines(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: lines N FILE")
	}
	if got := strings.Count(ts.ReadFile(args[1]), "\n"); strconv.Itoa(got) != args[0] {
		ts.Fatalf("%s has %d lines, want %s", args[1], got, args[0])
	}
}

// mode OCTAL FILE checks the permissions of a file.
func mode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: mode OCTAL FILE")
	}
	info, err := os.Stat(ts.MkAbs(args[1]))
	ts.Check(err)
	if got := fmt.Sprintf("%04o", info.Mode().Perm()); got != args[0] {
		ts.Fatalf("%s has mode %s, want %s", args[1], got, args[0])
	}
}

// endEverything ends what a script left running and fails when something outlives
// that.
func endEverything(env *testscript.Env, sockets string) {
	t := env.T()
	cmd := exec.Command("seer", "down", "--all", "--quiet")
	cmd.Env = env.Vars
	if path, err := lookPath(env, "seer"); err == nil {
		cmd.Path, cmd.Err = path, nil
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Log(fmt.Sprintf("seer down --all: %v: %s", err, out))
		t.FailNow()
	}
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		left := processesThatKnow(env.WorkDir, sockets)
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Log("processes are left:\n" + strings.Join(left, "\n"))
			t.FailNow()
		}
	}
}

func lookPath(env *testscript.Env, name string) (string, error) {
	for _, dir := range filepath.SplitList(env.Getenv("PATH")) {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", exec.ErrNotFound
}

// processesThatKnow finds processes whose command line or environment names one of
// the folders.
func processesThatKnow(folders ...string) []string {
	var found []string
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		cmdline, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		environ, _ := os.ReadFile(filepath.Join(dir, "environ"))
		for _, folder := range folders {
			if bytes.Contains(cmdline, []byte(folder)) || bytes.Contains(environ, []byte(folder)) {
				found = append(found, filepath.Base(dir)+" "+strings.ReplaceAll(string(cmdline), "\x00", " "))
				break
			}
		}
	}
	return found
}
