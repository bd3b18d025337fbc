// Package seccomp makes the system call filters of what is confined: an allow-list
// for bubblewrap, and a filter for gVisor's own processes on this computer.
package seccomp

import (
	"encoding/binary"
	"fmt"
	"sync"
	"unsafe"

	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Program is a filter as the kernel takes it.
type Program []bpf.RawInstruction

// Confined is the filter of a command in bubblewrap. With nested, the command may
// make namespaces and mount in them, as programs with a sandbox of their own do.
func Confined(nested bool) (Program, error) {
	if nested {
		return withNested()
	}
	return plain()
}

// They are always the same, and making one takes a part of a millisecond.
var (
	plain      = sync.OnceValues(func() (Program, error) { return makeConfined(false) })
	withNested = sync.OnceValues(func() (Program, error) { return makeConfined(true) })
)

func makeConfined(nested bool) (Program, error) {
	info, err := arch.GetInfo("")
	if err != nil {
		return nil, fmt.Errorf("make the system call filter: %w", err)
	}
	r, err := confined(info, nested)
	if err != nil {
		return nil, fmt.Errorf("make the system call filter: %w", err)
	}
	return r.compile(refuse(unix.EPERM))
}

// Gvisor is the filter of gVisor's own processes, whose system calls reach the files
// of this computer. gVisor brings an allow-list of its own, so this filter only
// refuses what no confined command may do.
func Gvisor() (Program, error) {
	info, err := arch.GetInfo("")
	if err != nil {
		return nil, fmt.Errorf("make gVisor's system call filter: %w", err)
	}
	return gvisor(info).compile(allow)
}

// Bytes is the program as bwrap --seccomp reads it: struct sock_filter, one after
// the other.
func (p Program) Bytes() []byte {
	out := make([]byte, 0, 8*len(p))
	for _, in := range p {
		out = binary.NativeEndian.AppendUint16(out, in.Op)
		out = append(out, in.Jt, in.Jf)
		out = binary.NativeEndian.AppendUint32(out, in.K)
	}
	return out
}

// Install puts the calling thread, and what it starts, under the filter for ever. The
// thread loses the right to gain privileges by executing files.
func (p Program) Install() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("install the system call filter: %w", err)
	}
	filter := make([]unix.SockFilter, len(p))
	for i, in := range p {
		filter[i] = unix.SockFilter{Code: in.Op, Jt: in.Jt, Jf: in.Jf, K: in.K}
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	_, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return fmt.Errorf("install the system call filter: %w; use a kernel with seccomp filters", errno)
	}
	return nil
}
