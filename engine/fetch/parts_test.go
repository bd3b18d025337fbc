package fetch_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/transfer/xet"
	"github.com/seer-engine/seer/sdk"
)

const weights = "model.safetensors"

// inParts offers the weights of contents in pieces: one as it is, in the middle of a longer
// file, and one as Xet chunks in two signed ranges.
func inParts(t *testing.T) (*fake, *sdk.Location) {
	t.Helper()
	whole := contents[weights]
	half := len(whole) / 2
	var stored []byte
	var at []int
	for raw := whole[half:]; len(raw) > 0; raw = raw[min(len(raw), 100_000):] {
		at = append(at, len(stored))
		var err error
		if stored, err = xet.AppendChunk(stored, raw[:min(len(raw), 100_000)], xet.LZ4); err != nil {
			t.Fatal(err)
		}
	}
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/first":
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(append([]byte("head"), whole[:half]...)))
		case "/xorb":
			if r.Header.Get("X-Key") != "xorb" || r.Header.Get("Range") == "" {
				t.Errorf("headers %v", r.Header)
			}
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(stored))
		default:
			good(w, r)
		}
	})
	loc := &sdk.Location{
		Fetches: []sdk.Fetch{{URL: base + "/first"}, {
			URL: base + "/xorb", Headers: map[string]string{"X-Key": "xorb"},
			Ranges: []sdk.FetchRange{{End: int64(at[2])}, {Start: int64(at[2]), End: int64(len(stored)), FirstChunk: 2}},
		}},
		Parts: []sdk.Part{
			{Length: int64(half), Offset: 4},
			{Encoding: sdk.EncodingXet, Fetch: 1, Length: 200_000, EndChunk: 2},
			{Encoding: sdk.EncodingXet, Fetch: 1, Length: int64(len(whole)-half) - 200_000, Range: 1, FirstChunk: 2, EndChunk: len(at)},
		},
	}
	f := model(base)
	plain := f.locate
	f.locate = func(path string) (sdk.Location, error) {
		if path == weights {
			return *loc, nil
		}
		return plain(path)
	}
	return f, loc
}

func TestFileInParts(t *testing.T) {
	f, _ := inParts(t)
	m, err := get(t, f, t.TempDir())
	wantComplete(t, m, err)
}

func TestPartsOfAWrongFetcher(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(l *sdk.Location)
		text   string
	}{
		"URL, too":         {func(l *sdk.Location) { l.URL = "https://a.example" }, "somewhere else, too"},
		"content, too":     {func(l *sdk.Location) { l.Content = []byte("x") }, "somewhere else, too"},
		"no parts":         {func(l *sdk.Location) { l.Parts = nil }, "its parts have 0 bytes"},
		"many parts":       {func(l *sdk.Location) { l.Parts = make([]sdk.Part, sdk.MaxParts+1) }, "the limit is"},
		"many ranges":      {func(l *sdk.Location) { l.Fetches[1].Ranges = make([]sdk.FetchRange, sdk.MaxParts+1) }, "more than 30000 signed ranges"},
		"file address":     {func(l *sdk.Location) { l.Fetches[0].URL = "file:///etc/passwd" }, "neither https nor http"},
		"no host":          {func(l *sdk.Location) { l.Fetches[0].URL = "https:///x" }, "neither https nor http"},
		"user in address":  {func(l *sdk.Location) { l.Fetches[0].URL = "https://u:p@a.example/" }, "neither https nor http"},
		"header":           {func(l *sdk.Location) { l.Fetches[0].Headers = map[string]string{"A": "b\nc"} }, "header that cannot be sent"},
		"range backwards":  {func(l *sdk.Location) { l.Fetches[1].Ranges[0].End = 0 }, "signed range 0 to 0"},
		"ranges overlap":   {func(l *sdk.Location) { l.Fetches[1].Ranges[1].Start = 1 }, "not in order"},
		"no such address":  {func(l *sdk.Location) { l.Parts[0].Fetch = 2 }, "which does not fit"},
		"negative address": {func(l *sdk.Location) { l.Parts[0].Fetch = -1 }, "which does not fit"},
		"negative length":  {func(l *sdk.Location) { l.Parts[0].Length = -1 }, "which does not fit"},
		"too long a part":  {func(l *sdk.Location) { l.Parts[0].Length = 1 << 62 }, "which does not fit"},
		"sum too long":     {func(l *sdk.Location) { l.Parts[0].Length++ }, "and the file has"},
		"sum too short":    {func(l *sdk.Location) { l.Parts[0].Length-- }, "and the file has"},
		"encoding":         {func(l *sdk.Location) { l.Parts[0].Encoding = "zip" }, `the encoding "zip"`},
		"plain in a range": {func(l *sdk.Location) { l.Parts[1].Encoding = sdk.EncodingPlain }, "plain part at an address with signed ranges"},
		"chunks without":   {func(l *sdk.Location) { l.Parts[0].Encoding = sdk.EncodingXet }, "which its address does not have"},
		"range not there":  {func(l *sdk.Location) { l.Parts[1].Range = 2 }, "which its address does not have"},
		"chunks before":    {func(l *sdk.Location) { l.Parts[2].FirstChunk = 1 }, "which its address does not have"},
		"chunks backwards": {func(l *sdk.Location) { l.Parts[2].EndChunk = 2 }, "which its address does not have"},
		"too few chunks":   {func(l *sdk.Location) { l.Parts[1].EndChunk = 1 }, "more bytes than its chunks can have"},
		"too many chunks":  {func(l *sdk.Location) { l.Parts[1].EndChunk = 1 << 40 }, "which its address does not have"},
		"header of the URL": {func(l *sdk.Location) {
			*l = sdk.Location{URL: "https://a.example", Headers: map[string]string{"": "x"}}
		}, "header that cannot be sent"},
	} {
		t.Run(name, func(t *testing.T) {
			f, loc := inParts(t)
			tc.change(loc)
			_, err := get(t, f, t.TempDir())
			if err == nil || !strings.Contains(err.Error(), tc.text) {
				t.Errorf("error = %v", err)
			}
		})
	}
}
