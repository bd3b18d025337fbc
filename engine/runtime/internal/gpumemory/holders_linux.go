package gpumemory

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// use is what a process has of the GPU.
type use struct {
	device  string // a node of the driver that it has open; empty = none
	library bool   // it has loaded the library of CUDA
}

// useOf reads it from /proc: all of it is empty of a process that has ended.
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
