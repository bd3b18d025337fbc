package trust

import "syscall"

// changed is the time of the last change, which nobody can set back.
func changed(st *syscall.Stat_t) syscall.Timespec { return st.Ctim }
