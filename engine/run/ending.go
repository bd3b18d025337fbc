package run

import "sync"

// maxEnding is how much of an output is enough for a traceback.
const maxEnding = 64 << 10

// ending keeps the last of what is written to it, by any number of writers.
type ending struct {
	mu   sync.Mutex
	data []byte
}

func (e *ending) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.data = append(e.data, p[max(0, len(p)-maxEnding):]...)
	e.data = e.data[max(0, len(e.data)-maxEnding):]
	return len(p), nil
}

func (e *ending) String() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return string(e.data)
}
