package local

import "os"

// alive reports whether exactly this process still runs.
func alive(p process) bool {
	if p.PID == 0 {
		return false
	}
	start, ok := startOf(p.PID)
	return ok && start == p.Start
}

// eldest is the process that was started first: the number of a child is nearly
// always higher, and any other of them will do just as well.
func eldest(list []process) process {
	best := list[0]
	for _, p := range list[1:] {
		if p.PID < best.PID {
			best = p
		}
	}
	return best
}

func living(list []process) []process {
	var out []process
	for _, p := range list {
		if alive(p) {
			out = append(out, p)
		}
	}
	return out
}

// The cookies tell what a process was started for.
func machineCookie(key string) string { return "SEER_MACHINE=" + key }
func gateCookie(key string) string    { return "SEER_GATE_OF=" + key }

// carriers finds all living processes with the cookie, except this one, which may
// run inside without isolation.
func carriers(cookie string) ([]process, error) {
	return scan(func(pid int, _ map[int]int) bool { return pid != os.Getpid() && carries(pid, cookie) })
}

// below finds all living descendants of the process.
func below(root int) ([]process, error) {
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
