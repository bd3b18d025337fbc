package transfer

import (
	"sync"
	"sync/atomic"
	"time"
)

// Progress says how far a download is.
type Progress struct {
	Done, Total int64         // bytes of all files
	Rate        float64       // bytes per second, over the last seconds; 0 = not known yet
	Left        time.Duration // until the end at that rate; 0 = not known

	Came int64         // bytes that came over the network in this call
	Took time.Duration // since the call began
}

// LeftOf is how long so many bytes take at the rate; 0 = not known.
func (p Progress) LeftOf(bytes int64) time.Duration {
	if p.Rate <= 0 {
		return 0
	}
	return time.Duration(float64(bytes) / p.Rate * float64(time.Second))
}

const (
	progressEvery = 100 * time.Millisecond
	rateMemory    = 5 * time.Second // how long a change of the rate takes to show
)

// meter adds up what arrives, and tells it from one goroutine.
type meter struct {
	tell  func(Progress)
	clock clock
	total int64
	done  atomic.Int64
	came  atomic.Int64 // in this run

	tick chan struct{}
	quit chan struct{}
	gone sync.WaitGroup

	rate     float64
	began    time.Time
	lastTime time.Time
	lastCame int64
}

func newMeter(tell func(Progress), c clock, total int64) *meter {
	now := c.Now()
	return &meter{tell: tell, clock: c, total: total, tick: make(chan struct{}, 1), quit: make(chan struct{}), began: now, lastTime: now}
}

// found counts bytes that were there already; fewer if they are to be fetched again.
func (m *meter) found(n int64) { m.done.Add(n) }

func (m *meter) arrived(n int64) {
	m.done.Add(n)
	m.came.Add(n)
}

// start tells ten times a second until stop.
func (m *meter) start() {
	if m.tell == nil {
		return
	}
	m.gone.Go(func() {
		t := m.clock.AfterFunc(progressEvery, m.due)
		defer t.Stop()
		for {
			select {
			case <-m.quit:
				m.tell(m.read())
				return
			case <-m.tick:
				m.tell(m.read())
				t.Reset(progressEvery)
			}
		}
	})
}

func (m *meter) due() {
	select {
	case m.tick <- struct{}{}:
	default:
	}
}

// stop tells the last state.
func (m *meter) stop() {
	close(m.quit)
	m.gone.Wait()
}

func (m *meter) read() Progress {
	now, came := m.clock.Now(), m.came.Load()
	if passed := now.Sub(m.lastTime); passed > 0 {
		rate := float64(came-m.lastCame) / passed.Seconds()
		weight := min(1, passed.Seconds()/rateMemory.Seconds())
		if m.rate == 0 {
			weight = 1
		}
		m.rate += weight * (rate - m.rate)
		m.lastTime, m.lastCame = now, came
	}
	p := Progress{Done: max(0, min(m.done.Load(), m.total)), Total: m.total, Rate: m.rate, Came: came, Took: now.Sub(m.began)}
	p.Left = p.LeftOf(p.Total - p.Done)
	return p
}
