package transfer

import (
	"cmp"
	"encoding/hex"
	"io/fs"
	"math"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/transfer/xet"
	"github.com/seer-engine/seer/sdk"
)

// File is one file of a plan.
type File struct {
	Path    string // slash-separated, relative to the folder, without ..
	Name    string // in errors; empty = Path
	Size    int64  // bytes
	SHA256  string // of the content, in hexadecimal digits; "" = unknown
	GitSHA1 string // of "blob <size>\0" and the content; "" = unknown

	// Source may be zero if there is a Renew function, which is then asked first.
	Source Source
}

// Source says where the bytes of a file are. The lengths of Parts add up to the size of
// the file.
type Source struct {
	Content []byte // the whole file; nil = it is read from Parts
	Fetches []Fetch
	Parts   []Part    // in the order of the file
	Expires time.Time // the addresses are useless from then on; zero = not known

	// Copies are pieces that need not be downloaded. Only those of a source that
	// Options.Renew gives are used.
	Copies []Copy

	beginning bool // the addresses have more than this; see First
}

// Fetch is an address that can be read.
type Fetch struct {
	URL     string            // http or https
	Headers map[string]string // sent to the host of URL alone
	// Ranges are the byte ranges that URL is signed for. A request names all of them,
	// exactly. None means that any range can be read.
	Ranges []Range
}

// Range is a byte range of an address.
type Range struct {
	Start, End int64 // End is exclusive
	FirstChunk int   // Xet: number of the chunk that begins at Start
}

// Encoding says what the bytes of an address are.
type Encoding int

// The encodings.
const (
	Identity  Encoding = iota // the bytes of the file
	XetChunks                 // a run of Xet chunks
)

// Part is a piece of the file.
type Part struct {
	Encoding Encoding
	Fetch    int   // index in Source.Fetches
	Length   int64 // bytes of the file

	// Identity: where the piece begins in the address. XetChunks: how many raw bytes of its
	// chunks come before it.
	Offset int64

	Range      int // XetChunks: index in Fetch.Ranges
	FirstChunk int // XetChunks: number of the first chunk of the piece
	EndChunk   int // XetChunks: number of the chunk behind the last one
}

// Whole is the source of a file that is the content of one address.
func Whole(address string, headers map[string]string, size int64) Source {
	return Source{Fetches: []Fetch{{URL: address, Headers: headers}}, Parts: []Part{{Length: size}}}
}

// length is how many bytes the parts make up.
func (s Source) length() (n int64) {
	for _, p := range s.Parts {
		if n += p.Length; n < 0 { // more than there can be
			return math.MaxInt64
		}
	}
	return n
}

func (f File) name() string { return cmp.Or(f.Name, f.Path) }

func (s Source) zero() bool { return s.Content == nil && len(s.Fetches) == 0 && len(s.Parts) == 0 }

// working are the endings of the files that this package keeps beside a file.
var working = []string{incomplete, incomplete + sidecarSuffix, incomplete + sidecarSuffix + newSuffix, lockSuffix}

// checkPlan makes names safe before they become paths, and sources before they are asked.
func checkPlan(files []File, renewable bool) error {
	names := map[string]string{} // in one case -> as it is written
	for _, f := range files {
		if err := checkFile(f, renewable); err != nil {
			return err
		}
		if other, taken := names[fold(f.Path)]; taken {
			return refuse("%q and %q are one name where upper and lower case are the same; rename or leave out one of them", other, f.Path)
		}
		names[fold(f.Path)] = f.Path
	}
	for _, f := range files {
		for dir := path.Dir(f.Path); dir != "."; dir = path.Dir(dir) {
			if other, taken := names[fold(dir)]; taken {
				return refuse("%q is both a file and a folder; rename or leave out one of them", other)
			}
		}
		for _, suffix := range working {
			if other, taken := names[fold(f.Path+suffix)]; taken {
				return refuse("the name %q is needed during the download of %q; leave out one of them", other, f.Path)
			}
		}
	}
	return nil
}

func fold(name string) string { return strings.ToLower(strings.ToUpper(name)) }

func checkFile(f File, renewable bool) error {
	switch {
	case !fs.ValidPath(f.Path) || f.Path == "." || strings.ContainsAny(f.Path, "\\\x00"):
		return refuse("%q is not a plain relative path", f.Path)
	case f.Size < 0:
		return refuse("%q has a negative size", f.name())
	case !digits(f.SHA256, 64):
		return refuse("%q has the SHA-256 %q, which is not 64 hexadecimal digits", f.name(), f.SHA256)
	case !digits(f.GitSHA1, 40):
		return refuse("%q has the git hash %q, which is not 40 hexadecimal digits", f.name(), f.GitSHA1)
	case f.Source.zero() && renewable:
		return nil
	}
	return checkSource(f, f.Source)
}

func digits(text string, want int) bool {
	_, err := hex.DecodeString(text)
	return text == "" || err == nil && len(text) == want
}

func checkSource(f File, s Source) error {
	if s.Content != nil && len(s.Parts) == 0 {
		if n := int64(len(s.Content)); n != f.Size {
			return f.otherSize(n)
		}
		return nil
	}
	var sum int64
	for _, p := range s.Parts {
		if p.Fetch < 0 || p.Fetch >= len(s.Fetches) || p.Length < 0 || p.Offset < 0 || p.Length > f.Size-sum {
			return refuse("%q has a part that does not fit", f.name())
		}
		sum += p.Length
		if err := checkPart(f, s.Fetches[p.Fetch], p); err != nil {
			return err
		}
	}
	if sum != f.Size || len(s.Parts) == 0 && f.Size > 0 {
		return refuse("%q has %d bytes, and its parts have %d", f.name(), f.Size, sum)
	}
	for _, fetch := range s.Fetches {
		u, err := url.Parse(fetch.URL)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return refuse("%q is at an address that is neither http nor https", f.name())
		}
	}
	return nil
}

func checkPart(f File, fetch Fetch, p Part) error {
	switch p.Encoding {
	case Identity:
		if len(fetch.Ranges) > 0 {
			return refuse("%q has a plain part at an address with signed ranges", f.name())
		}
	case XetChunks:
		return checkChunks(f, fetch, p)
	default:
		return refuse("%q has a part of an unknown encoding", f.name())
	}
	return nil
}

func checkChunks(f File, fetch Fetch, p Part) error {
	if p.Range < 0 || p.Range >= len(fetch.Ranges) {
		return refuse("%q has a part in a range that is not signed", f.name())
	}
	chunks := p.EndChunk - p.FirstChunk
	if p.FirstChunk < fetch.Ranges[p.Range].FirstChunk || chunks <= 0 || p.Length == 0 || (p.Offset+p.Length-1)/xet.MaxChunk >= int64(chunks) {
		return refuse("%q has a part with more bytes than its chunks can have", f.name())
	}
	for i, r := range fetch.Ranges {
		if r.Start < 0 || r.End <= r.Start || i > 0 && r.Start < fetch.Ranges[i-1].End {
			return refuse("%q is at an address whose signed ranges are not in order", f.name())
		}
	}
	return nil
}

// refuse blames whoever made the plan.
func refuse(format string, args ...any) error {
	return sdk.Errorf(sdk.Invalid, "download plan refused: "+format, args...)
}
