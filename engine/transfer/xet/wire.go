package xet

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
)

const maxFile = 1 << 60 // raw bytes, so that no sum overflows

// The JSON of servers. Version 1 has fetch_info, where each URL has one range; version 2 has
// xorbs, where a URL may have several.
type (
	wireReconstruction struct {
		Offset int64                      `json:"offset_into_first_range"`
		Terms  []wireTerm                 `json:"terms"`
		V1     map[string][]wireFetchInfo `json:"fetch_info"`
		V2     map[string][]wireXorb      `json:"xorbs"`
	}
	wireTerm struct {
		Hash   Hash      `json:"hash"`
		Length int64     `json:"unpacked_length"`
		Range  wireRange `json:"range"`
	}
	wireFetchInfo struct {
		URL   string    `json:"url"`
		Range wireRange `json:"range"`
		Bytes wireRange `json:"url_range"`
	}
	wireXorb struct {
		URL    string      `json:"url"`
		Ranges []wireBytes `json:"ranges"`
	}
	wireBytes struct {
		Chunks wireRange `json:"chunks"`
		Bytes  wireRange `json:"bytes"`
	}
	wireRange struct {
		Start int64 `json:"start"`
		End   int64 `json:"end"`
	}
)

// ParseReconstruction reads the answer of version 1 or 2 of the reconstruction API. It checks
// that every term has stored bytes and that no number breaks a limit of the format.
func ParseReconstruction(data []byte) (*Reconstruction, error) {
	var wire wireReconstruction
	if err := json.Unmarshal(data, &wire); err != nil {
		return nil, malformed("read a reconstruction: %v", err)
	}
	var rec Reconstruction
	if err := rec.addFetches(wire); err != nil {
		return nil, err
	}
	var length int64
	byXorb := map[Hash][]int{}
	for i, f := range rec.Fetches {
		byXorb[f.Xorb] = append(byXorb[f.Xorb], i)
	}
	for i, w := range wire.Terms {
		t, err := rec.term(w, byXorb[w.Hash])
		if err != nil {
			return nil, malformed("term %d: %v", i, err)
		}
		if length += t.Length; length > maxFile {
			return nil, malformed("the terms have more than %d bytes", int64(maxFile))
		}
		rec.Terms = append(rec.Terms, t)
	}
	rec.Skip = wire.Offset
	if rec.Skip < 0 || rec.Skip > 0 && (len(rec.Terms) == 0 || rec.Skip >= rec.Terms[0].Length) {
		return nil, malformed("the offset %d lies outside of the first term", rec.Skip)
	}
	return &rec, nil
}

// addFetches adds the fetches in the order of the xorbs' names.
func (r *Reconstruction) addFetches(wire wireReconstruction) error {
	xorbs := wire.V2
	if xorbs == nil {
		xorbs = map[string][]wireXorb{}
	}
	for name, infos := range wire.V1 {
		if wire.V2 != nil {
			return malformed("a reconstruction has both fetch_info and xorbs")
		}
		for _, info := range infos {
			xorbs[name] = append(xorbs[name], wireXorb{info.URL, []wireBytes{{info.Range, info.Bytes}}})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(xorbs)) {
		hash, err := ParseHash(name)
		if err != nil {
			return err
		}
		for _, x := range xorbs[name] {
			f, err := x.fetch(hash)
			if err != nil {
				return malformed("xorb %s: %v", hash, err)
			}
			r.Fetches = append(r.Fetches, f)
		}
	}
	return nil
}

func (x wireXorb) fetch(hash Hash) (Fetch, error) {
	f := Fetch{Xorb: hash, URL: x.URL}
	if at, err := url.Parse(x.URL); err != nil || at.Host == "" || at.Scheme != "https" && at.Scheme != "http" {
		return f, fmt.Errorf("%q is not the URL of a web server", x.URL)
	}
	if len(x.Ranges) == 0 {
		return f, errors.New("a URL has no ranges")
	}
	var before Range
	for i, w := range x.Ranges {
		chunks, err := w.Chunks.chunks()
		if err != nil {
			return f, err
		}
		bytes := ByteRange{w.Bytes.Start, w.Bytes.End}
		switch {
		case bytes.First < 0 || bytes.Last < bytes.First || bytes.Last >= MaxXorb:
			return f, fmt.Errorf("the byte range %s is not in a xorb", bytes)
		case bytes.Len() <= int64(chunks.Len())*ChunkHeaderSize:
			return f, fmt.Errorf("the byte range %s is too short for %d chunks", bytes, chunks.Len())
		case i > 0 && (chunks.Start < before.Chunks.End || bytes.First <= before.Bytes.Last):
			return f, fmt.Errorf("the byte ranges %s and %s overlap or are not in order", before.Bytes, bytes)
		}
		before = Range{chunks, bytes}
		f.Ranges = append(f.Ranges, before)
	}
	return f, nil
}

func (w wireRange) chunks() (ChunkRange, error) {
	if w.Start < 0 || w.End <= w.Start || w.End > MaxXorb/ChunkHeaderSize {
		return ChunkRange{}, fmt.Errorf("%d to %d is not a range of chunks", w.Start, w.End)
	}
	return ChunkRange{int(w.Start), int(w.End)}, nil
}

// term finds among the fetches of the term's xorb the range with its chunks.
func (r *Reconstruction) term(w wireTerm, fetches []int) (Term, error) {
	chunks, err := w.Range.chunks()
	if err != nil {
		return Term{}, err
	}
	if w.Length < int64(chunks.Len()) || w.Length > int64(chunks.Len())*MaxChunk {
		return Term{}, fmt.Errorf("%d chunks cannot have %d bytes", chunks.Len(), w.Length)
	}
	for _, f := range fetches {
		for i, have := range r.Fetches[f].Ranges {
			if have.Chunks.holds(chunks) {
				return Term{w.Hash, chunks, w.Length, f, i}, nil
			}
		}
	}
	return Term{}, fmt.Errorf("no URL has the chunks %d to %d of xorb %s", chunks.Start, chunks.End, w.Hash)
}
