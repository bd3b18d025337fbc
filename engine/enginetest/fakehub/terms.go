package fakehub

import (
	"cmp"
	"slices"

	"github.com/seer-engine/seer/engine/transfer/xet"
)

// between are the terms with the bytes first to last of a file, cut to the chunks that have
// them, and how many bytes of the first chunk lie before.
func (f *xetFile) between(first, last int64) (terms []term, skip int64) {
	at := int64(0)
	for _, t := range f.terms {
		var cut *term
		for i := t.chunks.Start; i < t.chunks.End; i++ {
			end := at + int64(t.xorb.chunks[i].raw)
			if end > first && at <= last {
				if len(terms) == 0 && cut == nil {
					skip = max(first-at, 0)
				}
				if cut == nil {
					cut = &term{t.xorb, xet.ChunkRange{Start: i}}
				}
				cut.chunks.End = i + 1
			}
			at = end
		}
		if cut != nil {
			terms = append(terms, *cut)
		}
	}
	return terms, skip
}

// The JSON of reconstructions.
type (
	wireRange struct {
		Start int64 `json:"start"`
		End   int64 `json:"end"`
	}
	wireTerm struct {
		Hash   xet.Hash  `json:"hash"`
		Length int64     `json:"unpacked_length"`
		Range  wireRange `json:"range"`
	}
	wireFetch struct {
		Range wireRange `json:"range"`
		URL   string    `json:"url"`
		Bytes wireRange `json:"url_range"`
	}
	wireXorb struct {
		URL    string           `json:"url"`
		Ranges []wireDescriptor `json:"ranges"`
	}
	wireDescriptor struct {
		Chunks wireRange `json:"chunks"`
		Bytes  wireRange `json:"bytes"`
	}
)

func wireChunks(r xet.ChunkRange) wireRange { return wireRange{int64(r.Start), int64(r.End)} }
func wireBytes(r xet.ByteRange) wireRange   { return wireRange{r.First, r.Last} }

func wireTerms(terms []term) []wireTerm {
	all := []wireTerm{}
	for _, t := range terms {
		all = append(all, wireTerm{t.xorb.hash, t.length(), wireChunks(t.chunks)})
	}
	return all
}

// merged are the chunks of each xorb that the terms need, in as few ranges as there can be.
func merged(terms []term) map[*xorb][]xet.ChunkRange {
	needed := map[*xorb][]xet.ChunkRange{}
	for _, t := range terms {
		needed[t.xorb] = append(needed[t.xorb], t.chunks)
	}
	for x, ranges := range needed {
		slices.SortFunc(ranges, func(a, b xet.ChunkRange) int { return cmp.Compare(a.Start, b.Start) })
		joined := ranges[:1]
		for _, r := range ranges[1:] {
			if last := &joined[len(joined)-1]; r.Start <= last.End {
				last.End = max(last.End, r.End)
			} else {
				joined = append(joined, r)
			}
		}
		needed[x] = joined
	}
	return needed
}

// fetchInfo is version 1: a URL for each range.
func (s storage) fetchInfo(terms []term) map[string][]wireFetch {
	all := map[string][]wireFetch{}
	for x, ranges := range merged(terms) {
		for _, r := range ranges {
			url := s.xorbURL(x, []xet.ChunkRange{r})
			all[x.hash.String()] = append(all[x.hash.String()], wireFetch{wireChunks(r), url, wireBytes(x.bytes(r))})
		}
	}
	return all
}

// multiRanges is version 2: a URL for all ranges of a xorb.
func (s storage) multiRanges(terms []term) map[string][]wireXorb {
	all := map[string][]wireXorb{}
	for x, ranges := range merged(terms) {
		w := wireXorb{URL: s.xorbURL(x, ranges)}
		for _, r := range ranges {
			w.Ranges = append(w.Ranges, wireDescriptor{wireChunks(r), wireBytes(x.bytes(r))})
		}
		all[x.hash.String()] = []wireXorb{w}
	}
	return all
}

// xorbURL is signed for exactly these ranges.
func (s storage) xorbURL(x *xorb, ranges []xet.ChunkRange) string {
	var f xet.Fetch
	for _, r := range ranges {
		f.Ranges = append(f.Ranges, xet.Range{Chunks: r, Bytes: x.bytes(r)})
	}
	return s.hub.URL(XetStorage) + s.hub.signer.sign("/xorbs/default/"+x.hash.String(), f.Header())
}
