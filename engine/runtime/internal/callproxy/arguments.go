package callproxy

import (
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/internal/osfile"
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
	quota quota
}

type pieces struct {
	mu    sync.Mutex
	f     *os.File // without a name
	quota *quota
	owner string
	have  int64
	gone  bool // what still arrives is of nobody
	calls int  // that read them
	last  time.Time
}

func argumentsKey(service, token, id string) string { return argumentsOwner(service, token) + id }

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
	if a.of(owner) >= maxOfOne && !isMain(owner) {
		return nil, protocol.Errorf(protocol.Unavailable, "the arguments of %d calls of this token are on their way already; make these first", maxOfOne)
	}
	f, err := osfile.Unnamed(dir, "arguments-*")
	if err != nil {
		return nil, err
	}
	p := &pieces{f: f, quota: &a.quota, owner: owner, last: time.Now()}
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
		p.close()
	}
}

// dropOwner forgets what a token has sent that has been revoked, or all of a service.
func (a *arguments) dropOwner(owner string) {
	a.mu.Lock()
	var keys []string
	for key := range a.table {
		if strings.HasPrefix(key, owner) {
			keys = append(keys, key)
		}
	}
	a.mu.Unlock()
	for _, key := range keys {
		a.drop(key)
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
		p.close()
	}
	a.table = nil
}

func (p *pieces) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.gone {
		p.gone = true
		p.f.Close()
		p.free()
	}
}

// leave says that a call reads them no more.
func (p *pieces) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls--
	p.free()
}

// free gives their bytes back to the quota once nobody holds the file.
func (p *pieces) free() {
	if p.gone && p.calls == 0 {
		p.quota.shrink(p.owner, p.have)
	}
}

// take writes a piece as far as it arrives, and reports how much is there.
func (p *pieces) take(offset int64, r io.Reader) (int64, error) {
	buf := make([]byte, 64<<10)
	for {
		n, err := r.Read(buf)
		have, werr := p.write(buf[:n], offset)
		if werr != nil {
			return have, werr
		}
		offset += int64(n)
		if err != nil { // a piece that broke off counts as far as it came
			return have, nil
		}
	}
}

// write takes bytes that begin no later than what is there ends, and passes others over.
func (p *pieces) write(data []byte, offset int64) (int64, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = time.Now()
	end := offset + int64(len(data))
	switch {
	case p.gone:
		return 0, protocol.Errorf(protocol.Unavailable, "the arguments were given up while they arrived; send them again")
	case len(data) == 0 || offset > p.have:
		return p.have, nil
	case end > protocol.MaxFrameBody:
		return p.have, protocol.Errorf(protocol.Invalid, "the arguments have more than the %d bytes allowed", int64(protocol.MaxFrameBody))
	}
	more := max(end-p.have, 0)
	if err := p.quota.grow(p.owner, more); err != nil {
		return p.have, err
	}
	err := fits(p.f, len(data))
	if err == nil {
		_, err = p.f.WriteAt(data, offset)
	}
	if err != nil {
		p.quota.shrink(p.owner, more)
		return p.have, err
	}
	p.have += more
	return p.have, nil
}

// read gives a call all the bytes, if there are as many as it says.
func (p *pieces) read(size int64) (*store, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone || p.have != size {
		return nil, protocol.Errorf(protocol.Conflict, "%d of the %d bytes of the call's arguments are here", p.have, size)
	}
	p.last = time.Now()
	f, err := osfile.Duplicate(p.f)
	if err != nil {
		return nil, err
	}
	p.calls++
	return &store{f: f, size: size, done: sync.OnceFunc(p.leave)}, nil
}
