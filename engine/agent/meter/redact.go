package meter

import (
	"bytes"
	"strings"
)

// shortestSecret is the length from which keys are hidden. Servers without keys are given short
// ones such as "none", which are also words.
const shortestSecret = 12

// A redactor hides secrets in a text that comes in pieces: an upstream may repeat what it was
// sent. The text keeps its length.
type redactor struct {
	secrets []string
	carry   []byte // the end of the text, where a secret may have begun
}

// write takes a piece, and returns what can be passed on.
func (r *redactor) write(piece []byte) []byte {
	if len(r.secrets) == 0 {
		return piece
	}
	if len(r.carry) > 0 {
		piece = append(r.carry, piece...)
		r.carry = nil
	}
	for _, secret := range r.secrets {
		hide(piece, secret)
	}
	hold := 0
	for _, secret := range r.secrets {
		hold = max(hold, begun(piece, secret))
	}
	r.carry = bytes.Clone(piece[len(piece)-hold:])
	return piece[:len(piece)-hold]
}

// end returns the rest.
func (r *redactor) end() []byte {
	rest := r.carry
	r.carry = nil
	return rest
}

func hide(text []byte, secret string) {
	for at := 0; ; {
		i := bytes.Index(text[at:], []byte(secret))
		if i < 0 {
			return
		}
		for j := range secret {
			text[at+i+j] = '*'
		}
		at += i + len(secret)
	}
}

// begun is the length of the beginning of the secret that ends the text.
func begun(text []byte, secret string) int {
	for n := min(len(secret)-1, len(text)); n > 0; n-- {
		if string(text[len(text)-n:]) == secret[:n] {
			return n
		}
	}
	return 0
}

// redacted is a short text without secrets.
func redacted(text string, secrets []string) string {
	for _, secret := range secrets {
		text = strings.ReplaceAll(text, secret, strings.Repeat("*", len(secret)))
	}
	return text
}
