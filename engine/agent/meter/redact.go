package meter

import (
	"bytes"
	"strings"
)

// shortestSecret is the least length of a hidden key. Users give short keys such as "none" to
// servers that need no key, and these are also words.
const shortestSecret = 12

// A redactor hides secrets in a text that arrives in pieces, because an upstream may repeat the
// content of a request. The text keeps its length.
type redactor struct {
	secrets []string
	carry   []byte // the end of the text, which may be the beginning of a secret
}

// write adds a piece, and returns the redacted text. It holds back a possible beginning of a secret
// at the end.
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

// end returns the text that write has held back.
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

// begun returns the length of a beginning of the secret at the end of the text.
func begun(text []byte, secret string) int {
	for n := min(len(secret)-1, len(text)); n > 0; n-- {
		if string(text[len(text)-n:]) == secret[:n] {
			return n
		}
	}
	return 0
}

// redacted hides the secrets in a short text.
func redacted(text string, secrets []string) string {
	for _, secret := range secrets {
		text = strings.ReplaceAll(text, secret, strings.Repeat("*", len(secret)))
	}
	return text
}
