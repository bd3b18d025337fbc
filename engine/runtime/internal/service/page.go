package service

import (
	"os"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

const pageSize = 64

// page is the memory in which a worker counts the calls of all clients:
// calls on a handed-over connection never pass through the runtime.
type page struct{ data []byte }

// mapPage makes the memory of a file visible. The file may be closed afterwards.
func mapPage(f *os.File) (*page, error) {
	if info, err := f.Stat(); err != nil || info.Size() < pageSize {
		return nil, os.ErrInvalid // reading beyond a file's end would end this program
	}
	data, err := syscall.Mmap(int(f.Fd()), 0, pageSize, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, os.NewSyscallError("mmap", err)
	}
	return &page{data}, nil
}

func (p *page) word(i int) uint64 {
	return atomic.LoadUint64((*uint64)(unsafe.Pointer(&p.data[8*i])))
}

// busy reports whether a call is queued or running. A worker that has died in the
// middle of one is not asked.
func (p *page) busy() bool { return p.word(0) > p.word(1) }

// lastUse is when a call last began or ended.
func (p *page) lastUse() time.Time { return time.Unix(0, int64(p.word(2))) }
