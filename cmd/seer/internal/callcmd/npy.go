package callcmd

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/seer-engine/seer/engine/protocol/value"
	"github.com/seer-engine/seer/internal/lazyregexp"
)

// The .npy format, version 1: a magic text, the length of a header, the header as a
// literal of Python, and the data.
const npyMagic = "\x93NUMPY\x01\x00"

// npyTypes are the types of NumPy by our names. Those of letters have their own size.
func npyTypes() map[string]string {
	return map[string]string{
		"bool": "|b1", "int8": "|i1", "uint8": "|u1", "int16": "<i2", "uint16": "<u2", "int32": "<i4", "uint32": "<u4",
		"int64": "<i8", "uint64": "<u8", "float16": "<f2", "float32": "<f4", "float64": "<f8", "complex64": "<c8", "complex128": "<c16",
	}
}

// npyType is the type in a .npy file; float32 for bfloat16, which NumPy does not have.
func npyType(dtype string) (string, error) {
	if t, ok := npyTypes()[dtype]; ok {
		return t, nil
	}
	if dtype == "bfloat16" {
		return "<f4", nil
	}
	for ours, theirs := range map[string]string{"datetime64": "<M8", "timedelta64": "<m8"} {
		if unit, ok := strings.CutPrefix(dtype, ours); ok {
			return theirs + unit, nil
		}
	}
	for ours, theirs := range map[string]string{"str": "<U", "bytes": "|S"} {
		if n, ok := strings.CutPrefix(dtype, ours); ok {
			return theirs + n, nil
		}
	}
	return "", fmt.Errorf("NumPy's files know no %s; write it as it is, to a name that ends with .raw", dtype)
}

// writeNPY writes an array whose data come from r.
func writeNPY(w io.Writer, dtype string, shape []int64, r io.Reader) error {
	t, err := npyType(dtype)
	if err != nil {
		return err
	}
	sides := make([]string, len(shape))
	for i, n := range shape {
		sides[i] = strconv.FormatInt(n, 10)
	}
	size := strings.Join(sides, ", ")
	if len(shape) == 1 {
		size += ","
	}
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", t, size)
	room := len(npyMagic) + 2 + len(header) + 1
	header += strings.Repeat(" ", (64-room%64)%64) + "\n"
	begin := binary.LittleEndian.AppendUint16([]byte(npyMagic), uint16(len(header)))
	if _, err := w.Write(append(begin, header...)); err != nil {
		return err
	}
	if dtype == "bfloat16" {
		r = &bfloat16Reader{r: r}
	}
	return copyLarge(w, r)
}

// bfloat16Reader makes float32 of bfloat16, which is its upper half.
type bfloat16Reader struct {
	r    io.Reader
	rest []byte
	buf  [16 << 10]byte
}

func (w *bfloat16Reader) Read(p []byte) (int, error) {
	if len(w.rest) == 0 {
		n, err := io.ReadFull(w.r, w.buf[:])
		if n == 0 || n%2 != 0 {
			return 0, err
		}
		for i := 0; i < n; i += 2 {
			w.rest = append(w.rest, 0, 0, w.buf[i], w.buf[i+1])
		}
	}
	n := copy(p, w.rest)
	w.rest = w.rest[n:]
	return n, nil
}

var npyHeader = lazyregexp.New(`^\{'descr': '([<>|=][A-Za-z][0-9]+(?:\[[0-9A-Za-z]+\])?)', 'fortran_order': (True|False), 'shape': \(([0-9, ]*)\), ?\}\s*$`)

// readNPY reads a whole .npy file.
func readNPY(data []byte) (value.Array, error) {
	header, data, err := splitNPY(data)
	if err != nil {
		return value.Array{}, err
	}
	m := npyHeader().FindSubmatch(header)
	if m == nil {
		return value.Array{}, errors.New("the header of the .npy file names a type that cannot be passed")
	}
	if string(m[2]) == "True" {
		return value.Array{}, errors.New("the array is in Fortran order; save it with numpy.ascontiguousarray")
	}
	dtype, size, err := npyDType(string(m[1]))
	if err != nil {
		return value.Array{}, err
	}
	a := value.Array{DType: dtype, Shape: []int64{}, Data: data, Lib: "numpy"}
	for _, side := range strings.FieldsFunc(string(m[3]), func(r rune) bool { return r == ',' || r == ' ' }) {
		n, err := strconv.ParseInt(side, 10, 64)
		if err != nil || n > 0 && size > math.MaxInt64/n {
			return value.Array{}, errors.New("the shape in the .npy file cannot be")
		}
		a.Shape, size = append(a.Shape, n), size*n
	}
	if size != int64(len(data)) {
		return value.Array{}, fmt.Errorf("the .npy file has %d bytes of data, but its header says %d", len(data), size)
	}
	return a, nil
}

// splitNPY tells the header from the data, in the versions 1, 2 and 3 of the format.
func splitNPY(data []byte) (header, rest []byte, err error) {
	if len(data) < 12 || !bytes.HasPrefix(data, []byte(npyMagic[:6])) {
		return nil, nil, errors.New("it is not a .npy file")
	}
	at, n := 10, int(binary.LittleEndian.Uint16(data[8:]))
	if data[6] > 1 {
		at, n = 12, int(binary.LittleEndian.Uint32(data[8:]))
	}
	if n < 0 || n > len(data)-at {
		return nil, nil, errors.New("the .npy file is cut off")
	}
	return data[at : at+n], data[at+n:], nil
}

// npyDType is our name of a type in a .npy file, and the size of an element.
func npyDType(descr string) (dtype string, size int64, err error) {
	if descr[0] == '>' {
		return "", 0, errors.New("the array is big-endian; save it with .astype(a.dtype.newbyteorder('<'))")
	}
	kind, text := descr[1], descr[2:]
	number, unit, dated := strings.Cut(text, "[")
	size, err = strconv.ParseInt(number, 10, 32)
	if err != nil {
		return "", 0, err
	}
	for ours, theirs := range npyTypes() {
		if theirs[1:] == descr[1:] {
			return ours, size, nil
		}
	}
	switch {
	case kind == 'M' && dated && size == 8:
		return "datetime64[" + unit, 8, nil
	case kind == 'm' && dated && size == 8:
		return "timedelta64[" + unit, 8, nil
	case kind == 'U':
		return "str" + number, 4 * size, nil
	case kind == 'S':
		return "bytes" + number, size, nil
	}
	return "", 0, fmt.Errorf("arrays of the type %s cannot be passed", descr)
}
