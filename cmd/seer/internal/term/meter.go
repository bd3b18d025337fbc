package term

import (
	"fmt"
	"io"
	"sync"
	"time"
)

const (
	meterBytes = 4 << 20 // from so much on, or
	meterAfter = 2 * time.Second
	meterEvery = 100 * time.Millisecond
)

// Meter shows how far a copying is, where that takes longer than to be seen and there is a
// terminal. Its methods may be called at any time.
type Meter struct {
	ui    *Terminal
	stage string
	what  string
	total int64 // 0 = nobody knows it

	mu          sync.Mutex
	begun, told time.Time
	bytes       int64
	shown, over bool
}

// NewMeter begins to measure a copying of total bytes; 0 = nobody knows how many.
func (t *Terminal) NewMeter(stage, what string, total int64) *Meter {
	return &Meter{ui: t, stage: stage, what: what, total: total, begun: time.Now()}
}

// Add counts n more bytes.
func (m *Meter) Add(n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.bytes += n
	now := time.Now()
	if m.over || m.ui.live == nil || now.Sub(m.told) < meterEvery {
		return
	}
	if !m.shown && m.total < meterBytes && m.bytes < meterBytes && now.Sub(m.begun) < meterAfter {
		return
	}
	if !m.shown {
		m.ui.live.show(m.stage, m.what)
	}
	m.shown, m.told = true, now
	m.ui.Moved(m.stage, m.bytes, m.total)
}

// End leaves one line of what was shown and has succeeded.
func (m *Meter) End(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.over = true; !m.shown {
		return
	}
	m.ui.live.hide()
	if err == nil {
		took := time.Since(m.begun)
		fmt.Fprintf(m.ui.Stderr(), "%s %s: %s in %.1f s%s\n", m.ui.done(), plainLine(m.what), Size(m.bytes), took.Seconds(), rate(m.bytes, took))
	}
}

// Reader is r, metered.
func (m *Meter) Reader(r io.Reader) io.Reader { return io.TeeReader(r, meterWriter{m, io.Discard}) }

// Writer is w, metered.
func (m *Meter) Writer(w io.Writer) io.Writer { return meterWriter{m, w} }

type meterWriter struct {
	m *Meter
	w io.Writer
}

func (w meterWriter) Write(p []byte) (int, error) {
	n, err := w.w.Write(p)
	w.m.Add(int64(n))
	return n, err
}
