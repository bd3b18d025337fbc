// Package proc finds processes of this computer, such as those of its machines, and ends them. It
// tells a process apart from a later one that was given the same number.
package proc

import (
	"os"
	"strings"
)

// Process is one run of a process.
type Process struct {
	PID   int    `json:"pid"`
	Start string `json:"start"`
}

// Alive reports whether exactly this process still runs.
func Alive(p Process) bool {
	if p.PID == 0 {
		return false
	}
	start, ok := StartOf(p.PID)
	return ok && start == p.Start
}

// Eldest is the process that was started first: the number of a child is nearly
// always higher, and any other of them will do just as well.
func Eldest(list []Process) Process {
	best := list[0]
	for _, p := range list[1:] {
		if p.PID < best.PID {
			best = p
		}
	}
	return best
}

// Living are those of the list that still run.
func Living(list []Process) []Process {
	var out []Process
	for _, p := range list {
		if Alive(p) {
			out = append(out, p)
		}
	}
	return out
}

// MachineCookie is in the environment of everything that was started for a machine.
func MachineCookie(key string) string { return "SEER_MACHINE=" + key }

// NetProxyCookie is in the environment of its network proxy.
func NetProxyCookie(key string) string { return "SEER_GATE_OF=" + key }

// Carriers finds all living processes with the cookie, except this one, which may
// run inside without isolation.
func Carriers(cookie string) ([]Process, error) {
	return scan(func(pid int, _ map[int]int) bool { return pid != os.Getpid() && Carries(pid, cookie) })
}

// WorkingIn finds all living processes whose working folder is dir or below it, except this one. The
// error is [errors.ErrUnsupported] where the system does not tell.
func WorkingIn(dir string) ([]Process, error) {
	if _, err := workingFolder(os.Getpid()); err != nil {
		return nil, err
	}
	return scan(func(pid int, _ map[int]int) bool {
		folder, err := workingFolder(pid)
		return err == nil && pid != os.Getpid() && (folder == dir || strings.HasPrefix(folder, dir+"/"))
	})
}

// Below finds all living descendants of the process.
func Below(root int) ([]Process, error) {
	return scan(func(pid int, parents map[int]int) bool {
		if pid == os.Getpid() {
			return false
		}
		for n := 0; pid > 1 && n < 1<<16; n++ {
			if pid = parents[pid]; pid == root {
				return true
			}
		}
		return false
	})
}
