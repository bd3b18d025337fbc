package resumable

// ring is a queue of bytes that grows up to Window.
type ring struct {
	buf   []byte
	start int
	n     int
}

const (
	ringFirst = 4 << 10
	ringKept  = 64 << 10 // what an empty queue may keep allocated
)

func (r *ring) free() int { return Window - r.n }

// write appends as much of p as fits.
func (r *ring) write(p []byte) int {
	p = p[:min(len(p), r.free())]
	r.grow(r.n + len(p))
	for rest := p; len(rest) > 0; {
		end := (r.start + r.n) % len(r.buf)
		k := copy(r.buf[end:min(len(r.buf), end+len(r.buf)-r.n)], rest)
		r.n += k
		rest = rest[k:]
	}
	return len(p)
}

func (r *ring) grow(need int) {
	if need <= len(r.buf) {
		return
	}
	size := max(ringFirst, len(r.buf))
	for size < need {
		size *= 2
	}
	bigger := make([]byte, size)
	r.peek(0, bigger[:r.n])
	r.buf, r.start = bigger, 0
}

// peek copies bytes from an offset in the queue and leaves them there.
func (r *ring) peek(at int, p []byte) int {
	p = p[:min(len(p), r.n-at)]
	for rest := p; len(rest) > 0; {
		k := copy(rest, r.buf[(r.start+at)%len(r.buf):])
		at += k
		rest = rest[k:]
	}
	return len(p)
}

func (r *ring) discard(n int) {
	r.n -= n
	if r.n > 0 {
		r.start = (r.start + n) % len(r.buf)
		return
	}
	r.start = 0
	if len(r.buf) > ringKept {
		r.buf = nil
	}
}
