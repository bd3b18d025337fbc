package workspace

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// docstring is the documentation of a Python module as inspect.getdoc gives it: its first
// statement, if that is nothing but string literals. "" = none.
func docstring(source string) string {
	if !utf8.ValidString(source) {
		return ""
	}
	source = strings.ReplaceAll(strings.TrimPrefix(source, "\ufeff"), "\r\n", "\n")
	s := &scanner{text: strings.ReplaceAll(source, "\r", "\n")}
	value, ok := s.statement()
	if !ok {
		return ""
	}
	return cleaned(value)
}

// scanner reads the beginning of a Python file.
type scanner struct {
	text  string
	at    int
	depth int // of parentheses
}

// space goes over what stands for nothing. Ends of lines count within parentheses and
// before the statement only.
func (s *scanner) space(lines bool) {
	for s.at < len(s.text) {
		switch c := s.text[s.at]; {
		case c == ' ' || c == '\t' || c == '\f':
			s.at++
		case c == '\\' && strings.HasPrefix(s.text[s.at+1:], "\n"):
			s.at += 2
		case c == '#':
			for s.at < len(s.text) && s.text[s.at] != '\n' {
				s.at++
			}
		case c == '\n' && lines:
			s.at++
		default:
			return
		}
	}
}

// statement is the value of a statement of string literals.
func (s *scanner) statement() (string, bool) {
	var value strings.Builder
	s.space(true)
	found := 0
	for {
		for s.peek() == '(' && found == 0 {
			s.at++
			s.depth++
			s.space(true)
		}
		part, ok := s.literal()
		if !ok {
			break
		}
		found++
		value.WriteString(part)
		s.space(s.depth > 0)
		for s.peek() == ')' && s.depth > 0 {
			s.at++
			s.depth--
			s.space(s.depth > 0)
		}
	}
	end := s.at == len(s.text) || s.peek() == '\n' || s.peek() == ';'
	return value.String(), found > 0 && end && s.depth == 0
}

func (s *scanner) peek() byte {
	if s.at < len(s.text) {
		return s.text[s.at]
	}
	return 0
}

// literal is the value of one string literal. Bytes and formatted strings are none.
func (s *scanner) literal() (string, bool) {
	start := s.at
	raw := false
	switch rest := s.text[s.at:]; {
	case rest == "":
		return "", false
	case rest[0] == 'r' || rest[0] == 'R':
		raw = true
		s.at++
	case rest[0] == 'u' || rest[0] == 'U':
		s.at++
	}
	quote := s.peek()
	if quote != '"' && quote != '\'' {
		s.at = start
		return "", false
	}
	mark := string(quote)
	if strings.HasPrefix(s.text[s.at:], strings.Repeat(mark, 3)) {
		mark = strings.Repeat(mark, 3)
	}
	s.at += len(mark)
	body, ok := s.body(mark)
	if !ok {
		s.at = start
		return "", false
	}
	if raw {
		return body, true
	}
	return unescape(body)
}

// body is what stands up to the closing quotes.
func (s *scanner) body(mark string) (string, bool) {
	start := s.at
	for s.at < len(s.text) {
		switch {
		case s.text[s.at] == '\\' && s.at+1 < len(s.text):
			s.at += 2
		case strings.HasPrefix(s.text[s.at:], mark):
			body := s.text[start:s.at]
			s.at += len(mark)
			return body, true
		case s.text[s.at] == '\n' && len(mark) == 1, s.text[s.at] == 0:
			return "", false
		default:
			s.at++
		}
	}
	return "", false
}

// unescape is what a literal stands for. It fails where Python refuses the file.
func unescape(body string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(body); {
		if body[i] != '\\' || i+1 == len(body) {
			b.WriteByte(body[i])
			i++
			continue
		}
		n, ok := escape(&b, body[i+1:])
		if !ok {
			return "", false
		}
		i += 1 + n
	}
	return b.String(), true
}

// escape reads what stands behind a backslash, and says how long that is.
func escape(b *strings.Builder, rest string) (int, bool) {
	const from, to = "\\'\"abfnrtv", "\\'\"\a\b\f\n\r\t\v"
	if i := strings.IndexByte(from, rest[0]); i >= 0 {
		b.WriteByte(to[i])
		return 1, true
	}
	switch c := rest[0]; {
	case c == '\n':
		return 1, true
	case c >= '0' && c <= '7':
		n := 1
		for n < 3 && n < len(rest) && rest[n] >= '0' && rest[n] <= '7' {
			n++
		}
		v, _ := strconv.ParseUint(rest[:n], 8, 32)
		b.WriteRune(rune(v))
		return n, true
	case c == 'x' || c == 'u' || c == 'U':
		n := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
		if len(rest) < 1+n {
			return 0, false
		}
		v, err := strconv.ParseUint(rest[1:1+n], 16, 32)
		if err != nil || v > utf8.MaxRune {
			return 0, false
		}
		b.WriteRune(rune(v)) // half of a pair becomes U+FFFD
		return 1 + n, true
	}
	b.WriteByte('\\') // what Python does not know stays; so do names of characters
	return 0, true
}

// cleaned is inspect.cleandoc.
func cleaned(doc string) string {
	lines := strings.Split(expandTabs(doc), "\n")
	margin := -1
	for _, l := range lines[1:] {
		if content := strings.TrimLeft(l, space); content != "" {
			if indent := len(l) - len(content); margin < 0 || indent < margin {
				margin = indent
			}
		}
	}
	lines[0] = strings.TrimLeft(lines[0], space)
	for i := 1; i < len(lines) && margin >= 0; i++ {
		lines[i] = lines[i][min(margin, len(lines[i])):]
	}
	for i, l := range lines {
		if strings.Trim(l, space) == "" {
			lines[i] = ""
		}
	}
	return strings.TrimSpace(strings.Trim(strings.Join(lines, "\n"), "\n"))
}

const space = " \t\n\v\f\r"

func expandTabs(text string) string {
	var b strings.Builder
	column := 0
	for _, c := range text {
		switch c {
		case '\t':
			n := 8 - column%8
			b.WriteString(strings.Repeat(" ", n))
			column += n
			continue
		case '\n', '\r':
			column = -1
		}
		b.WriteRune(c)
		column++
	}
	return b.String()
}
