package transfer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/transfer/xet"
	"github.com/seer-engine/seer/sdk"
)

// xorb stores n chunks of different sizes, and returns where each begins. The last offset
// is the end.
func xorb(t *testing.T, name string, n int) (stored []byte, raw [][]byte, offsets []int64) {
	t.Helper()
	for i := range n {
		chunk := content(name+string(rune(i)), 20_000+3_000*i)
		if i%2 == 0 {
			chunk = []byte(strings.Repeat(name, 9_000)) // which compresses
		}
		raw, offsets = append(raw, chunk), append(offsets, int64(len(stored)))
		var err error
		if stored, err = xet.AppendChunk(stored, chunk, xet.Compression(i%3)); err != nil {
			t.Fatal(err)
		}
	}
	return stored, raw, append(offsets, int64(len(stored)))
}

// xetFile is a file of two xorbs: one fetch has two ranges, some chunks are used twice, and
// one part begins and ends within its chunks.
func xetFile(t *testing.T) (*origin, File, []byte) {
	a, rawA, atA := xorb(t, "a", 12)
	b, rawB, atB := xorb(t, "b", 6)
	o := newOrigin(t, map[string][]byte{"a": a, "b": b})
	join := func(chunks [][]byte) []byte { return []byte(strings.Join(stringsOf(chunks), "")) }
	inner := join(rawB[1:4])[5_000:50_000]
	var data []byte
	var parts []Part
	for _, p := range []struct {
		part Part
		raw  []byte
	}{
		{Part{Fetch: 0, Range: 0, FirstChunk: 2, EndChunk: 5}, join(rawA[2:5])},
		{Part{Fetch: 1, Range: 0, FirstChunk: 1, EndChunk: 4, Offset: 5_000}, inner},
		{Part{Fetch: 0, Range: 1, FirstChunk: 8, EndChunk: 12}, join(rawA[8:12])},
		{Part{Fetch: 0, Range: 0, FirstChunk: 3, EndChunk: 4}, join(rawA[3:4])},
	} {
		p.part.Encoding, p.part.Length = XetChunks, int64(len(p.raw))
		parts, data = append(parts, p.part), append(data, p.raw...)
	}
	sum := sha256.Sum256(data)
	f := File{Path: "f", Size: int64(len(data)), SHA256: hex.EncodeToString(sum[:])}
	f.Source = Source{Parts: parts, Fetches: []Fetch{
		{URL: o.URL + "/a?signed", Ranges: []Range{{atA[2], atA[5], 2}, {atA[7], atA[12], 7}}},
		{URL: o.URL + "/b?signed", Ranges: []Range{{atB[0], atB[4], 0}}},
	}}
	return o, f, data
}

func stringsOf(all [][]byte) (out []string) {
	for _, b := range all {
		out = append(out, string(b))
	}
	return out
}

func TestXet(t *testing.T) {
	o, f, data := xetFile(t)
	exact := map[string]bool{}
	for _, fetch := range f.Source.Fetches {
		exact[(&job{fetch: fetch, pieces: []piece{{}}}).byteRange()] = true
	}
	refuse := func(w http.ResponseWriter, r *http.Request, _ int64) bool {
		if !exact[r.Header.Get("Range")] {
			t.Errorf("the range %q is not signed", r.Header.Get("Range"))
		}
		return false
	}
	for name, fault := range map[string]func(http.ResponseWriter, *http.Request, int64) bool{
		"as it should be": refuse,
		"cut": func(w http.ResponseWriter, r *http.Request, n int64) bool {
			if n <= 3 {
				w = &short{w, 10_000 * int(n)}
				o.serve(w, r)
				panic(http.ErrAbortHandler)
			}
			return refuse(w, r, n)
		},
		"garbage": func(w http.ResponseWriter, r *http.Request, n int64) bool {
			if n <= 2 {
				(&origin{files: map[string][]byte{"a": content("x", len(o.files["a"])), "b": content("y", len(o.files["b"]))}}).serve(w, r)
				return true
			}
			return refuse(w, r, n)
		},
	} {
		t.Run(name, func(t *testing.T) {
			o.requests.Store(0)
			o.fault = fault
			dir := t.TempDir()
			if err := get(t, dir, f); err != nil {
				t.Fatal(err)
			}
			wantFiles(t, dir, map[string][]byte{"f": data})
			if n := o.requests.Load(); name == "as it should be" && n != 2 {
				t.Errorf("%d requests for two fetches", n)
			}
		})
	}
}

// short ends an answer after some bytes.
type short struct {
	http.ResponseWriter
	left int
}

func (s *short) Write(b []byte) (int, error) {
	if len(b) > s.left {
		b = b[:s.left]
	}
	n, err := s.ResponseWriter.Write(b)
	if s.left -= n; err == nil && s.left == 0 {
		err = errors.New("cut")
	}
	return n, err
}

func TestXetFailures(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(o *origin, f *File)
		code   sdk.Code
		text   string
	}{
		"fewer bytes than promised": {func(_ *origin, f *File) {
			f.Source.Parts[0].Length += 10_000
			f.Size += 10_000
		}, sdk.Internal, "not the file that was promised: its chunks have"},
		"ranges are ignored": {func(o *origin, _ *File) {
			o.fault = func(w http.ResponseWriter, r *http.Request, _ int64) bool {
				_, _ = w.Write(o.files["a"])
				return true
			}
		}, sdk.Unsupported, "cannot send a part of the file"},
		"always garbage": {func(o *origin, _ *File) {
			o.files = map[string][]byte{"a": content("x", len(o.files["a"])), "b": content("y", len(o.files["b"]))}
		}, sdk.Unavailable, "malformed Xet data"},
		"no such range":       {func(_ *origin, f *File) { f.Source.Parts[0].Range = 2 }, sdk.Invalid, "not signed"},
		"more than the chunk": {func(_ *origin, f *File) { f.Source.Parts[3].Offset = 128 << 10 }, sdk.Invalid, "more bytes than its chunks can have"},
		"ranges in disorder":  {func(_ *origin, f *File) { f.Source.Fetches[0].Ranges[1].Start = 0 }, sdk.Invalid, "not in order"},
	} {
		t.Run(name, func(t *testing.T) {
			o, f, _ := xetFile(t)
			tc.change(o, &f)
			err := Download(context.Background(), []File{f}, options(t.TempDir()))
			if sdk.CodeOf(err) != tc.code || err == nil || !strings.Contains(err.Error(), tc.text) {
				t.Errorf("error = %v (%s)", err, sdk.CodeOf(err))
			}
		})
	}
}
