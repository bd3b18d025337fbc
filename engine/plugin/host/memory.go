package host

import (
	"bytes"
	"sync"

	"github.com/tetratelabs/wazero/experimental"
)

// memory is all that an instance can read and write. It is held while the guest
// runs, and released where it waits, so that it can be searched.
type memory struct {
	running sync.Mutex

	mu     sync.Mutex
	blocks []*block
}

func (m *memory) hold()    { m.running.Lock() }
func (m *memory) release() { m.running.Unlock() }

// spareMemory is what a memory can grow by, in bytes, before all of it is copied: about what a
// guest in Go needs beyond its start.
const spareMemory = 2 << 20

// Allocate implements [experimental.MemoryAllocator].
func (m *memory) Allocate(size, limit uint64) experimental.LinearMemory {
	b := &block{limit: limit, bytes: make([]byte, 0, min(limit, size+spareMemory))}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.blocks = append(m.blocks, b)
	return b
}

// holds searches the memory, when the guest does not run.
func (m *memory) holds(needle []byte) bool {
	m.hold()
	defer m.release()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, b := range m.blocks {
		if bytes.Contains(b.bytes, needle) {
			return true
		}
	}
	return false
}

// full reports whether a memory has nearly reached its limit. Some languages' runtimes
// stop without a word when they get no more.
func (m *memory) full() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, b := range m.blocks {
		if uint64(len(b.bytes)) > b.limit-b.limit/8 {
			return true
		}
	}
	return false
}

// size is how much has been taken, when the guest does not run.
func (m *memory) size() int64 {
	m.hold()
	defer m.release()
	m.mu.Lock()
	defer m.mu.Unlock()
	n := int64(0)
	for _, b := range m.blocks {
		n += int64(len(b.bytes))
	}
	return n
}

// block is one linear memory.
type block struct {
	limit uint64
	bytes []byte
}

// Reallocate implements [experimental.LinearMemory].
func (b *block) Reallocate(size uint64) []byte {
	if size > b.limit {
		return nil
	}
	if grown := int64(size) - int64(len(b.bytes)); grown > 0 {
		b.bytes = append(b.bytes, make([]byte, grown)...)
	}
	b.bytes = b.bytes[:size]
	return b.bytes
}

// Free implements [experimental.LinearMemory].
func (b *block) Free() { b.bytes = nil }

// Holds reports whether the memory of any live instance of any plugin holds the
// bytes. It waits until calls in progress wait or end. It is for tests and for
// finding out whether a credential reached a plugin.
func (h *Host) Holds(needle []byte) bool {
	for _, m := range h.modules() {
		for _, inst := range m.instances() {
			if inst.memory.holds(needle) {
				return true
			}
		}
	}
	return false
}

// Memory is how many bytes of memory the live instances of all plugins have taken: a
// memory never shrinks, so it is their high-water mark. Like [Host.Holds] it waits until
// calls in progress wait or end.
func (h *Host) Memory() int64 {
	n := int64(0)
	for _, m := range h.modules() {
		for _, inst := range m.instances() {
			n += inst.memory.size()
		}
	}
	return n
}

// modules are those that are loaded.
func (h *Host) modules() []*module {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []*module
	for _, l := range h.loaded {
		select {
		case <-l.done:
			if l.module != nil {
				out = append(out, l.module)
			}
		default:
		}
	}
	return out
}
