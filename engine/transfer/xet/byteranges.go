package xet

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// ErrRangeIgnored is the answer of a server that sends a whole object instead of the ranges.
var ErrRangeIgnored = errors.New("the server ignored the Range header")

// ReadByteRanges reads the body of an answer to a request for the ranges in want. It calls each
// with the index of every range, in the order in which the server sends them, and with a reader
// of exactly its bytes. The answer has to contain every range once, as it was asked for, unless
// each fails. An answer that ends early is io.ErrUnexpectedEOF.
//
// Any status but 206 is an error: 200 is ErrRangeIgnored.
func ReadByteRanges(status int, header http.Header, body io.Reader, want []ByteRange, each func(i int, r io.Reader) error) error {
	switch status {
	case http.StatusPartialContent:
	case http.StatusOK:
		return ErrRangeIgnored
	default:
		return fmt.Errorf("read byte ranges: the server answered %d", status)
	}
	media, params, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err != nil || media != "multipart/byteranges" {
		if len(want) != 1 {
			return malformed("%d ranges were wanted, and the answer has one", len(want))
		}
		return readRange(header.Get("Content-Range"), body, want, make([]bool, 1), each)
	}
	if params["boundary"] == "" {
		return malformed("an answer with several ranges has no boundary")
	}
	return readParts(multipart.NewReader(body, params["boundary"]), want, each)
}

func readParts(parts *multipart.Reader, want []ByteRange, each func(int, io.Reader) error) error {
	seen := make([]bool, len(want))
	for {
		part, err := parts.NextRawPart()
		switch {
		case errors.Is(err, io.ErrUnexpectedEOF):
			return fmt.Errorf("read byte ranges: %w", err)
		case errors.Is(err, io.EOF):
			if i := slices.Index(seen, false); i >= 0 {
				return malformed("the answer lacks the byte range %s", want[i])
			}
			return nil
		case err != nil:
			return malformed("read byte ranges: %v", err)
		}
		if err := readRange(part.Header.Get("Content-Range"), part, want, seen, each); err != nil {
			return err
		}
	}
}

func readRange(contentRange string, body io.Reader, want []ByteRange, seen []bool, each func(int, io.Reader) error) error {
	got, err := parseContentRange(contentRange)
	if err != nil {
		return err
	}
	i := slices.Index(want, got)
	if i < 0 || seen[i] {
		return malformed("the answer has the byte range %s, which was not wanted or has been sent", got)
	}
	seen[i] = true
	exact := &io.LimitedReader{R: body, N: got.Len()}
	if err := each(i, untilEnd{exact}); err != nil {
		return err
	}
	if exact.N > 0 {
		if _, err := io.Copy(io.Discard, untilEnd{exact}); err != nil {
			return err
		}
	}
	var more [1]byte
	n, err := io.ReadFull(body, more[:])
	switch {
	case n > 0:
		return malformed("the byte range %s has more bytes than it says", got)
	case !errors.Is(err, io.EOF):
		return fmt.Errorf("read byte ranges: %w", err)
	}
	return nil
}

// untilEnd reports an end before the limit as io.ErrUnexpectedEOF.
type untilEnd struct{ *io.LimitedReader }

func (u untilEnd) Read(p []byte) (int, error) {
	n, err := u.LimitedReader.Read(p)
	if errors.Is(err, io.EOF) && u.N > 0 {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// parseContentRange reads "bytes FIRST-LAST/SIZE", where SIZE may be *.
func parseContentRange(text string) (ByteRange, error) {
	bad := func() (ByteRange, error) { return ByteRange{}, malformed("%q is not a Content-Range", text) }
	rest, unit := strings.CutPrefix(strings.TrimSpace(text), "bytes ")
	span, size, sized := strings.Cut(rest, "/")
	first, last, both := strings.Cut(span, "-")
	if !unit || !sized || !both {
		return bad()
	}
	a, err := strconv.ParseUint(first, 10, 62)
	if err != nil {
		return bad()
	}
	b, err := strconv.ParseUint(last, 10, 62)
	if err != nil || b < a {
		return bad()
	}
	if size != "*" {
		if n, err := strconv.ParseUint(size, 10, 63); err != nil || n <= b {
			return bad()
		}
	}
	return ByteRange{int64(a), int64(b)}, nil
}
