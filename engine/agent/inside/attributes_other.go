//go:build !linux

package inside

import "syscall"

// attributes are empty: Seer confines agents only on Linux.
func attributes() *syscall.SysProcAttr { return nil }
