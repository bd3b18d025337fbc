package proc

import (
	"os"
	"os/exec"
	"testing"
	"time"
)

func TestZombiesAndStrangersAreDead(t *testing.T) {
	start, ok := StartOf(os.Getpid())
	if !ok || !Alive(Process{PID: os.Getpid(), Start: start}) {
		t.Errorf("this process is dead: %q", start)
	}
	if Alive(Process{PID: os.Getpid(), Start: "00000000:1"}) {
		t.Error("a process that was given the number later is taken for the first")
	}
	cmd := exec.Command("/bin/true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	for _, ok := StartOf(cmd.Process.Pid); ok; _, ok = StartOf(cmd.Process.Pid) {
		time.Sleep(time.Millisecond) // a zombie counts as dead
	}
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
