package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const reapCommand = "-reap" // of this program itself

// watch starts a second process that waits for this one to end, however it ends, and
// then removes what is left of the machines and their folder. The function that it
// returns ends that process, and waits for it.
func watch(dir string) (func(), error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, reapCommand, dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt is for the other one
	life, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return func() {
		_ = life.Close()
		_ = cmd.Wait() // it has nothing to say
	}, nil
}

// reap waits for the end of life, and then ends the machines below dir.
func reap(life io.Reader, dir string) {
	_, _ = io.Copy(io.Discard, life) // any end is the end
	for range 500 {
		left := machines(dir)
		for _, pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if len(left) == 0 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	_ = os.RemoveAll(dir)
}

// machines are the processes that have a folder below dir for their temporary files.
func machines(dir string) []int {
	var pids []int
	mark := "\x00TMPDIR=" + dir + string(filepath.Separator)
	entries, _ := os.ReadDir("/proc") // elsewhere than on Linux there is none, and the kernel ends less
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		env, err := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		if err == nil && strings.Contains("\x00"+string(env), mark) {
			pids = append(pids, pid)
		}
	}
	return pids
}
