// Package gguf reads the headers of GGUF files: what a model is, and what tensors a file has.
// Nothing in a header is trusted: each length is checked before it is used.
package gguf

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/seer-engine/seer/internal/lazyregexp"
)

const (
	// Suffix ends the names of GGUF files.
	Suffix = ".gguf"
	// MaxHeader is the size in bytes of the largest header that is read. Those of models with
	// large vocabularies have about 16 MB.
	MaxHeader = 256 << 20

	magic      = "GGUF"
	maxString  = 16 << 20
	maxKept    = 10_000 // entries of a list; longer ones, such as vocabularies, are passed over
	maxTensors = 1_000_000
	maxDims    = 8
	alignment  = 32 // of the tensors, unless the file says otherwise
)

// shard is the end of the name of a file of several that are one model.
var shard = lazyregexp.New(`-\d{5}-of-\d{5}\.gguf$`)

// Models groups the GGUF files among names by the model that they make up, in the order of their
// names. The file of a projector (mmproj), which llama.cpp loads beside any model, makes up none.
func Models(names []string) map[string][]string {
	models := map[string][]string{}
	for _, name := range slices.Sorted(slices.Values(names)) {
		if strings.HasSuffix(name, Suffix) && !strings.HasPrefix(path.Base(name), "mmproj") {
			whole := shard().ReplaceAllString(name, Suffix)
			models[whole] = append(models[whole], name)
		}
	}
	return models
}

// ErrShort is the error of a file that ends within its header: more of it may be read.
var ErrShort = errors.New("the file ends within its header")

// Tensor is one tensor of a file.
type Tensor struct {
	Type     string // as llama.cpp names it, such as Q4_K
	Elements int64
	Bytes    int64 // in the file; [math.MaxInt64] if they do not fit
}

// Header is what a header says. Numbers of the metadata are int64, float64 or bool, and lists are
// []int64; texts are strings. Lists of texts, and lists of more than 10,000 entries, are left out.
type Header struct {
	Metadata map[string]any
	Tensors  map[string]Tensor
	End      int64 // where the tensors begin in the file
}

// Bytes is what the tensors have in all.
func (h Header) Bytes() (all int64) {
	for _, t := range h.Tensors {
		if t.Bytes > math.MaxInt64-all {
			return math.MaxInt64
		}
		all += t.Bytes
	}
	return all
}

// ReadFile reads the header of a file. The tensors may be a hole; that they end within the file
// is checked.
func ReadFile(path string) (Header, error) {
	f, err := os.Open(path)
	if err != nil {
		return Header{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Header{}, err
	}
	h, err := Parse(io.LimitReader(f, info.Size()))
	if err == nil && h.Bytes() > max(0, info.Size()-h.End) {
		err = fmt.Errorf("its tensors have %d bytes, and the file %d after its header", h.Bytes(), max(0, info.Size()-h.End))
	}
	return h, err
}

// Parse reads a header from the beginning of a file. It is [ErrShort] if r ends too early.
func Parse(r io.Reader) (Header, error) {
	d := &decoder{r: bufio.NewReaderSize(io.LimitReader(r, MaxHeader+1), 64<<10)}
	h, err := d.header()
	switch {
	case d.at > MaxHeader:
		return Header{}, fmt.Errorf("its header has more than %d bytes", MaxHeader)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return Header{}, ErrShort
	}
	return h, err
}

// decoder reads little-endian numbers and counts.
type decoder struct {
	r  *bufio.Reader
	at int64
}

func (d *decoder) header() (Header, error) {
	begin, err := d.bytes(int64(len(magic)))
	if err != nil {
		return Header{}, err
	}
	if string(begin) != magic {
		return Header{}, errors.New("it is no GGUF file")
	}
	version, err := d.number(4)
	if err != nil {
		return Header{}, err
	}
	if version != 2 && version != 3 {
		return Header{}, fmt.Errorf("version %d of GGUF is not known, only 2 and 3, little-endian", version)
	}
	tensors, err1 := d.number(8)
	entries, err2 := d.number(8)
	if err := errors.Join(err1, err2); err != nil {
		return Header{}, err
	}
	if tensors > maxTensors || entries > maxTensors {
		return Header{}, fmt.Errorf("it would have %d tensors and %d entries of metadata", tensors, entries)
	}
	h := Header{Metadata: map[string]any{}, Tensors: map[string]Tensor{}}
	for range entries {
		if err := d.entry(h.Metadata); err != nil {
			return Header{}, err
		}
	}
	for range tensors {
		if err := d.tensor(h.Tensors); err != nil {
			return Header{}, err
		}
	}
	align, _ := h.Metadata["general.alignment"].(int64)
	if align <= 0 || align > 1<<20 {
		align = alignment
	}
	h.End = (d.at + align - 1) / align * align
	return h, nil
}

// entry reads one entry of the metadata.
func (d *decoder) entry(into map[string]any) error {
	key, err := d.text()
	if err != nil {
		return err
	}
	kind, err := d.number(4)
	if err != nil {
		return err
	}
	value, err := d.value(kind, 0)
	if err != nil {
		return fmt.Errorf("its metadata %.100q: %w", key, err)
	}
	if value != nil {
		into[key] = value
	}
	return nil
}

func (d *decoder) tensor(into map[string]Tensor) error {
	name, err := d.text()
	if err != nil {
		return err
	}
	dims, err := d.number(4)
	if err != nil {
		return err
	}
	if dims > maxDims {
		return fmt.Errorf("its tensor %.100q would have %d dimensions", name, dims)
	}
	shape := make([]uint64, dims)
	for i := range shape {
		if shape[i], err = d.number(8); err != nil {
			return err
		}
	}
	kind, err1 := d.number(4)
	_, err2 := d.number(8) // where it begins
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	t, err := sized(kind, shape)
	if err != nil {
		return fmt.Errorf("its tensor %.100q: %w", name, err)
	}
	into[name] = t
	return nil
}

func (d *decoder) bytes(n int64) ([]byte, error) {
	b := make([]byte, n)
	m, err := io.ReadFull(d.r, b)
	d.at += int64(m)
	return b, err
}

func (d *decoder) skip(n int64) error {
	m, err := io.CopyN(io.Discard, d.r, n)
	d.at += m
	return err
}

// number reads an unsigned number of so many bytes.
func (d *decoder) number(bytes int64) (uint64, error) {
	b, err := d.bytes(bytes)
	if err != nil {
		return 0, err
	}
	var all [8]byte
	copy(all[:], b)
	return binary.LittleEndian.Uint64(all[:]), nil
}

func (d *decoder) length() (int64, error) {
	n, err := d.number(8)
	if err == nil && n > maxString {
		err = fmt.Errorf("a text would have %d bytes", n)
	}
	return int64(min(n, maxString)), err
}

func (d *decoder) text() (string, error) {
	n, err := d.length()
	if err != nil {
		return "", err
	}
	b, err := d.bytes(n)
	return string(b), err
}
