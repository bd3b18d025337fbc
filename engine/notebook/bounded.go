package notebook

import (
	"errors"
	"fmt"
	"io"
)

// maxAnswer is what an answer of the service may have at most: as much as Jupyter takes
// itself. Whatever listens at its port could go on for ever.
const maxAnswer = 512 << 20

// errTooMuch is an answer that nobody asked for.
var errTooMuch = errors.New("the answer is longer than any of the notebook service")

// bounded is the body of an answer, which may not be longer than left.
type bounded struct {
	io.ReadCloser
	left  int64
	heard func() // something has come; nil = nobody asks
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		var more [1]byte
		if n, err := b.ReadCloser.Read(more[:]); n == 0 {
			return 0, err
		}
		return 0, fmt.Errorf("%w: it is not the service that answers", errTooMuch)
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	if n > 0 && b.heard != nil {
		b.heard()
	}
	return n, err
}
