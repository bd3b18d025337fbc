package fakerunpod

import (
	"encoding/json"
	"errors"
	"strings"
)

// program is what the args of a pod make a container run.
type program struct {
	Entrypoint []string `json:"entrypoint"`
	Cmd        []string `json:"cmd"`
}

// parseArgs reads args as RunPod does: an object {"cmd":[…],"entrypoint":[…]}, else
// words; what cannot be split that way is split at spaces.
func parseArgs(args string) program {
	var p program
	if strings.HasPrefix(strings.TrimSpace(args), "{") && json.Unmarshal([]byte(args), &p) == nil {
		return p
	}
	words, err := splitWords(args)
	if err != nil {
		words = strings.Fields(args)
	}
	return program{Cmd: words}
}

var (
	errQuote  = errors.New("a quotation is not closed")
	errEscape = errors.New("nothing follows the last backslash")
)

// splitWords knows the two kinds of quotes, the backslash and comments. It is not a
// shell: nothing is expanded, and a backslash between double quotes takes away the
// meaning of any character.
func splitWords(s string) ([]string, error) {
	sc := scanner{rest: []rune(s)}
	var words []string
	for sc.skip() {
		word, err := sc.word()
		if err != nil {
			return nil, err
		}
		words = append(words, word)
	}
	return words, nil
}

type scanner struct{ rest []rune }

func isSpace(r rune) bool { return strings.ContainsRune(" \t\r\n", r) }

// skip goes to the next word; false at the end.
func (s *scanner) skip() bool {
	for len(s.rest) > 0 {
		switch {
		case isSpace(s.rest[0]):
			s.rest = s.rest[1:]
		case s.rest[0] == '#':
			for len(s.rest) > 0 && s.rest[0] != '\n' {
				s.rest = s.rest[1:]
			}
		default:
			return true
		}
	}
	return false
}

func (s *scanner) word() (string, error) {
	var word strings.Builder
	for len(s.rest) > 0 && !isSpace(s.rest[0]) {
		r := s.rest[0]
		s.rest = s.rest[1:]
		var err error
		switch r {
		case '\\':
			err = s.escaped(&word)
		case '"', '\'':
			err = s.quoted(&word, r)
		default:
			word.WriteRune(r)
		}
		if err != nil {
			return "", err
		}
	}
	return word.String(), nil
}

func (s *scanner) escaped(word *strings.Builder) error {
	if len(s.rest) == 0 {
		return errEscape
	}
	word.WriteRune(s.rest[0])
	s.rest = s.rest[1:]
	return nil
}

func (s *scanner) quoted(word *strings.Builder, quote rune) error {
	for len(s.rest) > 0 {
		r := s.rest[0]
		s.rest = s.rest[1:]
		switch {
		case r == quote:
			return nil
		case r == '\\' && quote == '"':
			if err := s.escaped(word); err != nil {
				return err
			}
		default:
			word.WriteRune(r)
		}
	}
	return errQuote
}
