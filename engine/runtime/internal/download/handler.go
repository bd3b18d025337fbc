package download

import (
	"net/http"
	"path/filepath"
	"reflect"
	"sync"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/runtime/internal/httpx"
	"github.com/seer-engine/seer/internal/lazyregexp"
)

// most is how many downloads are known at once.
const most = 100

var idForm = lazyregexp.New(`^[A-Za-z0-9_.-]{1,100}$`)

// Handler answers requests about downloads.
type Handler struct {
	own   string              // a private folder, for what has been verified
	path  func(string) string // where a path of a request really is
	begin func() func()       // counts a download as use of the machine until the function is called

	mu     sync.Mutex
	all    map[string]*download
	closed bool
}

// New makes the handler, which makes the folder own when it needs one.
func New(own string, path func(string) string, begin func() func()) *Handler {
	return &Handler{own: own, path: path, begin: begin, all: map[string]*download{}}
}

// Close ends all downloads.
func (h *Handler) Close() {
	h.mu.Lock()
	all := h.all
	h.all, h.closed = map[string]*download{}, true
	h.mu.Unlock()
	for _, d := range all {
		d.stop()
	}
}

// Put begins a download.
func (h *Handler) Put(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	var spec protocol.DownloadSpec
	if err := httpx.ReadJSON(r, &spec); err != nil {
		return err
	}
	switch {
	case !idForm().MatchString(id):
		return protocol.Errorf(protocol.Invalid, "%.100q is not a name of a download; use 1 to 100 letters, digits, _ . and -", id)
	case !filepath.IsAbs(spec.Dir):
		return protocol.Errorf(protocol.Invalid, "the folder %q of the download %s is not absolute", spec.Dir, id)
	case len(spec.Files) == 0:
		return protocol.Errorf(protocol.Invalid, "the download %s has no files", id)
	}
	if s := spec.Store; s != nil && !filepath.IsAbs(s.Dir) {
		return protocol.Errorf(protocol.Invalid, "the store %q of the download %s is not absolute", s.Dir, id)
	}
	for _, f := range spec.Files {
		if int64(len(f.Prefix)) > f.Size || len(f.Prefix) > 0 && spec.Store != nil {
			return protocol.Errorf(protocol.Invalid, "%q has a prefix that is longer than the file, or would change a store", f.Path)
		}
	}
	if err := h.put(id, spec); err != nil {
		return err
	}
	return httpx.WriteDone(w)
}

func (h *Handler) put(id string, spec protocol.DownloadSpec) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := h.all[id]
	if s := spec.Store; s != nil {
		real := *s
		real.Dir = h.path(s.Dir)
		spec.Store = &real
	}
	switch {
	case h.closed:
		return protocol.Errorf(protocol.Unavailable, "the machine ends")
	case before != nil && before.runs() && reflect.DeepEqual(before.spec, spec): // its answer was lost
		return nil
	case before != nil:
		before.stop()
	case len(h.all) >= most:
		return protocol.Errorf(protocol.Conflict, "the machine knows %d downloads; delete one", most)
	}
	h.all[id] = start(spec, h.path(spec.Dir), h.own, h.begin())
	return nil
}

func (d *download) runs() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.state == protocol.DownloadRunning
}

// Get says how far a download is.
func (h *Handler) Get(w http.ResponseWriter, r *http.Request) error {
	d, err := h.find(r)
	if err != nil {
		return err
	}
	q := httpx.QueryOf(r)
	ctx, cancel := q.Wait()
	defer cancel()
	if err := q.Err(); err != nil {
		return err
	}
	return httpx.WriteJSON(w, http.StatusOK, d.describe(ctx))
}

// PutLocation tells a download where a file is.
func (h *Handler) PutLocation(w http.ResponseWriter, r *http.Request) error {
	d, err := h.find(r)
	if err != nil {
		return err
	}
	var at protocol.DownloadLocation
	if err := httpx.ReadJSON(r, &at); err != nil {
		return err
	}
	d.locate(at)
	return httpx.WriteDone(w)
}

// Delete cancels a download and forgets it.
func (h *Handler) Delete(w http.ResponseWriter, r *http.Request) error {
	d, err := h.find(r)
	if err != nil {
		return err
	}
	h.mu.Lock()
	if h.all[r.PathValue("id")] == d {
		delete(h.all, r.PathValue("id"))
	}
	h.mu.Unlock()
	d.stop()
	return httpx.WriteDone(w)
}

func (h *Handler) find(r *http.Request) (*download, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if d := h.all[r.PathValue("id")]; d != nil {
		return d, nil
	}
	return nil, protocol.Errorf(protocol.NotFound, "there is no download %q", r.PathValue("id"))
}
