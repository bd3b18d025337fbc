//go:build !linux

package inside

import "syscall"

// attributes are none: agents are confined on Linux only.
func attributes() *syscall.SysProcAttr { return nil }
