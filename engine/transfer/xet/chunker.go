package xet

import (
	"bufio"
	"errors"
	"io"
)

const (
	minChunk     = 8 << 10
	gearWindow   = 64           // bytes that the rolling number depends on
	boundaryMask = 0xffff << 48 // all zero at one position in 64 KiB
)

// Split cuts r into chunks where the content says so, as everybody who stores a file does, and
// calls each with every chunk. raw is valid until each returns.
func Split(r io.Reader, each func(raw []byte) error) error {
	in := bufio.NewReaderSize(r, MaxChunk)
	for {
		raw, err := in.Peek(MaxChunk)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if len(raw) == 0 {
			return nil
		}
		raw = raw[:boundary(raw)]
		if err := each(raw); err != nil {
			return err
		}
		if _, err := in.Discard(len(raw)); err != nil {
			return err
		}
	}
}

// boundary is the length of the first chunk of b.
func boundary(b []byte) int {
	var rolling uint64
	for i := minChunk - gearWindow; i < len(b); i++ {
		rolling = rolling<<1 + gear[b[i]]
		if i+1 >= minChunk && rolling&boundaryMask == 0 {
			return i + 1
		}
	}
	return len(b)
}
