package fakerunpod

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strconv"
	"time"

	"github.com/seer-engine/seer/engine/enginetest/faults"
)

// Fault is something that goes wrong with requests to the API. One that has only a
// Latency delays, and the request is then answered as ever.
type Fault struct {
	Method string `json:"method,omitempty"` // empty = every one
	Path   string `json:"path,omitempty"`   // pattern of path.Match; empty = every one
	Times  int    `json:"times,omitempty"`  // how many requests it hits; 0 = all, until it is removed
	Skip   int    `json:"skip,omitempty"`   // how many of them pass first

	Latency    time.Duration `json:"latency,omitempty"`
	After      bool          `json:"after,omitempty"`       // the request takes effect, and then its answer goes wrong
	Later      time.Duration `json:"later,omitempty"`       // with After, by the clock: the effect comes so long after the answer
	Status     int           `json:"status,omitempty"`      // what is answered: 500, 503, 429 …
	Detail     string        `json:"detail,omitempty"`      // of the answer; default: RunPod's for "something went wrong"
	RetryAfter int           `json:"retry_after,omitempty"` // seconds
	Redirect   string        `json:"redirect,omitempty"`    // an origin: 307 to the same path there
	Drop       bool          `json:"drop,omitempty"`        // the connection is cut without an answer
}

// Behaviour is how the cloud treats pods and answers, until it is set again.
type Behaviour struct {
	StuckProvisioning bool          `json:"stuck_provisioning,omitempty"` // new pods never leave PROVISIONING
	DieStarting       bool          `json:"die_starting,omitempty"`       // new pods become ERROR while STARTING
	NoCapacity        bool          `json:"no_capacity,omitempty"`        // nothing can be rented, whatever the catalogue says
	DeadProxy         bool          `json:"dead_proxy,omitempty"`         // the proxy answers 502 for every pod
	ListDelay         time.Duration `json:"list_delay,omitempty"`         // by the clock, until a new pod is in the list
	PageSize          int           `json:"page_size,omitempty"`          // of the list of pods; 0 = it has no pages
	UnknownFields     bool          `json:"unknown_fields,omitempty"`     // every object in an answer has more fields than are known
}

// Inject adds a fault. It hits after those that were added before; the first that
// fits a request is the one. The function removes it.
func (c *Cloud) Inject(f Fault) (remove func()) {
	return c.faults.Inject(f, faults.Count{Skip: f.Skip, Times: f.Times})
}

// ClearFaults removes every fault and sets the usual behaviour.
func (c *Cloud) ClearFaults() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.behaviour = Behaviour{}
	c.faults.Clear()
}

// SetBehaviour changes how the cloud behaves from now on.
func (c *Cloud) SetBehaviour(b Behaviour) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.behaviour = b
}

func (c *Cloud) behaving() Behaviour {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.behaviour
}

// fault finds what goes wrong with a request, and waits for its latency.
func (c *Cloud) fault(r *http.Request) *Fault {
	f := c.pick(r)
	if f != nil && f.Latency > 0 {
		wait(r.Context(), f.Latency)
	}
	return f
}

func (c *Cloud) pick(r *http.Request) *Fault {
	found, ok := c.faults.Pick(func(f Fault) bool { return f.fits(r) })
	if !ok {
		return nil
	}
	return &found
}

func (f Fault) fits(r *http.Request) bool {
	if f.Method != "" && f.Method != r.Method {
		return false
	}
	fits, err := path.Match(f.Path, r.URL.Path)
	return f.Path == "" || err == nil && fits
}

// effect is a request that was answered before it has its effect.
type effect struct {
	at  time.Time
	run func()
}

// defers keeps a request for later. Its caller gets the fault's answer now.
func (c *Cloud) defers(r *request, pattern string, after time.Duration) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // it never came through
	}
	late := &request{Request: r.Clone(c.ctx), w: httptest.NewRecorder(), params: r.params}
	late.Body = io.NopCloser(bytes.NewReader(body))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.effects = append(c.effects, effect{c.now().Add(after), func() { _, _ = c.handle(late, pattern) }})
}

// due gives the effects their time, before anybody looks.
func (c *Cloud) due() {
	c.mu.Lock()
	var now []effect
	c.effects = slices.DeleteFunc(c.effects, func(e effect) bool {
		if c.now().Before(e.at) {
			return false
		}
		now = append(now, e)
		return true
	})
	c.mu.Unlock()
	for _, e := range now {
		e.run()
	}
}

func (f Fault) fails() bool { return f.Status != 0 || f.Redirect != "" || f.Drop }

func (f Fault) answer(w http.ResponseWriter, r *http.Request) {
	switch {
	case f.Drop:
		panic(http.ErrAbortHandler)
	case f.Redirect != "":
		w.Header().Set("Location", f.Redirect+r.URL.RequestURI())
		w.WriteHeader(cmp.Or(f.Status, http.StatusTemporaryRedirect))
		return
	case f.RetryAfter > 0:
		w.Header().Set("Retry-After", strconv.Itoa(f.RetryAfter))
	}
	writeProblem(w, problemf(f.Status, "%s", cmp.Or(f.Detail, somethingFell)))
}

// addUnknown puts a field into every object but the maps that are the user's.
func addUnknown(data []byte) ([]byte, error) {
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		return nil, err
	}
	addFields(v)
	return json.Marshal(v)
}

func addFields(v any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			addFields(e)
		}
	case map[string]any:
		for name, e := range v {
			if name != "env" {
				addFields(e)
			}
		}
		v["notYetInvented"] = map[string]any{"depth": 1, "of": []any{"a", nil}}
	}
}
