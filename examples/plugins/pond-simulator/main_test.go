package main

import (
	"bufio"
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/seer-engine/seer/internal/testkit"
)

// asProgram makes the test's own program the simulator.
const asProgram = "POND_SIMULATOR_TEST"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// simulator is a running one, with a machine on it.
type simulator struct {
	cmd     *exec.Cmd
	tmp     string
	machine int // pid
	errors  bytes.Buffer
}

func start(t *testing.T) *simulator {
	t.Helper()
	s := &simulator{tmp: t.TempDir()}
	s.cmd = exec.Command(os.Args[0], "-key", "abcd", "-faults", "slow_down:1000")
	s.cmd.Env = append(os.Environ(), asProgram+"=1", "TMPDIR="+s.tmp)
	s.cmd.Stderr = &s.errors
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.cmd.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	url := regexp.MustCompile(`http://[0-9.:]+`).FindString(line)
	if err != nil || url == "" {
		t.Fatalf("%q, %v", line, err)
	}
	pid := filepath.Join(t.TempDir(), "pid")
	body := `{"size":"puddle","command":["sh","-c","echo $$ >` + pid + `.t; mv ` + pid + `.t ` + pid + `; sleep 1000 & wait"],"port":1}`
	req, _ := http.NewRequest("POST", url+"/v1/machines", strings.NewReader(body))
	req.Header = http.Header{"Authorization": {"Bearer abcd"}, "Idempotency-Key": {"k"}}
	resp, err := http.DefaultClient.Do(req)
	if err != nil || resp.StatusCode != http.StatusCreated {
		t.Fatal(resp, err)
	}
	_ = resp.Body.Close()
	testkit.Eventually(t, "the machine runs", func() bool {
		text, err := os.ReadFile(pid)
		s.machine, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		return err == nil
	})
	return s
}

// gone waits until nothing of the machine is left.
func (s *simulator) gone(t *testing.T) {
	t.Helper()
	testkit.Eventually(t, "the machine has ended", func() bool { return syscall.Kill(s.machine, 0) != nil && len(machines(s.tmp)) == 0 })
	testkit.Eventually(t, "its files are gone", func() bool { left, err := os.ReadDir(s.tmp); return err == nil && len(left) == 0 })
}

func TestItSaysWhatWasLeftAndEndsIt(t *testing.T) {
	s := start(t)
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	_ = s.cmd.Wait()
	if s.cmd.ProcessState.ExitCode() != 1 || !strings.Contains(s.errors.String(), "still billed: m-1") {
		t.Errorf("%v, %s", s.cmd.ProcessState, s.errors.String())
	}
	s.gone(t)
}

func TestItsMachinesEndWithItHoweverItEnds(t *testing.T) {
	s := start(t)
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
	s.gone(t)
}

// As seer plugin test starts it.
func TestItServesTheKit(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asProgram+"=1", addrVariable+"=127.0.0.1:0")
	life, out := testkit.StartPiped(t, cmd)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "http://127.0.0.1:") {
		t.Errorf("%q, %v", line, err)
	}
	req, _ := http.NewRequest("GET", strings.TrimSpace(line)+"/v1/prices", nil)
	req.Header.Set("Authorization", "Bearer of the kit")
	if resp, err := http.DefaultClient.Do(req); err != nil || resp.StatusCode != http.StatusOK {
		t.Error(resp, err)
	}
	_ = life.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

func TestBadFlags(t *testing.T) {
	for _, args := range [][]string{{"-faults", "fire:1"}, {"-faults", "lost"}, {"-boot", "soon"}, {"-nothing"}} {
		if _, _, err := options(args); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}
