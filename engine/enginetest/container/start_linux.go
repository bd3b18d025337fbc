package container

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// start makes the kernel end the container when this program dies. That follows the
// thread, so one is kept for as long as the container runs.
func start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			// Waits without reaping, which is Wait's.
			_ = unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		}
		runtime.UnlockOSThread()
	}()
	return <-started
}

// processes are the pids of everything in the container: the children of its first
// program, and what carries its folder in the environment.
func (c *Container) processes() []int {
	var pids []int
	mark := []byte("TMPDIR=" + filepath.Join(c.dir, "tmp") + "\x00")
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		env, err := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		if err == nil && bytes.Contains(append([]byte{0}, env...), append([]byte{0}, mark...)) {
			pids = append(pids, pid)
		}
	}
	return pids
}
