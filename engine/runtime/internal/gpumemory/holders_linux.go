package gpumemory

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// use is a process's use of the GPU.
type use struct {
	device  string // path of an open node of the driver; empty = none
	library bool   // the process has loaded libcuda
}

// useOf reads the use of a process from /proc. It is empty for a process that has ended.
func useOf(pid int, devices string) use {
	var u use
	dir := fmt.Sprintf("/proc/%d", pid)
	files, _ := filepath.Glob(dir + "/fd/*")
	for _, file := range files {
		if target, err := os.Readlink(file); err == nil && strings.HasPrefix(target, devices) {
			u.device = target
			break
		}
	}
	maps, _ := os.ReadFile(dir + "/maps")
	u.library = bytes.Contains(maps, []byte("/libcuda.so"))
	return u
}
