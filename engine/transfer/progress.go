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
	lastTime time.Time
	lastCame int64
}

func newMeter(tell func(Progress), c clock, total int64) *meter {
	return &meter{tell: tell, clock: c, total: total, tick: make(chan struct{}, 1), quit: make(chan struct{}), lastTime: c.Now()}
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
	p := Progress{Done: max(0, min(m.done.Load(), m.total)), Total: m.total, Rate: m.rate}
	if m.rate > 0 {
		p.Left = time.Duration(float64(p.Total-p.Done) / m.rate * float64(time.Second))
	}
	return p
}
