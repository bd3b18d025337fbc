package inside_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/seer-engine/seer/engine/agent/inside"
	"github.com/seer-engine/seer/internal/testkit"
)

// asMain has this test program be the one that is tested.
const asMain = "SEER_TEST_INSIDE"

func TestMain(m *testing.M) {
	switch os.Getenv(asMain) {
	case "inside":
		if err := os.Setenv(asMain, "agent"); err != nil {
			panic(err)
		}
		os.Exit(inside.Main(os.Args[1:]))
	case "agent":
		os.Exit(agent(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// agent is a command: it sends a text to a port, ends its side, and prints the answer.
func agent(args []string) int {
	conn, err := net.Dial("tcp", args[0])
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, args[1])
	_ = conn.(*net.TCPConn).CloseWrite()
	answer, err := io.ReadAll(conn)
	fmt.Printf("%s %v", answer, err)
	return 0
}

// program is the one that is tested, with arguments.
func program(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(append(os.Environ(), testkit.RaceEnv()...), asMain+"=inside")
	return cmd
}

// ended runs it to its end.
func ended(t *testing.T, cmd *exec.Cmd) (code int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()
}

// answering is a Unix socket that answers behind the end of the question.
func answering(t *testing.T, name string) string {
	l := testkit.Serve(testkit.UnixSocket(t), func(c net.Conn) {
		asked, err := io.ReadAll(c)
		fmt.Fprintf(c, "%s got %s %v", name, asked, err)
	})
	return l.Addr().String()
}

func port(t *testing.T) string { return "127.0.0.1:" + strconv.Itoa(testkit.FreePort(t)) }

func TestForwards(t *testing.T) {
	first, second := port(t), port(t)
	cmd := program("--forward", first+"="+answering(t, "one"), "--forward", second+"="+answering(t, "two"), "--",
		"/bin/sh", "-c", `"$0" "$1" hello; "$0" "$2" again`, os.Args[0], first, second)
	code, out, errs := ended(t, cmd)
	if code != 0 || out != "one got hello <nil> <nil>two got again <nil> <nil>" || errs != "" {
		t.Errorf("%d, %q, %q", code, out, errs)
	}
	l, err := net.Listen("tcp", first)
	if err != nil {
		t.Fatalf("the port is still taken: %v", err)
	}
	l.Close()
}

// TestSocketIsAbsent ends the connection of the agent, and nothing else.
func TestSocketIsAbsent(t *testing.T) {
	at := port(t)
	code, out, errs := ended(t, program("--forward", at+"=/nowhere/s", os.Args[0], at, "hello"))
	if code != 0 || strings.Contains(out, "got") || errs != "" {
		t.Errorf("%d, %q, %q", code, out, errs)
	}
}

func TestExitCodes(t *testing.T) {
	taken := testkit.Loopback(t).Addr().String()
	for name, c := range map[string]struct {
		args []string
		code int
		errs string
	}{
		"zero":           {[]string{"/bin/true"}, 0, ""},
		"its own":        {[]string{"--", "/bin/sh", "-c", "exit 42"}, 42, ""},
		"killed":         {[]string{"/bin/sh", "-c", "kill -KILL $$"}, 137, ""},
		"not there":      {[]string{"/nowhere/agent"}, 127, "seer: the command cannot be started: "},
		"not in PATH":    {[]string{"no-such-agent"}, 127, "seer: the command cannot be started: "},
		"not a program":  {[]string{"/etc/passwd"}, 126, "seer: the command cannot be started: "},
		"no command":     {nil, 70, "seer: the arguments are wrong: there is no command"},
		"unknown":        {[]string{"--other", "x"}, 70, "seer: the arguments are wrong: flag provided but not defined"},
		"port taken":     {[]string{"--forward", taken + "=/s", "/bin/echo", "started"}, 70, "seer: the port " + taken + " in the confinement of the agent cannot be opened: "},
		"no port":        {[]string{"--forward", "127.0.0.1:0=/s", "/bin/true"}, 70, "write 127.0.0.1:PORT=/path/to.sock"},
		"not loopback":   {[]string{"--forward", "0.0.0.0:80=/s", "/bin/true"}, 70, "write 127.0.0.1:PORT=/path/to.sock"},
		"relative":       {[]string{"--forward", "127.0.0.1:80=s", "/bin/true"}, 70, "write 127.0.0.1:PORT=/path/to.sock"},
		"without socket": {[]string{"--forward", "127.0.0.1:80", "/bin/true"}, 70, "write 127.0.0.1:PORT=/path/to.sock"},
	} {
		code, out, errs := ended(t, program(c.args...))
		if code != c.code || out != "" || !strings.Contains(errs, c.errs) || c.errs == "" && errs != "" {
			t.Errorf("%s: %d, %q, %q", name, code, out, errs)
		}
	}
}

// TestStreamsAndEnvironment has the command read all of its input itself.
func TestStreamsAndEnvironment(t *testing.T) {
	cmd := program("/bin/sh", "-c", `cat; echo "$MARK" >&2; pwd`)
	cmd.Env, cmd.Dir = append(cmd.Env, "MARK=here"), "/"
	input := strings.Repeat("a line of input\n", 100_000)
	cmd.Stdin = strings.NewReader(input)
	code, out, errs := ended(t, cmd)
	if code != 0 || out != input+"/\n" || errs != "here\n" {
		t.Errorf("%d, %d bytes, %q", code, len(out), errs)
	}
}

// running starts it with a command that prints its process and then waits for its input's end.
func running(t *testing.T, script string) (cmd *exec.Cmd, out *bufio.Reader, pid int) {
	t.Helper()
	cmd = program("--forward", port(t)+"=/nowhere/s", "/bin/sh", "-c", script)
	in, stdout := testkit.StartPiped(t, cmd)
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	out = bufio.NewReader(stdout)
	line, err := out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if pid, err = strconv.Atoi(strings.TrimSpace(line)); err != nil {
		t.Fatal(err)
	}
	return cmd, out, pid
}

func TestForwardsSignals(t *testing.T) {
	for name, s := range map[string]syscall.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP} {
		// The shell reads by a builtin, which a signal with a trap interrupts.
		cmd, out, _ := running(t, `trap 'echo got `+name+`; exit 3' `+name+`; echo $$; while :; do read x || sleep 0.01; done`)
		if err := cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		line, _ := out.ReadString('\n')
		_ = cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); line != "got "+name+"\n" || code != 3 {
			t.Errorf("%s: %q, exit code %d", name, line, code)
		}
	}
}

func TestSignalThatEndsTheCommand(t *testing.T) {
	cmd, _, _ := running(t, `echo $$; exec cat`)
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 128+int(syscall.SIGTERM) {
		t.Errorf("exit code %d", code)
	}
}
