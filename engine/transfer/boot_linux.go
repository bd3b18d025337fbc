package transfer

import (
	"os"
	"strings"
)

// bootID names the present start of the system; empty = it is not known.
func bootID() string {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.ReplaceAll(strings.TrimSpace(string(text)), "-", "")
}
