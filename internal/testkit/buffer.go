package testkit

import (
	"bytes"
	"sync"
)

// Buffer is written and read by several goroutines. Its zero value is empty.
type Buffer struct {
	mu   sync.Mutex
	data bytes.Buffer
}

// Write adds to the buffer.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.data.Write(p)
}

// String returns what was written until now.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.data.String()
}
