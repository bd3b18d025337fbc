package fakerunpod

import (
	"context"
	"crypto/rand"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/seer-engine/seer/engine/enginetest/faults"
)

// Cloud is one account at a fake RunPod. It is safe for concurrent use.
type Cloud struct {
	options Options
	bodies  schemas
	routes  map[string]map[string]handler
	api     *server
	proxy   *server
	pool    *http.Transport // to the pods
	ownDir  bool

	ctx  context.Context // of everything that goes on in the background
	stop context.CancelFunc
	work sync.WaitGroup

	mu         sync.Mutex
	keys       map[string]bool // true = good, false = revoked
	limits     limits
	stock      stock
	credit     bool
	pods       []*pod // all that ever were
	volumes    []*volume
	templates  []*template
	registries []*registry
	sshKeys    []string
	behaviour  Behaviour
	faults     faults.List[Fault]
	effects    []effect // of requests that were answered before
	requests   map[string]int
}

type server struct {
	listener net.Listener
	http     *http.Server
}

// New starts a cloud. Close ends it.
func New(o Options) (*Cloud, error) {
	o.setDefaults()
	bodies, err := newSchemas()
	if err != nil {
		return nil, err
	}
	c := &Cloud{
		options: o, bodies: bodies, routes: routes(), pool: newPool(), keys: map[string]bool{}, limits: newLimits(o.Limits),
		stock: stock{}, credit: true, requests: map[string]int{}, sshKeys: []string{},
	}
	for _, k := range o.Keys {
		c.keys[k] = true
	}
	c.fillStock()
	if err := c.makeDir(); err != nil {
		return nil, err
	}
	c.ctx, c.stop = context.WithCancel(context.Background())
	if err := c.listen(); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (c *Cloud) makeDir() (err error) {
	if c.options.Dir == "" {
		c.ownDir = true
		c.options.Dir, err = os.MkdirTemp("", "fakerunpod-")
		return err
	}
	if c.options.Dir, err = filepath.Abs(c.options.Dir); err != nil {
		return err
	}
	return os.MkdirAll(c.options.Dir, 0o755)
}

func (c *Cloud) listen() (err error) {
	if c.api, err = serve(c.options.Addr, http.HandlerFunc(c.serveAPI)); err != nil {
		return err
	}
	c.proxy, err = serve(c.options.ProxyAddr, http.HandlerFunc(c.serveProxy))
	return err
}

func serve(addr string, h http.Handler) (*server, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	if a, ok := l.Addr().(*net.TCPAddr); !ok || !a.IP.IsLoopback() {
		_ = l.Close()
		return nil, fmt.Errorf("%s is not an address of this computer alone; use 127.0.0.1", addr)
	}
	s := &server{l, &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}}
	go func() { _ = s.http.Serve(l) }() // until Close
	return s, nil
}

// Close ends every pod and forgets everything. It returns when no process of the
// pods is left.
func (c *Cloud) Close() {
	c.mu.Lock()
	c.stop() // from here on, nothing begins
	c.mu.Unlock()
	for _, s := range []*server{c.api, c.proxy} {
		if s != nil {
			_ = s.http.Close()
		}
	}
	c.work.Wait()
	c.pool.CloseIdleConnections()
	if c.ownDir {
		_ = os.RemoveAll(c.options.Dir)
	}
}

// URL is where the API is, without /v2: a value for RUNPOD_API_BASE_URL.
func (c *Cloud) URL() string { return "http://" + c.api.listener.Addr().String() }

// ProxyURL is the form of the pods' addresses. {pod} stands for the id of a pod and
// {port} for one of its http ports.
func (c *Cloud) ProxyURL() string {
	return "http://" + c.proxy.listener.Addr().String() + "/{pod}-{port}"
}

// Env are the variables that lead a client here instead of to RunPod.
func (c *Cloud) Env() map[string]string {
	return map[string]string{
		"RUNPOD_API_KEY":      c.options.Keys[0],
		"RUNPOD_API_BASE_URL": c.URL(),
		"RUNPOD_PROXY_URL":    c.ProxyURL(),
	}
}

// Stock sets how many of a GPU, or of a CPU flavour, are free in a data centre; an
// empty dataCenter means each of them.
func (c *Cloud) Stock(resource, dataCenter string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, dc := range c.options.DataCenters {
		if dataCenter == "" || dataCenter == dc.ID {
			c.stock[place{resource, dc.ID}] = n
		}
	}
}

func (c *Cloud) fillStock() {
	n := max(0, c.options.StockEach)
	for _, g := range c.options.GPUs {
		c.Stock(g.ID, "", n)
	}
	for _, p := range c.options.CPUs {
		c.Stock(p.ID, "", n)
	}
}

// SetCredit says whether the account has money. When it has none, pods with a network
// volume are stopped, the others terminated, and nothing can be rented.
func (c *Cloud) SetCredit(has bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.credit = has
	if has {
		return
	}
	for _, p := range c.pods {
		switch {
		case !p.bills():
		case p.volume != nil:
			c.halt(p, exited)
		default:
			c.terminate(p)
		}
	}
}

// SetKey makes an API key good or, as a revoked one, bad.
func (c *Cloud) SetKey(key string, good bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keys[key] = good
}

// Requests counts what was asked of the API so far: "GET /v2/pods/{id}" → 3.
func (c *Cloud) Requests() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := map[string]int{}
	for k, n := range c.requests {
		out[k] = n
	}
	return out
}

func (c *Cloud) now() time.Time { return c.options.Clock.Now().UTC() }

func (c *Cloud) gpu(id string) (GPU, bool) {
	return first(c.options.GPUs, func(g GPU) bool { return g.ID == id })
}

func (c *Cloud) cpu(id string) (CPU, bool) {
	return first(c.options.CPUs, func(p CPU) bool { return p.ID == id })
}

func (c *Cloud) dataCenter(id string) (DataCenter, bool) {
	return first(c.options.DataCenters, func(d DataCenter) bool { return d.ID == id })
}

// first gives the first thing that is wanted.
func first[T any](things []T, wanted func(T) bool) (found T, ok bool) {
	if i := slices.IndexFunc(things, wanted); i >= 0 {
		return things[i], true
	}
	return found, false
}

// one gives the thing that is wanted, or the error of a request for what there is not.
func one[T any](things []T, what string, wanted func(T) bool) (T, error) {
	found, ok := first(things, wanted)
	if !ok {
		return found, notFound(what)
	}
	return found, nil
}

// copies are what an answer lists. It is written when the cloud is no longer locked.
func copies[T any](things []*T) []T {
	all := make([]T, len(things))
	for i, thing := range things {
		all[i] = *thing
	}
	return all
}

// random is a string of n lower-case letters and digits that begins with a letter.
func random(n int) string {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789"
	out := make([]byte, n)
	for i := range out {
		from := len(letters)
		if i == 0 {
			from = 26
		}
		k, err := rand.Int(rand.Reader, big.NewInt(int64(from)))
		if err != nil {
			panic(err) // crypto/rand never fails
		}
		out[i] = letters[k.Int64()]
	}
	return string(out)
}

func newID() string  { return random(14) }
func newKey() string { return "rpa_" + random(36) }
func newHex() string { return fmt.Sprintf("%08x", rand.Text()[:4]) }
