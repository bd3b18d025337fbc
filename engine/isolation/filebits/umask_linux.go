package filebits

import (
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strconv"
)

// umask is this process's. The system call that reads it also sets it, for all threads.
func umask() (fs.FileMode, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, fmt.Errorf("read the umask: %w", err)
	}
	found := regexp.MustCompile(`(?m)^Umask:\s*([0-7]+)$`).FindSubmatch(status)
	if found == nil {
		return 0, fmt.Errorf("read the umask: /proc/self/status does not have it")
	}
	mask, err := strconv.ParseUint(string(found[1]), 8, 32)
	return fs.FileMode(mask), err
}
