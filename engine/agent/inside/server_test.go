package inside_test

import (
	"net"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/seer-engine/seer/engine/agent/inside"
)

// TestServers: a server forwards its output, and the engine learns why a server does not start.
func TestServers(t *testing.T) {
	const answer = `{"jsonrpc":"2.0","id":1,"result":{}}`
	for _, c := range []struct {
		name, code string // of a shell
		exit       int
		out        string
		problem    string // empty = none
	}{
		{"works", "echo starting; echo '" + answer + "'; exit 3", 3, "starting\n" + answer + "\n", ""},
		{"refuses", `echo '{"id":1,"error":{"code":-1,"message":"no licence"}}'`, 0, `{"id":1,"error":{"code":-1,"message":"no licence"}}` + "\n", "it answered initialize with an error: no licence"},
		{"dies", "echo no such module >&2; exit 5", 5, "", "it ended with exit code 5 before it answered initialize; it printed: no such module"},
		{"is killed", "kill -9 $$", 137, "", "it ended with exit code 137 before it answered initialize"},
		{"takes its time", "kill -9 $PPID; read line", -1, "", "it was ended before it answered initialize"},
	} {
		t.Run(c.name, func(t *testing.T) {
			socket := filepath.Join(t.TempDir(), "s")
			l, err := net.Listen("unix", socket)
			if err != nil {
				t.Fatal(err)
			}
			var mu sync.Mutex
			var problems []string
			w := inside.Watch(l, []string{"docs", "other"}, func(server, problem string) {
				mu.Lock()
				defer mu.Unlock()
				problems = append(problems, server+": "+problem)
			})
			args := inside.ServerArgs("docs", socket, "/bin/sh", []string{"-c", c.code})
			code, out, errs := ended(t, program(args[1:]...))
			if left := w.NotStarted(); !slices.Equal(left, []string{"other"}) {
				t.Errorf("not started: %q", left)
			}
			w.Close()
			want := []string{"docs: " + c.problem}
			if c.problem == "" {
				want = nil
			}
			if code != c.exit || out != c.out || !slices.Equal(problems, want) {
				t.Errorf("exit code %d, output %q, errors %q, reported %q", code, out, errs, problems)
			}
		})
	}
}

// TestServerWithoutAnEngine: a server also runs without a Watcher.
func TestServerWithoutAnEngine(t *testing.T) {
	args := inside.ServerArgs("docs", "/no/such/socket", "/bin/sh", []string{"-c", "echo hello; exit 4"})
	if code, out, errs := ended(t, program(args[1:]...)); code != 4 || out != "hello\n" {
		t.Errorf("exit code %d, output %q, errors %q", code, out, errs)
	}
}
