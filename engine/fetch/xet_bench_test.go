package fetch_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/enginetest/fakehub"
	"github.com/seer-engine/seer/engine/fetch"
	"github.com/seer-engine/seer/engine/fetch/xetplan"
	"github.com/seer-engine/seer/sdk"
)

// link is a line of a rate, in bytes per second, and a delay before each answer. All
// connections share it.
type link struct {
	rate  float64
	delay time.Duration

	mu   sync.Mutex
	free time.Time
}

func (l *link) client() *http.Client {
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, address)
		return &shaped{Conn: c, link: l}, err
	}
	return &http.Client{Transport: &http.Transport{DialContext: dial}}
}

// burst is how long the line may rest and make up for it: sleeps are not exact.
const burst = 50 * time.Millisecond

type shaped struct {
	net.Conn
	link  *link
	asked bool
}

func (c *shaped) Write(b []byte) (int, error) {
	c.asked = true
	return c.Conn.Write(b)
}

func (c *shaped) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b[:min(len(b), 32<<10)])
	c.link.mu.Lock()
	now := time.Now()
	if start := now.Add(-burst); c.link.free.Before(start) {
		c.link.free = start
	}
	c.link.free = c.link.free.Add(time.Duration(float64(n) / c.link.rate * float64(time.Second)))
	wait := c.link.free.Sub(now)
	c.link.mu.Unlock()
	if c.asked {
		c.asked, wait = false, wait+c.link.delay
	}
	time.Sleep(wait)
	return n, err
}

// forced locates files in the storage, whatever that saves.
type forced struct {
	*hubFetcher
	planner xetplan.Planner
}

func (f *forced) Locate(ctx context.Context, r sdk.FileRef) (sdk.Location, error) {
	at, err := f.hubFetcher.Locate(ctx, r)
	if err != nil {
		return at, err
	}
	_, file, _ := f.entry(r.Revision)
	rec, err := f.planner.Plan(ctx, at.Xet, file.Size)
	if err != nil {
		return at, err
	}
	return xetplan.Location(rec)
}

// BenchmarkXet compares the ways to a file on a line of 400 Mbit/s with a round trip of
// 50 ms: plain HTTPS, always Xet, and the rule.
func BenchmarkXet(b *testing.B) {
	const size = 96 << 20
	random := make([]byte, size)
	_, _ = io.ReadFull(io.NewSectionReader(fakehub.Random(size, 5), 0, size), random)
	half := bytes.Clone(random)
	for i := range half { // about what the exponents of 16-bit weights leave
		if i>>18&3 == 0 {
			half[i] &= 0x03
		}
	}
	changed := bytes.Clone(random)
	copy(changed[40<<20:], "another layer")
	for _, content := range []struct {
		name         string
		before, data []byte
	}{{"random", nil, random}, {"compressible", nil, half}, {"another revision", random, changed}} {
		first := content.data
		if content.before != nil {
			first = content.before
		}
		f := xetHub(b, fakehub.Options{XorbSize: 64 << 20}, first)
		if content.before != nil {
			if _, err := f.hub.Push("org/xet", "next", fakehub.Commit{Files: map[string]fakehub.File{xetFile: {Content: fakehub.Bytes(content.data), Kind: fakehub.Xet}}}); err != nil {
				b.Fatal(err)
			}
		}
		for _, way := range []string{"plain", "xet", "rule"} {
			b.Run(content.name+"/"+way, func(b *testing.B) {
				for b.Loop() {
					b.StopTimer()
					cache, revision := b.TempDir(), ""
					o := fetch.Options{CacheDir: filepath.Join(cache, "own"), HubCache: filepath.Join(cache, "hub")}
					ref := sdk.ModelRef{Source: "hub", Name: "org/xet"}
					f.no = way == "plain"
					if content.before != nil {
						if _, err := fetch.Fetch(b.Context(), f, ref, o); err != nil {
							b.Fatal(err)
						}
						revision = "next"
					}
					var by sdk.Fetcher = f
					if way == "xet" {
						x := &forced{hubFetcher: f}
						x.planner.Ask = func(ctx context.Context, url string) (int, []byte, error) { return fetch.Get(ctx, nil, url) }
						by = x
					}
					o.Client = (&link{rate: 50e6, delay: 50 * time.Millisecond}).client()
					ref.Revision = revision
					f.hub.ForgetRequests()
					b.StartTimer()
					if _, err := fetch.Fetch(b.Context(), by, ref, o); err != nil {
						b.Fatal(err)
					}
					sent := f.hub.Count(fakehub.CDN).Bytes + f.hub.Count(fakehub.XetStorage).Bytes
					b.ReportMetric(float64(sent)/1e6, "MB-sent")
				}
			})
		}
	}
}
