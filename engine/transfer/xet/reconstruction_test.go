package xet_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/transfer/xet"
)

const (
	xorbA = "a1b2c3d4e5f6789012345678901234567890abcdef1234567890abcdef123456"
	xorbB = "fedcba0987654321098765432109876543210fedcba09876543210987654321f"
)

// The second example of the specification: a chunk of xorb A is used by two terms.
const version2 = `{"offset_into_first_range": 7, "terms": [
 {"hash": "` + xorbA + `", "unpacked_length": 263873, "range": {"start": 1, "end": 4}},
 {"hash": "` + xorbB + `", "unpacked_length": 143890, "range": {"start": 0, "end": 3}},
 {"hash": "` + xorbA + `", "unpacked_length": 3063572, "range": {"start": 50, "end": 93}}],
"xorbs": {
 "` + xorbA + `": [{"url": "https://t.example/a?s=1", "ranges": [
  {"chunks": {"start": 1, "end": 43}, "bytes": {"start": 57980, "end": 1433008}},
  {"chunks": {"start": 50, "end": 93}, "bytes": {"start": 2000000, "end": 3000000}}]}],
 "` + xorbB + `": [{"url": "http://t.example/b", "ranges": [{"chunks": {"start": 0, "end": 3}, "bytes": {"start": 0, "end": 65670}}]}]}}`

const version1 = `{"offset_into_first_range": 7, "terms": [
 {"hash": "` + xorbA + `", "unpacked_length": 263873, "range": {"start": 1, "end": 4}},
 {"hash": "` + xorbB + `", "unpacked_length": 143890, "range": {"start": 0, "end": 3}},
 {"hash": "` + xorbA + `", "unpacked_length": 3063572, "range": {"start": 50, "end": 93}}],
"fetch_info": {
 "` + xorbA + `": [
  {"url": "https://t.example/a?s=1", "range": {"start": 1, "end": 43}, "url_range": {"start": 57980, "end": 1433008}},
  {"url": "https://t.example/a?s=2", "range": {"start": 50, "end": 93}, "url_range": {"start": 2000000, "end": 3000000}}],
 "` + xorbB + `": [{"url": "http://t.example/b", "range": {"start": 0, "end": 3}, "url_range": {"start": 0, "end": 65670}}]}}`

func TestParseReconstruction(t *testing.T) {
	a, b := hash(t, xorbA), hash(t, xorbB)
	early := xet.Range{Chunks: xet.ChunkRange{Start: 1, End: 43}, Bytes: xet.ByteRange{First: 57980, Last: 1433008}}
	late := xet.Range{Chunks: xet.ChunkRange{Start: 50, End: 93}, Bytes: xet.ByteRange{First: 2000000, Last: 3000000}}
	whole := xet.Range{Chunks: xet.ChunkRange{Start: 0, End: 3}, Bytes: xet.ByteRange{First: 0, Last: 65670}}
	want := xet.Reconstruction{
		Skip: 7,
		Terms: []xet.Term{
			{Xorb: a, Chunks: xet.ChunkRange{Start: 1, End: 4}, Length: 263873, Fetch: 0, Range: 0},
			{Xorb: b, Chunks: xet.ChunkRange{Start: 0, End: 3}, Length: 143890, Fetch: 1, Range: 0},
			{Xorb: a, Chunks: xet.ChunkRange{Start: 50, End: 93}, Length: 3063572, Fetch: 0, Range: 1},
		},
		Fetches: []xet.Fetch{
			{Xorb: a, URL: "https://t.example/a?s=1", Ranges: []xet.Range{early, late}},
			{Xorb: b, URL: "http://t.example/b", Ranges: []xet.Range{whole}},
		},
	}
	got, err := xet.ParseReconstruction([]byte(version2))
	if err != nil || !reflect.DeepEqual(*got, want) {
		t.Errorf("version 2: %+v, %v", got, err)
	}
	if got.Length() != 263873+143890+3063572-7 {
		t.Errorf("length %d", got.Length())
	}
	if header := got.Fetches[0].Header(); header != "bytes=57980-1433008,2000000-3000000" {
		t.Errorf("header %s", header)
	}

	want.Fetches = []xet.Fetch{
		{Xorb: a, URL: "https://t.example/a?s=1", Ranges: []xet.Range{early}},
		{Xorb: a, URL: "https://t.example/a?s=2", Ranges: []xet.Range{late}},
		{Xorb: b, URL: "http://t.example/b", Ranges: []xet.Range{whole}},
	}
	want.Terms[1].Fetch = 2
	want.Terms[2].Fetch, want.Terms[2].Range = 1, 0
	if got, err := xet.ParseReconstruction([]byte(version1)); err != nil || !reflect.DeepEqual(*got, want) {
		t.Errorf("version 1: %+v, %v", got, err)
	}
	if got, err := xet.ParseReconstruction([]byte(`{"terms":[],"xorbs":{}}`)); err != nil || got.Length() != 0 {
		t.Errorf("an empty file: %+v, %v", got, err)
	}
}

