package isolation

import "syscall"

// dieWithParent lets the kernel kill a command whose starter has gone; what the
// command itself started is not reached.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
