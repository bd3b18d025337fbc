package veil

import (
	"bytes"
	"context"
	"io"
	"os"
	"strings"
)

// Words are the names that must not be found. They are compared without case, and any
// run of other characters than letters and digits is the same: gemma-2-9b is found in
// GEMMA_2_9B and models--google--gemma-2-9b.
type Words struct{ forms [][]byte }

// minWord is the shortest word that says which model it is: a shorter one would be
// found everywhere.
const minWord = 4

// NewWords takes names of models as they are written: google/gemma-2-9b, ./tiny,
// shelf:tiny/other. Of each the whole and its last part count. Words that except
// contains as a whole (the architecture, which has to stay) are left out and returned.
func NewWords(names []string, except ...string) (w Words, told []string) {
	stay, known := map[string]bool{}, map[string]bool{}
	for _, e := range except {
		stay[string(normal([]byte(e)))] = true
	}
	for _, name := range names {
		for _, word := range parts(name) {
			form := normal([]byte(word))
			switch {
			case stay[string(form)]:
				told = append(told, word)
			case len(form) >= minWord && !known[string(form)]: // one name may be there twice
				known[string(form)] = true
				w.forms = append(w.forms, form)
			}
		}
	}
	return w, told
}

func parts(name string) []string {
	if scheme, rest, ok := strings.Cut(name, ":"); ok && !strings.Contains(scheme, "/") {
		name = rest
	}
	name = strings.Trim(name, "./")
	last := name[strings.LastIndex(name, "/")+1:]
	if last == name {
		return []string{name}
	}
	return []string{name, last}
}

// normal is a text as it is compared.
func normal(text []byte) []byte {
	out := make([]byte, 0, len(text))
	gap := false
	for _, c := range text {
		switch {
		case c >= 'A' && c <= 'Z':
			c += 'a' - 'A'
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c >= 0x80:
		default:
			gap = len(out) > 0
			continue
		}
		if gap {
			out, gap = append(out, '-'), false
		}
		out = append(out, c)
	}
	return out
}

// Empty reports whether there is nothing to look for.
func (w Words) Empty() bool { return len(w.forms) == 0 }

// In reports whether one of the words is in a text.
func (w Words) In(text []byte) bool {
	n := normal(text)
	for _, form := range w.forms {
		if bytes.Contains(n, form) {
			return true
		}
	}
	return false
}

// chunk is how much of a file is looked at at once.
const chunk = 1 << 20

// InFile reports whether one of the words is in a file, whatever its size.
func (w Words) InFile(ctx context.Context, path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	const overlap = 4 << 10
	buf := make([]byte, 0, chunk+overlap)
	for {
		n, err := io.ReadFull(reader{ctx, f}, buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if w.In(buf) {
			return true, nil
		}
		switch err {
		case nil:
		case io.EOF, io.ErrUnexpectedEOF:
			return false, nil
		default:
			return false, err
		}
		buf = append(buf[:0], buf[len(buf)-overlap:]...)
	}
}

// Forms are the words as the probe of a sandbox looks for them.
func (w Words) Forms() []string {
	out := make([]string, len(w.forms))
	for i, f := range w.forms {
		out[i] = string(f)
	}
	return out
}