func TestParseReconstructionRefuses(t *testing.T) {
	for name, change := range map[string][2]string{
		"not JSON":             {`{"offset`, `["offset`},
		"hash":                 {`"hash": "a1`, `"hash": "A1`},
		"name of a xorb":       {`"` + xorbB + `": [`, `"` + xorbB[1:] + `": [`},
		"no URL for a term":    {`"` + xorbB + `": [`, `"` + strings.Replace(xorbB, "f", "e", 1) + `": [`},
		"chunks not there":     {`"range": {"start": 1, "end": 4}`, `"range": {"start": 40, "end": 44}`},
		"empty term":           {`"range": {"start": 1, "end": 4}`, `"range": {"start": 4, "end": 4}`},
		"negative chunk":       {`"range": {"start": 1, "end": 4}`, `"range": {"start": -1, "end": 4}`},
		"many chunks":          {`"chunks": {"start": 0, "end": 3}`, `"chunks": {"start": 0, "end": 9000000}`},
		"long term":            {`263873`, `393217`},
		"short term":           {`263873`, `2`},
		"negative term":        {`263873`, `-263873`},
		"number too large":     {`263873`, `92233720368547758080`},
		"offset":               {`range": 7`, `range": 263873`},
		"negative offset":      {`range": 7`, `range": -1`},
		"no ranges":            {`[{"chunks": {"start": 0, "end": 3}, "bytes": {"start": 0, "end": 65670}}]`, `[]`},
		"bytes beyond a xorb":  {`3000000`, `67108864`},
		"bytes backwards":      {`"end": 65670`, `"end": -1`},
		"too few bytes":        {`"end": 65670`, `"end": 23`},
		"overlapping bytes":    {`2000000`, `1433008`},
		"overlapping chunks":   {`"chunks": {"start": 50`, `"chunks": {"start": 42`},
		"scheme":               {`http://t.example/b`, `file:///etc/passwd`},
		"no host":              {`http://t.example/b`, `/b`},
		"both versions":        {`"xorbs"`, `"fetch_info": {"` + xorbA + `": [{}]}, "xorbs"`},
		"bytes are no integer": {`65670`, `65670.5`},
	} {
		text := strings.Replace(version2, change[0], change[1], 1)
		if text == version2 {
			t.Errorf("%s changes nothing", name)
		}
		if got, err := xet.ParseReconstruction([]byte(text)); !errors.Is(err, xet.ErrMalformed) {
			t.Errorf("%s: %+v, %v", name, got, err)
		} else if strings.Count(err.Error(), xet.ErrMalformed.Error()) != 1 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Terms whose lengths would overflow when they are added.
func TestParseReconstructionOfTooLargeAFile(t *testing.T) {
	const chunks = xet.MaxXorb/xet.ChunkHeaderSize - 1
	term := fmt.Sprintf(`{"hash":%q,"unpacked_length":%d,"range":{"start":0,"end":%d}}`, xorbA, chunks*xet.MaxChunk, chunks)
	text := `{"terms":[` + strings.TrimSuffix(strings.Repeat(term+",", 20), ",") + `],"xorbs":{"` + xorbA +
		fmt.Sprintf(`":[{"url":"https://t.example","ranges":[{"chunks":{"start":0,"end":%d},"bytes":{"start":0,"end":%d}}]}]}}`, chunks, xet.MaxXorb-1)
	rec, err := xet.ParseReconstruction([]byte(text))
	if err != nil || rec.Length() != 20*chunks*xet.MaxChunk {
		t.Errorf("%v", err)
	}
}

func FuzzParseReconstruction(f *testing.F) {
	f.Add([]byte(version1))
	f.Add([]byte(version2))
	f.Fuzz(func(t *testing.T, data []byte) {
		rec, err := xet.ParseReconstruction(data)
		if err != nil {
			if !errors.Is(err, xet.ErrMalformed) {
				t.Errorf("%v", err)
			}
			return
		}
		if rec.Length() < 0 {
			t.Errorf("%d bytes", rec.Length())
		}
		for _, term := range rec.Terms {
			fetch := rec.Fetches[term.Fetch]
			have := fetch.Ranges[term.Range]
			if fetch.Xorb != term.Xorb || have.Chunks.Start > term.Chunks.Start || have.Chunks.End < term.Chunks.End {
				t.Errorf("%+v in %+v", term, fetch)
			}
		}
	})
}
