package local

import (
	"os"
	"os/exec"
	"testing"
)

func TestZombiesAndStrangersAreDead(t *testing.T) {
	start, ok := startOf(os.Getpid())
	if !ok || !alive(process{PID: os.Getpid(), Start: start}) {
		t.Errorf("this process is dead: %q", start)
	}
	if alive(process{PID: os.Getpid(), Start: "00000000:1"}) {
		t.Error("a process that was given the number later is taken for the first")
	}
	cmd := exec.Command("/bin/true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	eventually(t, "a zombie to count as dead", func() bool { _, ok := startOf(cmd.Process.Pid); return !ok })
	if _, _, _, err := stat(cmd.Process.Pid); err != nil {
		t.Errorf("it was not a zombie: %v", err)
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("1 (init) S 0 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 42 1 2"))
	f.Add([]byte("7 (a) Z (b) R 3 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 42 1 2"))
	f.Add([]byte("7 (x"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if state, _, start, err := parseStat(data); err == nil && start == "" {
			t.Errorf("%q gives %c %q", data, state, start)
		}
	})
}

func FuzzParseStatus(f *testing.F) {
	f.Add([]byte(`{ "child-pid": 7, "pid-namespace": 4026532181 }` + "\n" + `{ "exit-code": 3 }`))
	f.Add([]byte(`{ "child-pid": 7`))
	f.Add([]byte(`[]{"child-pid":"x"}`))
	f.Fuzz(func(t *testing.T, data []byte) { parseStatus(data) })
}
