package xet_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/seer-engine/seer/engine/transfer/xet"
)

const body = "0123456789abcdefghijklmnopqrstuvwxyz"

var want = []xet.ByteRange{{First: 0, Last: 3}, {First: 10, Last: 10}, {First: 20, Last: 29}}

func part(r xet.ByteRange) string {
	return fmt.Sprintf("--xx\r\nContent-Type: application/octet-stream\r\nContent-Range: bytes %s/%d\r\n\r\n%s\r\n", r, len(body), body[r.First:r.Last+1])
}

func several() http.Header {
	return http.Header{"Content-Type": {`multipart/byteranges; boundary="xx"`}}
}

// read collects the ranges, in the order of want.
func read(status int, header http.Header, text string, want []xet.ByteRange) ([]string, error) {
	got := make([]string, len(want))
	err := xet.ReadByteRanges(status, header, iotest.HalfReader(strings.NewReader(text)), want, func(i int, r io.Reader) error {
		data, err := io.ReadAll(r)
		got[i] = string(data)
		return err
	})
	return got, err
}

func TestReadByteRanges(t *testing.T) {
	for name, text := range map[string]string{
		"in order":      part(want[0]) + part(want[1]) + part(want[2]) + "--xx--\r\n",
		"another order": "\r\n" + part(want[2]) + part(want[0]) + part(want[1]) + "--xx--",
	} {
		got, err := read(206, several(), text, want)
		if err != nil || fmt.Sprint(got) != "[0123 a klmnopqrst]" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	one := http.Header{"Content-Type": {"application/octet-stream"}, "Content-Range": {"bytes 20-29/*"}}
	if got, err := read(206, one, "klmnopqrst", want[2:]); err != nil || got[0] != "klmnopqrst" {
		t.Errorf("one: %q, %v", got, err)
	}
	if got, err := read(206, several(), part(want[2])+"--xx--", want[2:]); err != nil || got[0] != "klmnopqrst" {
		t.Errorf("one part: %q, %v", got, err)
	}
}

// What the caller does not read is skipped, and its error ends the reading.
func TestReadByteRangesObeysTheCaller(t *testing.T) {
	text := part(want[0]) + part(want[1]) + part(want[2]) + "--xx--\r\n"
	calls := 0
	err := xet.ReadByteRanges(206, several(), strings.NewReader(text), want, func(int, io.Reader) error { calls++; return nil })
	if err != nil || calls != 3 {
		t.Errorf("%d calls, %v", calls, err)
	}
	full := errors.New("disk full")
	err = xet.ReadByteRanges(206, several(), strings.NewReader(text), want, func(int, io.Reader) error { return full })
	if !errors.Is(err, full) {
		t.Errorf("%v", err)
	}
}

func TestReadByteRangesRefuses(t *testing.T) {
	all := part(want[0]) + part(want[1]) + part(want[2])
	single := func(contentRange string) http.Header { return http.Header{"Content-Range": {contentRange}} }
	for name, c := range map[string]struct {
		status int
		header http.Header
		text   string
		want   []xet.ByteRange
		err    error
	}{
		"ignored":             {200, nil, body, want, xet.ErrRangeIgnored},
		"lacking":             {206, several(), part(want[0]) + part(want[2]) + "--xx--", want, xet.ErrMalformed},
		"twice":               {206, several(), part(want[0]) + all + "--xx--", want, xet.ErrMalformed},
		"another range":       {206, several(), strings.Replace(all, "0-3", "1-4", 1) + "--xx--", want, xet.ErrMalformed},
		"no range":            {206, several(), strings.Replace(all, "Content-Range", "Range", 1) + "--xx--", want, xet.ErrMalformed},
		"short part":          {206, several(), strings.Replace(all, "klmnopqrst", "klm", 1) + "--xx--", want, io.ErrUnexpectedEOF},
		"long part":           {206, several(), strings.Replace(all, "klmnopqrst", "klmnopqrstu", 1) + "--xx--", want, xet.ErrMalformed},
		"cut":                 {206, several(), all[:len(all)-5], want, io.ErrUnexpectedEOF},
		"no last boundary":    {206, several(), all, want, io.ErrUnexpectedEOF},
		"no boundary":         {206, http.Header{"Content-Type": {"multipart/byteranges"}}, all, want, xet.ErrMalformed},
		"one of three":        {206, single("bytes 0-3/36"), "0123", want, xet.ErrMalformed},
		"one, cut":            {206, single("bytes 0-3/36"), "012", want[:1], io.ErrUnexpectedEOF},
		"one, long":           {206, single("bytes 0-3/36"), "01234", want[:1], xet.ErrMalformed},
		"one, without header": {206, nil, "0123", want[:1], xet.ErrMalformed},
		"one, unit":           {206, single("items 0-3/36"), "0123", want[:1], xet.ErrMalformed},
		"one, sign":           {206, single("bytes +0-3/36"), "0123", want[:1], xet.ErrMalformed},
		"one, no size":        {206, single("bytes 0-3"), "0123", want[:1], xet.ErrMalformed},
		"one, beyond size":    {206, single("bytes 0-3/3"), "0123", want[:1], xet.ErrMalformed},
		"one, backwards":      {206, single("bytes 3-0/36"), "0123", want[:1], xet.ErrMalformed},
	} {
		if _, err := read(c.status, c.header, c.text, c.want); !errors.Is(err, c.err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := read(403, nil, "", want); err == nil || !strings.Contains(err.Error(), "403") {
		t.Errorf("403: %v", err)
	}
}

func FuzzReadByteRanges(f *testing.F) {
	f.Add([]byte(part(want[0])+part(want[1])+part(want[2])+"--xx--"), `multipart/byteranges; boundary="xx"`, "")
	f.Add([]byte("0123"), "application/octet-stream", "bytes 0-3/36")
	f.Fuzz(func(t *testing.T, text []byte, media, contentRange string) {
		for _, want := range [][]xet.ByteRange{want, want[:1]} {
			header := http.Header{"Content-Type": {media}, "Content-Range": {contentRange}}
			read := 0
			err := xet.ReadByteRanges(206, header, bytes.NewReader(text), want, func(i int, r io.Reader) error {
				n, err := io.Copy(io.Discard, r)
				if err == nil && n != want[i].Len() {
					t.Errorf("%d bytes of the range %s", n, want[i])
				}
				read++
				return err
			})
			if err == nil && read != len(want) {
				t.Errorf("%d of %d ranges", read, len(want))
			}
		}
	})
}
