package egress

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// scrubber finds credentials, also in the disguises that servers give them: base64,
// alone or in the middle of more; hex; escaped for a URL or for JSON.
type scrubber struct {
	found atomic.Pointer[needles]

	mu    sync.Mutex
	known map[string]string // value → name
}

func newScrubber() *scrubber {
	s := &scrubber{known: map[string]string{}}
	s.found.Store(newNeedles(nil))
	return s
}

// know adds a credential, of at least shortestSecret bytes.
func (s *scrubber) know(name, value string) {
	if len(value) < shortestSecret {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known[value] == name {
		return
	}
	s.known[value] = name
	s.found.Store(newNeedles(s.known))
}

func (s *scrubber) forget(name, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known[value] == name {
		delete(s.known, value)
		s.found.Store(newNeedles(s.known))
	}
}

// text replaces each credential by [secret NAME].
func (s *scrubber) text(text string) string {
	n := s.found.Load()
	at, hit := n.find([]byte(text))
	if hit == nil {
		return text
	}
	var out strings.Builder
	for rest := []byte(text); ; {
		out.Write(rest[:at])
		out.WriteString("[secret " + hit.name + "]")
		rest = rest[at+len(hit.text):]
		if at, hit = n.find(rest); hit == nil {
			out.Write(rest)
			return out.String()
		}
	}
}

// fill replaces each credential in place by as many other bytes, so that lengths
// given elsewhere stay true.
func (s *scrubber) fill(b []byte) {
	n := s.found.Load()
	for {
		at, hit := n.find(b)
		if hit == nil {
			return
		}
		end := at + len(hit.text)
		label := copy(b[at:end], "[secret "+hit.name+"]")
		copy(b[at+label:end], bytes.Repeat([]byte("*"), len(hit.text)-label))
		b = b[end:]
	}
}

// filter is a fill of a stream: it holds back what may be the beginning of a
// credential until it is known what follows.
type filter struct {
	s    *scrubber
	held []byte
}

// next takes a piece and gives what can go on; with last, all of it.
func (f *filter) next(piece []byte, last bool) []byte {
	b := append(f.held, piece...)
	f.s.fill(b)
	keep := 0
	if !last {
		keep = f.s.found.Load().begun(b)
	}
	f.held = bytes.Clone(b[len(b)-keep:])
	return b[:len(b)-keep]
}

// needle is one form of a credential.
type needle struct {
	text []byte
	name string
}

// needles are searched for all at once, by their first four bytes.
type needles struct {
	by      map[uint32][]needle // longest first
	maybe   [1 << 10]uint64     // a bit for each hash of a beginning: most places need no map
	longest int
}

const needleHead = 4

func head(b []byte) uint32 { return binary.LittleEndian.Uint32(b) }

func bit(h uint32) (word int, mask uint64) {
	h = h * 0x9e3779b1 >> 16
	return int(h >> 6), 1 << (h & 63)
}

func newNeedles(known map[string]string) *needles {
	n := &needles{by: map[uint32][]needle{}}
	for value, name := range known {
		for _, form := range forms(value) {
			n.add(needle{[]byte(form), name})
		}
	}
	for _, list := range n.by {
		slices.SortFunc(list, func(a, b needle) int { return len(b.text) - len(a.text) })
	}
	return n
}

func (n *needles) add(x needle) {
	h := head(x.text)
	for _, have := range n.by[h] {
		if bytes.Equal(have.text, x.text) {
			return
		}
	}
	n.by[h] = append(n.by[h], x)
	word, mask := bit(h)
	n.maybe[word] |= mask
	n.longest = max(n.longest, len(x.text))
}

// find gives the first place of any needle, the longest one there.
func (n *needles) find(b []byte) (int, *needle) {
	if n.longest == 0 {
		return 0, nil
	}
	for i := 0; i+needleHead <= len(b); i++ {
		h := head(b[i:])
		if word, mask := bit(h); n.maybe[word]&mask == 0 {
			continue
		}
		for k, x := range n.by[h] {
			if bytes.HasPrefix(b[i:], x.text) {
				return i, &n.by[h][k]
			}
		}
	}
	return 0, nil
}

// begun is the length of the longest end of b with which a needle may begin.
func (n *needles) begun(b []byte) int {
	for i := max(0, len(b)-n.longest+1); i < len(b); i++ {
		if n.begins(b[i:]) {
			return len(b) - i
		}
	}
	return 0
}

func (n *needles) begins(end []byte) bool {
	if len(end) >= needleHead {
		return slices.ContainsFunc(n.by[head(end)], func(x needle) bool { return bytes.HasPrefix(x.text, end) })
	}
	for _, list := range n.by {
		if bytes.HasPrefix(list[0].text, end) { // all of a list begin alike
			return true
		}
	}
	return false
}

// forms are the ways in which a value may come back.
func forms(value string) []string {
	out := []string{value, url.QueryEscape(value), url.PathEscape(value), hex.EncodeToString([]byte(value)),
		strings.ToUpper(hex.EncodeToString([]byte(value)))}
	out = append(out, lowerEscapes(out[1]), lowerEscapes(out[2]))
	if quoted, err := json.Marshal(value); err == nil {
		out = append(out, string(quoted[1:len(quoted)-1]))
	}
	out = append(out, strings.ReplaceAll(value, "/", `\/`))
	for _, alphabet := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			out = append(out, inner64(alphabet, value, before))
		}
	}
	return slices.DeleteFunc(out, func(s string) bool { return len(s) < needleHead })
}

// inner64 is the part of the base64 of a text that depends on value alone, when so
// many bytes (mod 3) come before it. Of short values too little is left.
func inner64(alphabet *base64.Encoding, value string, before int) string {
	full := alphabet.EncodeToString(append(make([]byte, before), value...))
	from := []int{0, 2, 3}[before]
	to := (before + len(value)) * 8 / 6
	if to-from < 6 {
		return ""
	}
	return full[from:to]
}

// lowerEscapes writes %2F as %2f.
func lowerEscapes(escaped string) string {
	b := []byte(escaped)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:i+3], bytes.ToLower(b[i+1:i+3]))
		}
	}
	return string(b)
}
