package fetch

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// httpClient is c with our rule for redirects.
func httpClient(c *http.Client) *http.Client {
	if c == nil {
		c = &http.Client{}
	}
	own := *c
	own.CheckRedirect = checkRedirect
	return &own
}

// checkRedirect keeps what the fetcher gave for one host from going to another:
// net/http does so for Authorization, but not for other headers.
func checkRedirect(req *http.Request, via []*http.Request) error {
	first := via[0]
	switch {
	case len(via) >= 10:
		return errors.New("more than 10 redirects")
	case first.URL.Scheme == "https" && req.URL.Scheme != "https":
		return fmt.Errorf("redirect from https to %s", req.URL.Scheme)
	case req.URL.Scheme != "http" && req.URL.Scheme != "https":
		return fmt.Errorf("redirect to %s", req.URL.Scheme)
	case req.URL.Host != first.URL.Host:
		kept := http.Header{}
		for _, name := range []string{"Range", "Accept-Encoding"} {
			if v := first.Header.Get(name); v != "" {
				kept.Set(name, v)
			}
		}
		req.Header = kept
	}
	return nil
}

// withoutURL drops the address that net/http puts into its errors.
func withoutURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// meter tells of every read.
type meter struct {
	r    io.Reader
	seen func(n int)
}

func (m *meter) Read(b []byte) (int, error) {
	n, err := m.r.Read(b)
	if n > 0 {
		m.seen(n)
	}
	return n, err
}

// progress adds up what parallel downloads report.
type progress struct {
	tell  func(done, total int64)
	total int64

	mu   sync.Mutex
	done int64
	last time.Time
}

const progressEvery = 100 * time.Millisecond

func newProgress(tell func(done, total int64), total int64) *progress {
	return &progress{tell: tell, total: total}
}

func (p *progress) add(n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done += n
	if p.tell != nil && time.Since(p.last) >= progressEvery {
		p.last = time.Now()
		p.tell(max(0, min(p.done, p.total)), p.total)
	}
}

func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tell != nil {
		p.tell(p.total, p.total)
	}
}

func freeBytes(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, fmt.Errorf("free space of %s: %w", dir, err)
	}
	free := st.Bavail * uint64(st.Bsize)
	return int64(min(free, math.MaxInt64)), nil
}
