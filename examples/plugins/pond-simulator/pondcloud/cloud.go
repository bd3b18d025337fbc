// Package pondcloud is a fake Pond, the small cloud that API.md describes. Its
// machines are processes of this computer in which Seer's real runtime boots.
package pondcloud

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/seer-engine/seer/engine/enginetest/container"
)

// Options change a [Cloud]. The zero value is a cloud in which everything happens at
// once, in a folder of its own.
type Options struct {
	Key      string        // accepted as the bearer key; "*" = every one; default "pond-key"
	Dir      string        // of the machines' files; default a temporary one
	Prices   []Price       // default [DefaultPrices]
	Queue    time.Duration // from renting until there is room
	Boot     time.Duration // from then until the machine is up
	Requests int           // a minute; default 120
	Faults   []Fault       // of every request that comes with the right key
	Python   string        // for machines; default $SEER_PYTHON or python3
	Output   io.Writer     // of the machines' programs; nil = dropped
	Dry      bool          // machines run nothing: of several that listen at one port, a computer has room for one
}

// Price is something to be rented.
type Price struct {
	Size     string  `json:"size"`
	GPU      string  `json:"gpu"`
	CPUs     float64 `json:"cpus"`
	MemoryGB float64 `json:"memory_gb"`
	Region   string  `json:"region"`
	Hourly   float64 `json:"usd_per_hour"`
	Free     int     `json:"free"`
}

// DefaultPrices are those of a Pond that nobody has configured.
func DefaultPrices() []Price {
	return []Price{
		{Size: "puddle", CPUs: 2, MemoryGB: 4, Region: "north", Hourly: 0.06, Free: 5},
		{Size: "pool", CPUs: 8, MemoryGB: 32, Region: "north", Hourly: 0.48, Free: 2},
		{Size: "lagoon", GPU: "NVIDIA L4", CPUs: 8, MemoryGB: 32, Region: "north", Hourly: 0.90, Free: 1},
		{Size: "lake", GPU: "NVIDIA H100 SXM5 80GB", CPUs: 24, MemoryGB: 200, Region: "south", Hourly: 3.10, Free: 1},
	}
}

// Machine is what has been rented, as the API shows it.
type Machine struct {
	ID      string  `json:"id"`
	Key     string  `json:"key"`
	Owner   string  `json:"owner"`
	Size    string  `json:"size"`
	State   string  `json:"state"`
	Queue   float64 `json:"queue_seconds"`
	URL     string  `json:"url"`
	Port    int     `json:"port"`
	Hourly  float64 `json:"usd_per_hour"`
	EndUnix int64   `json:"end_unix"`
	Reason  string  `json:"reason"`

	Command []string          `json:"-"` // what it was rented for
	Env     map[string]string `json:"-"`
}

// Bill is what everything has cost so far, and what is being billed now.
type Bill struct {
	USD     float64  `json:"usd"`
	Seconds float64  `json:"seconds"`
	Billing []string `json:"billing"`
}

// The states of a machine.
const (
	queued  = "queued"
	booting = "booting"
	up      = "up"
	ended   = "ended"
	failed  = "failed"
)

// kept is how long a machine is shown after its end.
const kept = time.Hour

// Cloud is a Pond, an [http.Handler]. It is safe for concurrent use.
type Cloud struct {
	o       Options
	dir     string
	ours    bool // dir is to be removed
	workers sync.WaitGroup

	mu       sync.Mutex
	machines []*machine // oldest first
	rented   int
	window   time.Time // of the requests of this minute
	requests int
	asked    map[int]int // how often each fault has been asked for
	closed   bool
}

// machine is one that is or was there. The cloud's mutex guards it.
type machine struct {
	Machine
	request string // what it was rented with
	began   time.Time
	billed  time.Time // since when; zero = not yet
	over    time.Time // zero = it lives
	room    time.Time // when its turn comes
	end     chan struct{}
	box     *container.Container
}

// New starts a cloud without machines.
func New(o Options) (*Cloud, error) {
	o.Key, o.Requests = cmp.Or(o.Key, "pond-key"), cmp.Or(o.Requests, 120)
	if o.Prices == nil {
		o.Prices = DefaultPrices()
	}
	for _, f := range o.Faults {
		if err := f.check(); err != nil {
			return nil, err
		}
	}
	c := &Cloud{o: o, dir: o.Dir, asked: map[int]int{}}
	if c.dir == "" {
		var err error
		if c.dir, err = os.MkdirTemp("", "pond-"); err != nil {
			return nil, err
		}
		c.ours = true
	}
	return c, nil
}

// Close ends every machine, and returns when nothing is left of them.
func (c *Cloud) Close() error {
	c.mu.Lock()
	c.closed = true
	for _, m := range c.machines {
		c.finish(m, ended, "Pond was closed")
	}
	c.mu.Unlock()
	c.workers.Wait()
	if c.ours {
		return os.RemoveAll(c.dir)
	}
	return nil
}

// Machines are those that the API would show.
func (c *Cloud) Machines() []Machine {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.list("")
}

// Bill is what the API would say.
func (c *Cloud) Bill() Bill {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := Bill{Billing: []string{}}
	for _, m := range c.machines {
		if m.billed.IsZero() {
			continue
		}
		until := m.over
		if until.IsZero() {
			until = time.Now()
			b.Billing = append(b.Billing, m.ID)
		}
		seconds := until.Sub(m.billed).Seconds()
		b.Seconds += seconds
		b.USD += seconds * m.Hourly / 3600
	}
	return b
}

// SellOut rents out all that is free, to nobody, until restore is called.
func (c *Cloud) SellOut() (restore func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	prices := c.o.Prices
	c.o.Prices = slices.Clone(prices)
	for i := range c.o.Prices {
		c.o.Prices[i].Free = 0
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.o.Prices = prices
	}
}

// Break lets a machine fail, as one whose hardware dies.
func (c *Cloud) Break(id string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.find(id)
	if m == nil {
		return fmt.Errorf("there is no machine %s", id)
	}
	c.finish(m, failed, "its hardware broke")
	return nil
}

func (c *Cloud) find(id string) *machine {
	at := slices.IndexFunc(c.machines, func(m *machine) bool { return m.ID == id && m.shown() })
	if at < 0 {
		return nil
	}
	return c.machines[at]
}

func (c *Cloud) list(owner string) []Machine {
	all := []Machine{}
	for _, m := range c.machines {
		if m.shown() && (owner == "" || m.Owner == owner) {
			all = append(all, m.view())
		}
	}
	return all
}

func (m *machine) shown() bool { return m.over.IsZero() || time.Since(m.over) < kept }

func (m *machine) view() Machine {
	v := m.Machine
	if m.State == queued {
		v.Queue = max(time.Until(m.room).Seconds(), 0)
	}
	if m.State == up && m.box != nil {
		v.URL = "http://" + m.box.Address(m.Port)
	} else if m.State == up {
		v.URL = fmt.Sprintf("http://127.0.0.1:%d", m.Port)
	}
	return v
}

var errClosed = errors.New("the cloud has been closed")
