package transfer

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// pull simulates a host at which each connection gets at most each bytes per second, and
// all of them at most all, and returns the limit after that time.
func pull(h *host, c *fakeClock, each, all float64, d time.Duration) int {
	const step = 100 * time.Millisecond
	for end := c.Now().Add(d); c.Now().Before(end); {
		h.received(int64(min(each*float64(h.connections()), all) * step.Seconds()))
		c.mu.Lock()
		c.now = c.now.Add(step)
		c.mu.Unlock()
	}
	return h.connections()
}

// busy is a host at which more want a connection than there can be.
func busy(t *testing.T, c *fakeClock) *host {
	h := newHost(c, firstConnections)
	ctx, cancel := context.WithCancel(context.Background())
	gone := make(chan error)
	for range maxPerHost + 8 {
		go func() { gone <- h.acquire(ctx) }()
	}
	t.Cleanup(func() {
		cancel()
		for range maxPerHost + 8 {
			<-gone
		}
	})
	for h.queued() != maxPerHost+8-firstConnections {
		time.Sleep(time.Millisecond)
	}
	return h
}

func (h *host) queued() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.waiting)
}

func TestSmallFilesBeginWithAllConnections(t *testing.T) {
	for name, tc := range map[string]struct {
		sizes []int64
		want  int
	}{
		"small files":                 {[]int64{4 << 10, 0, 100 << 10}, maxPerHost},
		"one large file":              {[]int64{1 << 30}, firstConnections},
		"a model with its tokenizer":  {[]int64{5 << 30, 4 << 10, 2 << 20}, firstConnections},
		"as large as small files are": {[]int64{smallFiles, smallFiles}, firstConnections},
	} {
		var files []File
		for _, size := range tc.sizes {
			files = append(files, File{Size: size})
		}
		if got := connectionsFor(files); got != tc.want {
			t.Errorf("%s: %d connections, want %d", name, got, tc.want)
		}
	}
}

func TestConnectionsGrowWhileTheyPay(t *testing.T) {
	for name, tc := range map[string]struct {
		each, all float64
		least     int
		most      int
	}{
		"each brings more":   {1e6, 1e9, maxPerHost, maxPerHost},
		"two fill the line":  {1e6, 2e6, firstConnections, firstConnections},
		"nine fill the line": {1e6, 9e6, 8, 12},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClock()
			if got := pull(busy(t, c), c, tc.each, tc.all, 9*time.Second); got < tc.least || got > tc.most {
				t.Errorf("%d connections, want %d to %d", got, tc.least, tc.most)
			}
		})
	}
}

func TestConnectionsShrinkOnFaults(t *testing.T) {
	c := newClock()
	h := busy(t, c)
	pull(h, c, 1e6, 1e9, 9*time.Second)
	began := c.Now()
	for range maxPerHost { // which ran together
		h.failure(began, 0)
	}
	if got := h.connections(); got != maxPerHost/2 {
		t.Errorf("%d connections after a fault", got)
	}
	for range 9 {
		h.failure(c.Now(), 0)
	}
	if got := h.connections(); got != 1 {
		t.Errorf("%d connections after many faults", got)
	}
}

func TestTurnsAreNotLost(t *testing.T) {
	h := newHost(newClock(), firstConnections)
	for range firstConnections {
		if err := h.acquire(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	gone := make(chan error, 1)
	go func() { gone <- h.acquire(ctx) }()
	for h.queued() == 0 {
		time.Sleep(time.Millisecond)
	}
	if rand.N(2) == 0 { // the turn may come before or after the end
		h.release()
		cancel()
	} else {
		cancel()
		h.release()
	}
	if err := <-gone; err == nil {
		h.release()
	} else if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if err := h.acquire(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// TestRanges compares with a set of single bytes.
func TestRanges(t *testing.T) {
	const size = 40
	for range 2000 {
		var r ranges
		var set [size]bool
		for range 12 {
			s := span{rand.Int64N(size), 0}
			s.end = s.start + rand.Int64N(size-s.start+1)
			if adds := rand.N(3) > 0; adds {
				r.add(s)
				mark(set[s.start:s.end], true)
			} else {
				r.remove(s)
				mark(set[s.start:s.end], false)
			}
		}
		var got [size]bool
		for i, s := range r {
			if s.size() <= 0 || i > 0 && r[i-1].end >= s.start {
				t.Fatalf("not in order: %v", r)
			}
			mark(got[s.start:s.end], true)
		}
		if got != set {
			t.Fatalf("%v is not %v", r, set)
		}
		var filled ranges
		for _, gap := range append(r.missing(span{0, size}), r...) {
			filled.add(gap)
		}
		if filled.prefix() != size || filled.bytes() != size {
			t.Fatalf("%v and its gaps are %v", r, filled)
		}
	}
}

func mark(bytes []bool, to bool) {
	for i := range bytes {
		bytes[i] = to
	}
}

// TestProgress counts how often a caller is told, and what.
func TestProgress(t *testing.T) {
	c := newClock()
	told := make(chan Progress, 10)
	m := newMeter(func(p Progress) { told <- p }, c, 1000)
	m.start()
	m.found(200)
	m.arrived(100)
	m.arrived(100)
	for len(c.pending()) == 0 {
		time.Sleep(time.Millisecond)
	}
	c.fire(progressEvery)
	p := <-told
	if p.Done != 400 || p.Total != 1000 || p.Rate < 1900 || p.Rate > 2100 || p.Left < 280*time.Millisecond || p.Left > 320*time.Millisecond {
		t.Errorf("after a tenth of a second: %+v", p)
	}
	m.arrived(600)
	m.stop()
	if p := <-told; p.Done != 1000 || p.Left != 0 || p.Came != 800 || p.Took < progressEvery || len(told) != 0 {
		t.Errorf("at the end: %+v, and %d more", p, len(told))
	}
}

func (c *fakeClock) pending() []*fakeTimer {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []*fakeTimer
	for t := range c.timers {
		all = append(all, t)
	}
	return all
}

// TestMemoryIsBounded takes more buffers than there are.
func TestMemoryIsBounded(t *testing.T) {
	p := newPool()
	var taken [][]byte
	for range buffers {
		b, err := p.get(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		taken = append(taken, b)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := p.get(ctx); !errors.Is(err, context.Canceled) || buffers*bufferSize > 64<<20 {
		t.Errorf("%d buffers of %d bytes, and then %v", buffers, bufferSize, err)
	}
	p.put(taken[0])
	if _, err := p.get(context.Background()); err != nil {
		t.Error(err)
	}
}

// TestSidecarStaysSmall records so much that the file is written anew.
func TestSidecarStaysSmall(t *testing.T) {
	path, f := filepath.Join(t.TempDir(), "f.incomplete.ranges"), File{Path: "f", Size: 1 << 40}
	s := newSidecar(path, f)
	var there ranges
	for i := range int64(5_000) {
		there.add(span{1 << 30, 1<<30 + 8 + 8*i})
		there.add(span{1<<20 + 1000*(i%50), 1<<20 + 1000*(i%50) + 10}) // gaps that stay
		if err := s.record(there); err != nil {
			t.Fatal(err)
		}
	}
	s.close()
	info, err := os.Stat(path)
	if err != nil || info.Size() > compactAt+1000 {
		t.Errorf("%d bytes, %v", info.Size(), err)
	}
	again := newSidecar(path, f)
	if err := again.load(); err != nil || !slices.Equal(again.recorded, there) || len(there) != 51 {
		t.Errorf("%d ranges are read, want %d: %v", len(again.recorded), len(there), err)
	}
}
