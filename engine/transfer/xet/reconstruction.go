package xet

import (
	"fmt"
	"strings"
)

// ChunkRange is a run of chunks of a xorb: Start is in it, End is not.
type ChunkRange struct{ Start, End int }

// Len is the number of chunks.
func (r ChunkRange) Len() int { return r.End - r.Start }

func (r ChunkRange) holds(other ChunkRange) bool { return r.Start <= other.Start && other.End <= r.End }

// ByteRange is a range of stored bytes of a xorb, as in HTTP: both ends are in it.
type ByteRange struct{ First, Last int64 }

// Len is the number of bytes.
func (r ByteRange) Len() int64 { return r.Last - r.First + 1 }

func (r ByteRange) String() string { return fmt.Sprintf("%d-%d", r.First, r.Last) }

// Reconstruction says how a file, or a range of one, is put together.
type Reconstruction struct {
	Skip    int64  // bytes at the beginning of the first term that lie before the range
	Terms   []Term // in the order of the file
	Fetches []Fetch
}

// Term is a run of chunks of one xorb, whose raw bytes are a part of the file.
type Term struct {
	Xorb   Hash
	Chunks ChunkRange
	Length int64 // raw bytes
	Fetch  int   // index in Fetches of what holds the chunks
	Range  int   // index in the Ranges of that Fetch
}

// Fetch is one request for stored bytes of a xorb.
type Fetch struct {
	Xorb   Hash
	URL    string  // signed, expires, and is valid for exactly these ranges
	Ranges []Range // ascending; none overlap
}

// Range is a run of chunks and where it is stored.
type Range struct {
	Chunks ChunkRange
	Bytes  ByteRange
}

// Header is the value of the request's Range header. The signature allows no other one.
func (f Fetch) Header() string {
	texts := make([]string, len(f.Ranges))
	for i, r := range f.Ranges {
		texts[i] = r.Bytes.String()
	}
	return "bytes=" + strings.Join(texts, ",")
}

// Bytes are the ranges as ReadByteRanges takes them.
func (f Fetch) Bytes() []ByteRange {
	ranges := make([]ByteRange, len(f.Ranges))
	for i, r := range f.Ranges {
		ranges[i] = r.Bytes
	}
	return ranges
}

// Length is the number of raw bytes that the terms make up, after Skip.
func (r *Reconstruction) Length() int64 {
	n := -r.Skip
	for _, t := range r.Terms {
		n += t.Length
	}
	return n
}
