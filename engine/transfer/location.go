package transfer

import (
	"net/url"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/transfer/xet"
	"github.com/seer-engine/seer/sdk"
)

const (
	maxHeaders  = 64 << 10 // bytes of all headers of an address
	maxAddress  = 64 << 10 // bytes of a URL
	longestLife = 1 << 31  // seconds of a location that are believed
)

// Located is the source of a file that a fetcher has located at a time. An error says what
// is wrong with the location. That the parts make up the file is checked by [Download].
func Located(at sdk.Location, size int64, now time.Time) (Source, error) {
	s := Source{Content: append([]byte{}, at.Content...)}
	switch {
	case len(at.Parts) > 0 || len(at.Fetches) > 0:
		var err error
		if s, err = inParts(at, size); err != nil {
			return Source{}, err
		}
	case at.URL != "":
		if !sendable(at.Headers) {
			return Source{}, wrong("its address has a header that cannot be sent")
		}
		s = Whole(at.URL, at.Headers, size)
	}
	if at.ExpiresSeconds > 0 && at.ExpiresSeconds < longestLife {
		s.Expires = now.Add(time.Duration(at.ExpiresSeconds) * time.Second)
	}
	return s, nil
}

// wrong is the fault of whoever located a file.
func wrong(format string, args ...any) error { return sdk.Errorf(sdk.Internal, format, args...) }

// inParts is a location of parts as the mover takes it.
func inParts(at sdk.Location, size int64) (Source, error) {
	var s Source
	switch {
	case at.URL != "" || len(at.Content) > 0:
		return s, wrong("it is in parts, and somewhere else, too")
	case len(at.Parts) > sdk.MaxParts || len(at.Fetches) > sdk.MaxParts:
		return s, wrong("it is in %d parts at %d addresses, and the limit is %d", len(at.Parts), len(at.Fetches), sdk.MaxParts)
	}
	ranges := 0
	for _, from := range at.Fetches {
		if ranges += len(from.Ranges); ranges > sdk.MaxParts {
			return s, wrong("it is in more than %d signed ranges", sdk.MaxParts)
		}
		fetch, err := fetchOf(from)
		if err != nil {
			return s, err
		}
		s.Fetches = append(s.Fetches, fetch)
	}
	for _, p := range at.Parts {
		part, err := partOf(at.Fetches, p, size)
		if err != nil {
			return s, err
		}
		s.Parts = append(s.Parts, part)
	}
	if n := s.length(); n != size {
		return s, wrong("its parts have %d bytes, and the file has %d", n, size)
	}
	return s, nil
}

func fetchOf(from sdk.Fetch) (Fetch, error) {
	fetch := Fetch{URL: from.URL, Headers: from.Headers}
	u, err := url.Parse(from.URL)
	switch {
	case err != nil, u.Scheme != "https" && u.Scheme != "http", u.Host == "", u.User != nil, len(from.URL) > maxAddress:
		return fetch, wrong("a part of it is at an address that is neither https nor http")
	case !sendable(from.Headers):
		return fetch, wrong("an address of it has a header that cannot be sent")
	}
	for _, r := range from.Ranges {
		if r.Start < 0 || r.End <= r.Start || r.FirstChunk < 0 {
			return fetch, wrong("an address of it has the signed range %d to %d, which is none", r.Start, r.End)
		}
		fetch.Ranges = append(fetch.Ranges, Range{r.Start, r.End, r.FirstChunk})
	}
	return fetch, nil
}

func partOf(fetches []sdk.Fetch, p sdk.Part, size int64) (Part, error) {
	part := Part{Fetch: p.Fetch, Length: p.Length, Offset: p.Offset, Range: p.Range, FirstChunk: p.FirstChunk, EndChunk: p.EndChunk}
	if p.Fetch < 0 || p.Fetch >= len(fetches) || p.Length <= 0 || p.Length > size || p.Offset < 0 {
		return part, wrong("it has a part of %d bytes from byte %d of address %d, which does not fit", p.Length, p.Offset, p.Fetch)
	}
	ranges := fetches[p.Fetch].Ranges
	switch p.Encoding {
	case sdk.EncodingPlain:
		if len(ranges) > 0 {
			return part, wrong("it has a plain part at an address with signed ranges")
		}
	case sdk.EncodingXet:
		part.Encoding = XetChunks
		if p.Range < 0 || p.Range >= len(ranges) || p.FirstChunk < ranges[p.Range].FirstChunk || p.EndChunk <= p.FirstChunk ||
			p.EndChunk > xet.MaxXorb/xet.ChunkHeaderSize || p.Offset >= xet.MaxXorb {
			return part, wrong("it has a part of the chunks %d to %d, which its address does not have", p.FirstChunk, p.EndChunk)
		}
	default:
		return part, wrong("it has a part in the encoding %.40q; plain ones and %q can be read", p.Encoding, sdk.EncodingXet)
	}
	return part, nil
}

// sendable reports whether headers can be part of a request.
func sendable(headers map[string]string) bool {
	size := 0
	for name, value := range headers {
		size += len(name) + len(value)
		if name == "" || strings.ContainsAny(name, " :\r\n\x00") || strings.ContainsAny(value, "\r\n\x00") {
			return false
		}
	}
	return size <= maxHeaders
}
