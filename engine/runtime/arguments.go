package runtime

import (
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
)

const (
	keepArguments = 10 * time.Minute
	maxArguments  = 1000 // calls at once
	maxOfOne      = 100  // of them, for a token other than main
)

// arguments are those of calls that are to be made, as they arrive in pieces.
type arguments struct {
	mu    sync.Mutex
	table map[string]*pieces
}

type pieces struct {
	mu   sync.Mutex
	f    *os.File // without a name
	have int64
	last time.Time
}

func argumentsKey(service, token, id string) string { return service + "\x00" + token + "\x00" + id }

// obtain returns the pieces of a call, made if there is a folder.
func (a *arguments) obtain(key, dir string) (*pieces, error) {
	owner := key[:strings.LastIndexByte(key, 0)+1]
	a.mu.Lock()
	defer a.mu.Unlock()
	if p := a.table[key]; p != nil || dir == "" {
		return p, nil
	}
	if len(a.table) >= maxArguments {
		return nil, protocol.Errorf(protocol.Unavailable, "the arguments of %d calls are on their way already; try again later", maxArguments)
	}
	if a.of(owner) >= maxOfOne && !strings.HasSuffix(owner, "\x00"+protocol.MainToken+"\x00") {
		return nil, protocol.Errorf(protocol.Unavailable, "the arguments of %d calls of this token are on their way already; make these first", maxOfOne)
	}
	f, err := os.CreateTemp(dir, "arguments-*")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(f.Name()) // at the latest with the folder
	p := &pieces{f: f, last: time.Now()}
	if a.table == nil {
		a.table = map[string]*pieces{}
	}
	a.table[key] = p
	return p, nil
}

// of counts what is there of a service and a token.
func (a *arguments) of(owner string) int {
	n := 0
	for key := range a.table {
		if strings.HasPrefix(key, owner) {
			n++
		}
	}
	return n
}

func (a *arguments) drop(key string) {
	a.mu.Lock()
	p := a.table[key]
	delete(a.table, key)
	a.mu.Unlock()
	if p != nil {
		p.f.Close()
	}
}

// tidy forgets what nobody has sent more of, or used, for long.
func (a *arguments) tidy(now time.Time) {
	a.mu.Lock()
	var old []string
	for key, p := range a.table {
		if p.mu.TryLock() {
			if now.Sub(p.last) > keepArguments {
				old = append(old, key)
			}
			p.mu.Unlock()
		}
	}
	a.mu.Unlock()
	for _, key := range old {
		a.drop(key)
	}
}

func (a *arguments) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, p := range a.table {
		p.f.Close()
	}
	a.table = nil
}

// take writes a piece as far as it arrives, and reports how much is there.
func (p *pieces) take(offset int64, r io.Reader) (int64, error) {
	buf := make([]byte, 64<<10)
	for {
		n, err := r.Read(buf)
		p.mu.Lock()
		p.last = time.Now()
		if n > 0 && offset <= p.have {
			if offset+int64(n) > protocol.MaxFrameBody {
				p.mu.Unlock()
				return p.have, protocol.Errorf(protocol.Invalid, "the arguments have more than the %d bytes allowed", int64(protocol.MaxFrameBody))
			}
			werr := fits(p.f, n)
			if werr == nil {
				_, werr = p.f.WriteAt(buf[:n], offset)
			}
			if werr != nil {
				p.mu.Unlock()
				return p.have, werr
			}
			offset += int64(n)
			p.have = max(p.have, offset)
		}
		have := p.have
		p.mu.Unlock()
		if err != nil { // a piece that broke off counts as far as it came
			return have, nil
		}
	}
}

// postArguments takes a piece of the arguments of a call.
func (s *Server) postArguments(w http.ResponseWriter, r *http.Request) error {
	v, err := s.services.get(r.PathValue("service"))
	if err != nil {
		return err
	}
	id := r.PathValue("id")
	if err := checkCallID(id); err != nil {
		return err
	}
	offset, err := queryInt(r.URL.Query(), "offset")
	if err != nil {
		return err
	}
	dir := s.scratch
	if r.ContentLength == 0 {
		dir = "" // it only asks
	}
	p, err := s.arguments.obtain(argumentsKey(v.name, callerOf(r).owner(), id), dir)
	if err != nil {
		return err
	}
	have := int64(0)
	if p != nil {
		if have, err = p.take(offset, r.Body); err != nil {
			return err
		}
	}
	return writeJSON(w, http.StatusOK, map[string]int64{"offset": have})
}

// sentBefore are arguments that have arrived in pieces.
func (s *Server) sentBefore(r *http.Request, v *service, h *protocol.FrameHeader, text string) (*store, error) {
	size, err := strconv.ParseInt(text, 10, 64)
	if err != nil || size < 0 {
		return nil, protocol.Errorf(protocol.Invalid, "%s: %q is not a number of bytes", headerArguments, text)
	}
	p, err := s.arguments.obtain(argumentsKey(v.name, callerOf(r).owner(), h.ID), "")
	if err != nil {
		return nil, err
	}
	if p == nil {
		return nil, protocol.Errorf(protocol.Conflict, "nothing of the %d bytes of the call's arguments is here", size)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.have != size {
		return nil, protocol.Errorf(protocol.Conflict, "%d of the %d bytes of the call's arguments are here", p.have, size)
	}
	p.last = time.Now()
	f, err := again(p.f)
	if err != nil {
		return nil, err
	}
	args := &store{f: f, size: size}
	if err := beside(args, r.Header.Get("Content-Type"), h); err != nil {
		args.close()
		return nil, err
	}
	return args, nil
}
