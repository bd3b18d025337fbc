package fakehub

import (
	"net/http"
	"path"
	"strconv"
	"time"

	"github.com/seer-engine/seer/engine/enginetest/faults"
)

// Fault is something that goes wrong with requests. One that has only Do changes the answer
// only by what Do does.
type Fault struct {
	Call   Call   // empty = every one
	Method string // empty = every one
	Path   string // pattern of path.Match, for the path with its escapes; empty = every one
	Skip   int    // how many requests pass first
	Times  int    // how many requests it hits; 0 = all, until it is removed

	Do func() // called first, as a request comes; it may change the hub

	Status     int           // what is answered: 429, 500, 503 …
	Reset      time.Duration // with Status 429: until the limit ends; default a second
	RetryAfter int           // seconds, in the header of that name; 0 = no header
	Drop       bool          // the connection is cut without an answer
	Expired    bool          // the signed URL is refused as one that has expired

	IgnoreRange bool   // the whole body is sent, with 200
	NoRange     bool   // a request that names a range is answered with 416
	Short       int64  // the content seems to have only so many bytes; 0 = it has all
	Redirect    string // one of resolve: Absolute or Relative; empty = as the Hub does
	Lie         bool   // of a xorb: the first chunk has another content, and is well-formed

	After int64           // bytes of the body that pass first
	Cut   bool            // the connection is cut after them
	Stall <-chan struct{} // nothing more is sent until it is closed, or the client goes
	Flip  bool            // a bit of the next byte is flipped
}

// The forms of redirects that a [Fault] may ask for.
const (
	Absolute = "absolute" // also where the Hub's are relative, to the same host
	Relative = "relative" // also for large files, which then come from the API's host, as from a mirror
)

// Inject adds a fault. The first that fits a request and is not used up is the one. The
// function removes it.
func (h *Hub) Inject(f Fault) (remove func()) {
	return h.faults.Inject(f, faults.Count{Skip: f.Skip, Times: f.Times})
}

// ClearFaults removes every fault.
func (h *Hub) ClearFaults() { h.faults.Clear() }

// pick finds the fault of a request; the zero Fault changes nothing.
func (h *Hub) pick(r *request) Fault {
	found, _ := h.faults.Pick(func(f Fault) bool { return f.fits(r) })
	return found
}

func (f Fault) fits(r *request) bool {
	if f.Call != "" && f.Call != r.kind || f.Method != "" && f.Method != r.Method {
		return false
	}
	fits, err := path.Match(f.Path, r.URL.EscapedPath())
	return f.Path == "" || err == nil && fits
}

// answer does what the fault does instead of an answer, if it does.
func (f Fault) answer(r *request) (done bool) {
	switch {
	case f.Drop:
		panic(http.ErrAbortHandler)
	case f.Expired:
		r.fail(errExpired)
		return true
	case f.Status == 0:
		return false
	}
	if f.RetryAfter > 0 {
		r.w.Header().Set("Retry-After", strconv.Itoa(f.RetryAfter))
	}
	message := http.StatusText(f.Status)
	if f.Status == http.StatusTooManyRequests {
		bucket := "api"
		if r.kind == Resolve || r.kind == ResolveCache {
			bucket = "resolvers"
		}
		setLimit(r.w.Header(), bucket, 0, 0, max(f.Reset, time.Second))
		message = errTooMany.message
	}
	r.fail(&problem{f.Status, "", message})
	return true
}
