package local

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
