package runtime

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"sync"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/runtime/internal/auth"
	"github.com/seer-engine/seer/engine/runtime/internal/service"
)

// memory is what a runtime remembers beyond its own death. It lies in a file
// that only exists in memory and that the loader holds: it contains secrets.
//
// A runtime may be killed at any instant, so a new state is written beside the
// present one, and then one small write makes it the present one.
type memory struct {
	mu  sync.Mutex
	f   *os.File // nil = nothing is remembered
	at  int64    // where the present state is
	len int64
}

// savedState is what is remembered. Processes are not: they end with the
// runtime, and only the workers of services do not.
type savedState struct {
	Config      protocol.Config    `json:"config"`
	LeaseKind   protocol.LeaseKind `json:"lease_kind"`
	LeaseEnd    time.Time          `json:"lease_end"`
	LeaseIdle   time.Duration      `json:"lease_idle"`
	LastUse     time.Time          `json:"last_use"`
	StartedUnix int64              `json:"started_unix"`
	Scratch     string             `json:"scratch"`
	Services    []*service.Saved   `json:"services"`
	Sessions    []*auth.Session    `json:"sessions,omitempty"`
	Frozen      bool               `json:"frozen,omitempty"`
	OffGPU      []int              `json:"off_gpu,omitempty"` // processes that must be put back
}

const (
	memoryHead  = 24 // u64 place, u64 length, u32 sum of the state, u32 sum of the head
	memoryStart = 64
)

// is reports whether a file is the memory: a token that may read files must not read it.
func (m *memory) is(info os.FileInfo) bool {
	if m.f == nil {
		return false
	}
	own, err := m.f.Stat()
	return err == nil && os.SameFile(own, info)
}

func (m *memory) save(s savedState) error {
	if m.f == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	at := int64(memoryStart)
	if m.len > 0 && memoryStart+int64(len(data)) > m.at {
		at = m.at + m.len
	}
	if _, err := m.f.WriteAt(data, at); err != nil {
		return fmt.Errorf("remember the state of the runtime: %w", err)
	}
	head := binary.LittleEndian.AppendUint64(nil, uint64(at))
	head = binary.LittleEndian.AppendUint64(head, uint64(len(data)))
	head = binary.LittleEndian.AppendUint32(head, crc32.ChecksumIEEE(data))
	head = binary.LittleEndian.AppendUint32(head, crc32.ChecksumIEEE(head))
	if _, err := m.f.WriteAt(head, 0); err != nil {
		return fmt.Errorf("remember the state of the runtime: %w", err)
	}
	m.at, m.len = at, int64(len(data))
	return nil
}

// load reads what a runtime before this one remembered; false if there was none.
func (m *memory) load() (savedState, bool, error) {
	var s savedState
	if m.f == nil {
		return s, false, nil
	}
	info, err := m.f.Stat()
	if err != nil || info.Size() == 0 {
		return s, false, err
	}
	head := make([]byte, memoryHead)
	if _, err := m.f.ReadAt(head, 0); err != nil {
		return s, false, fmt.Errorf("the remembered state is damaged: %w", err)
	}
	if crc32.ChecksumIEEE(head[:20]) != binary.LittleEndian.Uint32(head[20:]) {
		if info.Size() > memoryStart && binary.LittleEndian.Uint64(head) == 0 {
			return s, false, nil // killed before the first state was whole
		}
		return s, false, fmt.Errorf("the remembered state is damaged: its head has a wrong sum")
	}
	at, n := int64(binary.LittleEndian.Uint64(head)), int64(binary.LittleEndian.Uint64(head[8:]))
	if at < memoryStart || n < 0 || at+n > info.Size() {
		return s, false, fmt.Errorf("the remembered state is damaged: it is shorter than its head says")
	}
	data := make([]byte, n)
	if _, err := m.f.ReadAt(data, at); err != nil {
		return s, false, err
	}
	if crc32.ChecksumIEEE(data) != binary.LittleEndian.Uint32(head[16:]) {
		return s, false, fmt.Errorf("the remembered state is damaged: it has a wrong sum")
	}
	m.at, m.len = at, n
	return s, true, json.Unmarshal(data, &s)
}
