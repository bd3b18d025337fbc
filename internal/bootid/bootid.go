// Package bootid tells one start of this computer's system from another.
package bootid

import (
	"os"
	"strings"
)

// Read names the present start of the system in 32 hexadecimal digits. It is empty where
// the system has no such name, as everywhere but on Linux.
func Read() string {
	data, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.ReplaceAll(strings.TrimSpace(string(data)), "-", "")
}
