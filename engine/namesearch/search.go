package namesearch

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/seer-engine/seer/engine/safetensors"
)

const (
	maxDepth  = 4         // encodings and archives within each other
	maxDeep   = 64 << 20  // bytes of a file whose encodings are read; what follows is read as it stands
	maxPacked = 256 << 20 // bytes that may come out of one file's archives
	chunk     = 4 << 20   // bytes that are looked at at once
	overlap   = 64 << 10  // bytes that are looked at twice, for names on an edge
)

var (
	errFound      = errors.New("found")
	errUnsearched = errors.New("too large to be searched")
)

// Find looks for a name in data, in its encodings and in the archives in it. The form
// says how the name is written: "" for as it stands, or as in "base64, gzip".
func (n Names) Find(ctx context.Context, data []byte) (form string, found bool) {
	if n.Empty() {
		return "", false
	}
	s := &search{ctx: ctx, names: n, left: maxPacked, nested: true}
	form, err := s.data(data, maxDepth)
	return form, errors.Is(err, errFound)
}

// FindIn looks for a name in a file. It is an error of the context where that has ended,
// and an [*UnsearchedError] where the file's archives hold more than can be searched.
// Tensors in files of safetensors and of torch are not searched.
func (n Names) FindIn(ctx context.Context, path string) (form string, found bool, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || n.Empty() {
		return "", false, err
	}
	s := &search{ctx: ctx, names: n, left: maxPacked, file: f, fileSize: info.Size()}
	if header, ok := tensorHeader(f, info.Size()); ok {
		form, err = s.data(header, maxDepth)
	} else {
		form, err = s.stream(f, maxDepth)
	}
	switch {
	case errors.Is(err, errFound):
		return form, true, nil
	case ctx.Err() != nil:
		return "", false, context.Cause(ctx)
	case errors.Is(err, errUnsearched):
		return "", false, &UnsearchedError{Path: path, Why: why(err)}
	}
	return "", false, nil // damaged archives hide nothing that could be read
}

func why(err error) string {
	text, _ := strings.CutPrefix(err.Error(), errUnsearched.Error()+"\n")
	return text
}

// UnsearchedError says that a file could not be searched whole.
type UnsearchedError struct{ Path, Why string }

func (e *UnsearchedError) Error() string { return fmt.Sprintf("search %s: %s", e.Path, e.Why) }

// tensorHeader is what stands before the tensors of a file of safetensors, and what stands
// after them.
func tensorHeader(f *os.File, size int64) ([]byte, bool) {
	var start [9]byte
	if _, err := f.ReadAt(start[:], 0); err != nil || start[8] != '{' {
		return nil, false
	}
	header, err := safetensors.Read(f, size)
	if err != nil {
		return nil, false
	}
	parsed, err := safetensors.Parse(header)
	if err != nil || safetensors.LengthBytes+int64(len(header))+parsed.End != size {
		return nil, false
	}
	return header, true
}

// search is one look at a file or at data.
type search struct {
	ctx      context.Context
	names    Names
	left     int64 // bytes that may still be looked at in archives
	file     io.ReaderAt
	fileSize int64
	nested   bool // what is read is not the file itself
}

// stream looks at what a reader gives, unpacked where it is packed.
func (s *search) stream(r io.Reader, depth int) (string, error) {
	if err := s.ctx.Err(); err != nil {
		return "", err
	}
	buffered := bufio.NewReaderSize(r, 64<<10)
	head, _ := buffered.Peek(512)
	format := packed(head)
	switch {
	case format == "" || depth == 0:
		return s.chunks(buffered, depth)
	case s.nested:
		return s.nestedArchive(format, buffered, depth)
	}
	form, err := s.unpack(format, buffered, depth-1)
	if stops(err) || err == nil {
		return form, err
	}
	return s.chunks(io.NewSectionReader(s.file, 0, s.fileSize), depth) // it only looks like an archive
}

// nestedArchive looks at an archive in another one.
func (s *search) nestedArchive(format string, r *bufio.Reader, depth int) (string, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxDeep))
	if err != nil || len(data) < maxDeep {
		if s.left -= int64(len(data)); s.left < 0 {
			return "", errUnsearched
		}
		return s.data(data, depth) // as far as it can be unpacked
	}
	return s.unpack(format, bufio.NewReader(io.MultiReader(bytes.NewReader(data), r)), depth-1)
}

// inside marks what follows as no longer the file itself, until the function that it
// returns is called.
func (s *search) inside() (leave func()) {
	outer := s.nested
	s.nested = true
	return func() { s.nested = outer }
}

// chunks looks at data piece by piece.
func (s *search) chunks(r io.Reader, depth int) (string, error) {
	buf := make([]byte, 0, 64<<10)
	for seen := int64(0); ; {
		if err := s.ctx.Err(); err != nil {
			return "", err
		}
		if cap(buf)-len(buf) < chunk && seen > 0 || cap(buf) == len(buf) {
			buf = append(make([]byte, 0, chunk+overlap), buf...)
		}
		n, err := io.ReadFull(r, buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		seen += int64(n)
		if s.nested {
			if s.left -= int64(n); s.left < 0 {
				return "", errUnsearched
			}
		}
		if form, found := s.piece(buf, depth, seen); found {
			return form, errFound
		}
		switch err {
		case nil:
		case io.EOF, io.ErrUnexpectedEOF:
			return "", nil
		default:
			return "", err
		}
		if len(buf) > overlap {
			buf = append(buf[:0], buf[len(buf)-overlap:]...)
		}
	}
}

// piece looks at one piece. After the first [maxDeep] bytes it looks for what stands there
// plainly or in UTF-16.
func (s *search) piece(buf []byte, depth int, seen int64) (string, bool) {
	if seen <= maxDeep {
		form, err := s.data(buf, depth)
		return form, errors.Is(err, errFound)
	}
	if s.names.In(buf) {
		return "", true
	}
	return "UTF-16", s.names.In(narrow(buf))
}

// data looks at data as it stands, unpacked, and in its encodings.
func (s *search) data(data []byte, depth int) (string, error) {
	if s.names.In(data) {
		return "", errFound
	}
	if depth == 0 || len(data) < minWord {
		return "", s.ctx.Err()
	}
	defer s.inside()()
	if format := packed(data); format != "" {
		if form, err := s.unpack(format, bufio.NewReader(bytes.NewReader(data)), depth-1); stops(err) {
			return form, err
		}
	}
	for _, v := range s.names.views(data) {
		if !v.deep {
			if s.names.In(v.data) {
				return v.form, errFound
			}
			continue
		}
		if form, err := s.data(v.data, depth-1); stops(err) {
			return within(v.form, form), err
		}
	}
	return "", s.ctx.Err()
}
