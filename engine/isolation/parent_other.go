//go:build !linux

package isolation

import "syscall"

// dieWithParent needs Linux.
func dieWithParent() *syscall.SysProcAttr { return nil }
