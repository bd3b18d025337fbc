package run

// maxEnding is how much of an output is enough for a traceback.
const maxEnding = 64 << 10

// ending keeps the last of what is written to it.
type ending struct{ data []byte }

func (e *ending) Write(p []byte) (int, error) {
	e.data = append(e.data, p[max(0, len(p)-maxEnding):]...)
	e.data = e.data[max(0, len(e.data)-maxEnding):]
	return len(p), nil
}

func (e *ending) String() string { return string(e.data) }
