package fakehub

import (
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seer-engine/seer/engine/enginetest/faults"
)

// Hub is a fake Hub. It is safe for concurrent use.
type Hub struct {
	options Options
	signer  signer
	limiter limiter
	xets    *xetStore
	hosts   map[Host]*server
	closed  chan struct{}
	work    sync.WaitGroup

	mu       sync.Mutex
	repos    map[string]*repo  // by [Repo.Name]
	renamed  map[string]string // old name → new name
	blobs    map[string]*file  // by SHA-256
	tokens   map[string]grant  // of the Xet storage
	faults   faults.List[Fault]
	requests []*Request
}

type server struct {
	url  string
	http *http.Server
}

// New starts a hub. Close ends it.
func New(o Options) (*Hub, error) {
	o.setDefaults()
	h := &Hub{
		options: o, signer: signer{[]byte(random34()), o.Clock.Now, o.URLLife}, xets: newXetStore(o.XorbSize), hosts: map[Host]*server{}, closed: make(chan struct{}),
		repos: map[string]*repo{}, renamed: map[string]string{}, blobs: map[string]*file{}, tokens: map[string]grant{},
		limiter: limiter{limits: o.Limits, now: o.Clock.Now, windows: map[string]*window{}},
	}
	for _, r := range o.Repos {
		if err := h.Add(r); err != nil {
			return nil, err
		}
	}
	for host, handler := range map[Host]func(*request) error{API: h.serveAPI, CDN: h.serveCDN, XetStorage: storage{h}.serve} {
		if err := h.listen(host, handler); err != nil {
			h.Close()
			return nil, err
		}
	}
	return h, nil
}

func (h *Hub) listen(host Host, handler func(*request) error) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	address := l.Addr().String()
	if h.options.Via != nil {
		if address, err = h.options.Via(address); err != nil {
			return errors.Join(err, l.Close())
		}
	}
	s := &server{"http://" + address, &http.Server{Handler: h.handler(host, handler), ReadHeaderTimeout: 10 * time.Second}}
	h.hosts[host] = s
	h.work.Go(func() { _ = s.http.Serve(l) }) // until Close
	return nil
}

// Close ends all requests. It returns when nothing of the hub runs any more.
func (h *Hub) Close() {
	h.mu.Lock()
	select {
	case <-h.closed:
	default:
		close(h.closed)
	}
	h.mu.Unlock()
	for _, s := range h.hosts {
		_ = s.http.Close()
	}
	h.work.Wait()
}

// URL is where a host is: that of the API is a value for HF_ENDPOINT.
func (h *Hub) URL(host Host) string { return h.hosts[host].url }

// Env are the variables that lead the official clients here, and to no other place.
func (h *Hub) Env() map[string]string {
	return map[string]string{"HF_ENDPOINT": h.URL(API), "HF_TOKEN": h.Token(), "HF_HUB_DISABLE_TELEMETRY": "1"}
}

// Token is a token of a user: that of the first one in the order of the users' names.
func (h *Hub) Token() string {
	tokens := slices.SortedFunc(maps.Keys(h.options.Users), func(a, b string) int { return strings.Compare(h.options.Users[a], h.options.Users[b]) })
	return tokens[0]
}

// Add adds a repository. It computes the hashes of all contents.
func (h *Hub) Add(r Repo) error {
	state, err := h.newRepo(r)
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.repos[r.Name()] != nil {
		return fmt.Errorf("repository %s is there twice", r.Name())
	}
	h.repos[r.Name()] = state
	h.index(state)
	return nil
}

func (h *Hub) index(r *repo) {
	for _, c := range r.commits {
		for _, f := range c.files {
			if f.kind != Git {
				h.blobs[f.sha256] = f
			}
		}
	}
}

// Push adds a commit to a repository and moves a branch to it. An empty branch is main.
func (h *Hub) Push(name, branch string, c Commit) (sha string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.repos[name]
	if r == nil {
		return "", fmt.Errorf("there is no repository %s", name)
	}
	if err := h.addCommit(r, c); err != nil {
		return "", err
	}
	if branch == "" {
		branch = "main"
	}
	r.Branches[branch] = len(r.commits) - 1
	h.index(r)
	return r.commits[len(r.commits)-1].sha, nil
}

// Change changes who may see a repository or fetch from it: Private, Gated, Disabled, Readers
// and Info. Other changes have no effect.
func (h *Hub) Change(name string, change func(*Repo)) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.repos[name]
	if r == nil {
		return fmt.Errorf("there is no repository %s", name)
	}
	changed := r.Repo
	change(&changed)
	r.Private, r.Gated, r.Disabled, r.Readers, r.Info = changed.Private, changed.Gated, changed.Disabled, changed.Readers, changed.Info
	return nil
}

// Rename gives a repository another ID, org/name. Requests for the old one are redirected.
func (h *Hub) Rename(name, id string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.repos[name]
	if r == nil {
		return fmt.Errorf("there is no repository %s", name)
	}
	delete(h.repos, name)
	r.ID = id
	h.repos[r.Name()] = r
	h.renamed[name] = r.Name()
	delete(h.renamed, r.Name())
	return nil
}

// Commit is the SHA of the commit that a revision of a repository names; empty = there is none.
func (h *Hub) Commit(name, revision string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r := h.repos[name]; r != nil {
		if c := r.at(revision); c != nil {
			return c.sha
		}
	}
	return ""
}

func (h *Hub) now() time.Time { return h.options.Clock.Now() }

func random34() string { return (rand.Text() + rand.Text())[:34] }
