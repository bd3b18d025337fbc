package transfer

import "net/url"

// job is one request: for bytes of the file that one part of the source has, or, of Xet
// chunks, for all that one fetch has.
type job struct {
	span             // its end moves when another job takes the rest
	at         int64 // what comes before has arrived
	part       Part
	pieces     []piece // XetChunks: all parts of the fetch
	fetch      Fetch
	generation int   // of the source
	offset     int64 // where the first byte of the span is in the address
	whole      bool  // the server sends everything from the address's first byte on
	ranged     bool  // the request names a range
	alone      bool  // the address holds the file and nothing else
}

// nextHost is where the next job will ask.
func (f *file) nextHost(s Source) (*host, error) {
	f.mu.Lock()
	_, part, _ := s.partAt(f.claimed.gap(0, f.Size).start)
	address := f.address(part.Fetch, s.Fetches[part.Fetch])
	f.mu.Unlock()
	u, err := url.Parse(address)
	if err != nil {
		return nil, withoutURL(err)
	}
	return f.run.host(u), nil
}

// address is where a fetch is read: where its redirects have led to, once that is known.
// f.mu is held.
func (f *file) address(fetch int, of Fetch) string {
	if direct, ok := f.direct[fetch]; ok {
		return direct
	}
	return of.URL
}

// partAt is the part that holds a byte of the file, its number, and its first byte.
func (s Source) partAt(at int64) (n int, p Part, start int64) {
	for n, p = range s.Parts {
		if at < start+p.Length || n == len(s.Parts)-1 {
			return n, p, start
		}
		start += p.Length
	}
	return n, p, start
}

// free reports whether there is something to ask for. f.mu is held. Until a source has
// answered, there is one request: it may be refused, or be led elsewhere.
func (f *file) free() bool {
	if (f.whole || !f.known) && len(f.flights) > 0 {
		return false
	}
	return f.Size == 0 && !f.empty || f.claimed.gap(0, f.Size).size() > 0 || f.slowest(f.generation) != nil
}

// slowest is the request of a source that has most to bring, if that is worth dividing.
// f.mu is held.
func (f *file) slowest(generation int) (found *job) {
	least := 2 * f.run.block
	for j := range f.flights {
		if left := j.end - j.at; j.ranged && j.generation == generation && left >= least {
			found, least = j, left+1
		}
	}
	return found
}

// claim takes the next bytes: many while much is missing, so that there are few requests,
// and less towards the end, so that all connections end together. When all is asked for,
// it takes half of what the slowest request has still to bring.
func (f *file) claim(s Source, generation int, h *host) *job {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.free() || f.generation != generation {
		return nil
	}
	gap := f.claimed.gap(0, f.Size)
	if slow := f.slowest(generation); gap.size() == 0 && slow != nil {
		gap = span{slow.end - (slow.end-slow.at)/2, slow.end}
		slow.end = gap.start
	}
	_, part, start := s.partAt(gap.start)
	j := &job{part: part, fetch: s.Fetches[part.Fetch], generation: generation, whole: f.whole}
	j.alone = len(s.Parts) == 1 && part.Offset == 0 && !s.beginning
	switch {
	case part.Encoding == XetChunks:
		j.pieces = s.pieces(part.Fetch)
	case f.whole:
		j.span, j.offset = span{0, f.Size}, part.Offset
	default:
		share := (f.Size - f.claimed.bytes()) / int64(2*h.connections())
		most := min(max(share, f.run.block), largestSpan*f.run.block)
		j.span = span{gap.start, min(gap.end, start+part.Length, gap.start+most)}
		j.offset = part.Offset + j.start - start
		j.ranged = !j.alone || j.size() < f.Size
		f.claimed.remove(span{j.end, gap.end}) // of a divided request
	}
	for _, s := range j.spans() {
		f.claimed.add(s)
	}
	j.at, f.empty = j.start, true
	f.flights[j] = true
	return j
}

// advance says how far a job is, and returns where it ends by now.
func (f *file) advance(j *job, at int64) (end int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	j.at = at
	return j.end
}

// giveBack leaves to others what a job has not brought.
func (f *file) giveBack(j *job, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.Size == 0 && err != nil {
		f.empty = false
	}
	for _, s := range j.spans() {
		for _, gap := range f.written.missing(s) {
			f.claimed.remove(gap)
		}
	}
	delete(f.flights, j)
	f.changed.Broadcast()
}
