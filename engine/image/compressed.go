package image

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// maxWindow is what `zstd --long` uses; a layer that wants more memory is refused.
const maxWindow = 128 << 20

// decompress tells by its first bytes how a layer is compressed: media types lie.
func decompress(r io.Reader) (io.Reader, func(), error) {
	in := bufio.NewReaderSize(source{r}, 256<<10)
	head, err := in.Peek(4)
	if err != nil && err != io.EOF {
		return nil, nil, damaged(err)
	}
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, nil, damaged(err)
		}
		return z, func() { _ = z.Close() }, nil
	case bytes.Equal(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(in, zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, nil, damaged(err)
		}
		return z, z.Close, nil
	}
	return in, func() {}, nil
}

// source is where a layer is read from. Its errors say nothing of the layer.
type source struct{ r io.Reader }

// sourceError is one of them.
type sourceError struct{ error }

func (e *sourceError) Unwrap() error { return e.error }

func (s source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = &sourceError{err}
	}
	return n, err
}

// damaged is the error of a layer that is no archive, if it could be read at all.
func damaged(err error) error {
	var unread *sourceError
	if errors.As(err, &unread) {
		return fmt.Errorf("the layer cannot be read: %w", unread.error)
	}
	return invalid("the layer is damaged: %v", err)
}
