package repl

import (
	"bytes"
	"strings"
)

// maxMark is longer than any mark.
const maxMark = 4 << 10

// marks finds what the interpreter says between what the code prints; interpreter.py
// tells how it looks.
type marks struct {
	prefix []byte
	kept   []byte // what may be the beginning of a mark
	text   func([]byte) error
	mark   func(words []string) error
}

func newMarks(nonce string, text func([]byte) error, mark func([]string) error) *marks {
	return &marks{prefix: []byte("\x00seer-" + nonce + " "), text: text, mark: mark}
}

func (m *marks) Write(data []byte) (int, error) {
	n := len(data)
	if len(m.kept) > 0 {
		data = append(m.kept, data...)
		m.kept = nil
	}
	for len(data) > 0 {
		used, err := m.next(data)
		if err != nil {
			return 0, err
		}
		if used == 0 {
			m.kept = bytes.Clone(data)
			break
		}
		data = data[used:]
	}
	return n, nil
}

// next takes text up to a zero byte, or a mark; nothing where it has to see more.
func (m *marks) next(data []byte) (int, error) {
	switch i := bytes.IndexByte(data, 0); {
	case i < 0:
		return len(data), m.text(data)
	case i > 0:
		return i, m.text(data[:i])
	}
	if len(data) < len(m.prefix) && bytes.HasPrefix(m.prefix, data) {
		return 0, nil
	}
	rest, is := bytes.CutPrefix(data, m.prefix)
	if !is {
		return 1, m.text(data[:1])
	}
	end := bytes.IndexByte(rest, '\n')
	switch {
	case end < 0 && len(rest) < maxMark:
		return 0, nil
	case end < 0:
		return len(m.prefix), m.text(m.prefix)
	}
	return len(m.prefix) + end + 1, m.mark(strings.Fields(string(rest[:end])))
}
