package transfer

import (
	"bytes"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seer-engine/seer/internal/testkit"
)

// block keeps the files of the tests small.
const block = 256 << 10

// content is n bytes that are the same for each test.
func content(name string, n int) []byte {
	seed := sha256.Sum256([]byte(name))
	data := make([]byte, n)
	_, _ = rand.NewChaCha8(seed).Read(data)
	return data
}

// origin is a server of files. Its faults are of the test.
type origin struct {
	*httptest.Server
	files    map[string][]byte
	requests atomic.Int64
	sent     atomic.Int64 // bytes of files
	running  atomic.Int64
	most     atomic.Int64 // requests at once

	mu sync.Mutex
	// fault may answer instead; it reports whether it has. n counts the requests of this server.
	fault func(w http.ResponseWriter, r *http.Request, n int64) bool
	over  func(sent int64) // hears how many bytes have been sent
}

func newOrigin(t *testing.T, files map[string][]byte) *origin {
	t.Helper()
	o := &origin{files: files}
	o.Server = httptest.NewServer(o)
	t.Cleanup(o.Close)
	return o
}

func (o *origin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := o.requests.Add(1)
	now := o.running.Add(1)
	defer o.running.Add(-1)
	for most := o.most.Load(); now > most && !o.most.CompareAndSwap(most, now); most = o.most.Load() {
	}
	if r.Header.Get("Accept-Encoding") != "identity" {
		http.Error(w, "compression was offered", http.StatusTeapot)
		return
	}
	o.mu.Lock()
	fault := o.fault
	o.mu.Unlock()
	if fault != nil && fault(w, r, n) {
		return
	}
	o.serve(w, r)
}

func (o *origin) serve(w http.ResponseWriter, r *http.Request) {
	data, ok := o.files[strings.TrimPrefix(r.URL.Path, "/")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	o.mu.Lock()
	over := o.over
	o.mu.Unlock()
	if over == nil {
		over = func(int64) {}
	}
	http.ServeContent(&counting{w, &o.sent, over}, r, "", time.Time{}, bytes.NewReader(data))
}

type counting struct {
	http.ResponseWriter
	sent *atomic.Int64
	over func(int64)
}

func (c *counting) Write(b []byte) (int, error) {
	n, err := c.ResponseWriter.Write(b)
	c.over(c.sent.Add(int64(n)))
	return n, err
}

// file is a file of the plan that this server has.
func (o *origin) file(name string) File {
	data := o.files[name]
	sum := sha256.Sum256(data)
	return File{Path: name, Size: int64(len(data)), SHA256: hex.EncodeToString(sum[:]), Source: Whole(o.URL+"/"+name, map[string]string{"Authorization": "Bearer secret", "X-Key": "secret"}, int64(len(data)))}
}

func gitFile(f File, data []byte) File {
	sum := sha1.Sum(append(fmt.Appendf(nil, "blob %d\x00", len(data)), data...))
	f.SHA256, f.GitSHA1 = "", hex.EncodeToString(sum[:])
	return f
}

// fakeClock is a clock on which pauses take no time. Timers of stalls and of the progress
// fire when the test says so.
type fakeClock struct {
	mu     sync.Mutex
	now    time.Time
	slept  []time.Duration
	timers map[*fakeTimer]bool
}

const fakeStall = 77 * time.Second

func newClock() *fakeClock {
	return &fakeClock{now: time.Unix(1e9, 0), timers: map[*fakeTimer]bool{}}
}

func (c *fakeClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(time.Microsecond) // so that things happen one after the other
	return c.now
}

func (c *fakeClock) AfterFunc(d time.Duration, f func()) timer {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &fakeTimer{clock: c, d: d, f: f}
	if d == fakeStall || d == progressEvery {
		c.timers[t] = true
	} else {
		c.slept = append(c.slept, d)
		c.now = c.now.Add(d)
		go f()
	}
	return t
}

// longest is the longest pause so far.
func (c *fakeClock) longest() (d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.slept {
		d = max(d, s)
	}
	return d
}

// fire has all timers of that duration fire.
func (c *fakeClock) fire(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	for t := range c.timers {
		if t.d == d {
			delete(c.timers, t)
			go t.f()
		}
	}
}

type fakeTimer struct {
	clock *fakeClock
	d     time.Duration
	f     func()
}

func (t *fakeTimer) Reset(time.Duration) bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	was := t.clock.timers[t]
	t.clock.timers[t] = true
	return was
}

func (t *fakeTimer) Stop() bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	was := t.clock.timers[t]
	delete(t.clock.timers, t)
	return was
}

func options(dir string) Options {
	return Options{Dir: dir, Stall: fakeStall, clock: newClock(), block: block}
}

func get(t *testing.T, dir string, files ...File) error {
	t.Helper()
	return Download(context.Background(), files, options(dir))
}

// wantFiles compares a folder with what it should hold, and nothing else.
func wantFiles(t *testing.T, dir string, files map[string][]byte) {
	t.Helper()
	for name, data := range files {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s: %d bytes of %d, %v", name, len(got), len(data), err)
		}
	}
	for _, name := range testkit.Files(t, dir) {
		if _, ok := files[name]; !ok {
			t.Errorf("%s is left", name)
		}
	}
}
