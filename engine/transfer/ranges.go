package transfer

import (
	"cmp"
	"slices"
)

// span is the bytes [start, end) of a file.
type span struct{ start, end int64 }

func (s span) size() int64 { return s.end - s.start }

// ranges is a set of bytes: spans in order, none of them empty, with gaps between them.
type ranges []span

func (r *ranges) add(s span) {
	if s.size() <= 0 {
		return
	}
	// All spans that touch s become one with it.
	i, _ := slices.BinarySearchFunc(*r, s.start, func(have span, start int64) int { return cmp.Compare(have.end, start) })
	j := i
	for j < len(*r) && (*r)[j].start <= s.end {
		s.start, s.end = min(s.start, (*r)[j].start), max(s.end, (*r)[j].end)
		j++
	}
	*r = slices.Replace(*r, i, j, s)
}

func (r *ranges) remove(s span) {
	if s.size() <= 0 {
		return
	}
	var left ranges
	for _, have := range *r {
		for _, piece := range []span{{have.start, min(have.end, s.start)}, {max(have.start, s.end), have.end}} {
			if piece.size() > 0 {
				left = append(left, piece)
			}
		}
	}
	*r = left
}

// gap is the first span that is missing in [from, limit); an empty one says that there is none.
func (r ranges) gap(from, limit int64) span {
	i, _ := slices.BinarySearchFunc(r, from, func(have span, at int64) int { return cmp.Compare(have.end, at+1) })
	if i < len(r) && r[i].start <= from {
		from = r[i].end
		i++
	}
	if i < len(r) {
		limit = min(limit, r[i].start)
	}
	if from >= limit {
		return span{}
	}
	return span{from, limit}
}

// missing are the gaps in s, in order.
func (r ranges) missing(s span) []span {
	var gaps []span
	for from := s.start; ; {
		gap := r.gap(from, s.end)
		if gap.size() == 0 {
			return gaps
		}
		gaps = append(gaps, gap)
		from = gap.end
	}
}

// prefix is how many bytes from the first one on are there.
func (r ranges) prefix() int64 {
	if len(r) > 0 && r[0].start == 0 {
		return r[0].end
	}
	return 0
}

func (r ranges) bytes() (n int64) {
	for _, s := range r {
		n += s.size()
	}
	return n
}
