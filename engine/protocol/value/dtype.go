package value

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/seer-engine/seer/internal/lazyregexp"
)

const maxDimensions = 64

var (
	dateDType = lazyregexp.New(`^(datetime64|timedelta64)\[(Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as)\]$`)
	textDType = lazyregexp.New(`^(str|bytes)([1-9][0-9]{0,8})$`)
)

// ItemSize is how many bytes an element has.
func ItemSize(dtype string) (int64, error) {
	switch dtype {
	case "bool", "int8", "uint8",
		"float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu":
		return 1, nil
	case "int16", "uint16", "float16", "bfloat16":
		return 2, nil
	case "int32", "uint32", "float32":
		return 4, nil
	case "int64", "uint64", "float64", "complex64":
		return 8, nil
	case "complex128":
		return 16, nil
	}
	if dateDType().MatchString(dtype) {
		return 8, nil
	}
	if m := textDType().FindStringSubmatch(dtype); m != nil {
		n, _ := strconv.ParseInt(m[2], 10, 64) // at most nine digits
		if m[1] == "str" {
			n *= 4
		}
		return n, nil
	}
	return 0, malformed("an array has the dtype %q, which is unknown here", shorten(dtype))
}

// Size is how many bytes of data the array must have.
func (a Array) size() (int64, error) {
	size, err := ItemSize(a.DType)
	if err != nil {
		return 0, err
	}
	if len(a.Shape) > maxDimensions {
		return 0, malformed("an array has %d dimensions", len(a.Shape))
	}
	extent := size // also an empty one must be possible
	for _, n := range a.Shape {
		if n < 0 {
			return 0, malformed("an array has the shape %v", a.Shape)
		}
		if n > 0 && extent > (1<<62)/n {
			return 0, malformed("an array has the shape %v, which is too large for any machine", a.Shape)
		}
		extent *= max(n, 1)
		size *= n
	}
	return size, nil
}

// Check tells whether dtype, shape and data fit each other.
func (a Array) Check() error {
	size, err := a.size()
	if err == nil && size != int64(len(a.Data)) {
		err = malformed("an array of %s with the shape %v has %d bytes, not %d", a.DType, a.Shape, size, len(a.Data))
	}
	if err == nil && strings.HasPrefix(a.DType, "str") {
		err = checkLetters(a.Data)
	}
	return err
}

// checkLetters refuses what is no letter of Unicode: Python would fall over it.
func checkLetters(data []byte) error {
	for ; len(data) >= 4; data = data[4:] {
		if binary.LittleEndian.Uint32(data) > utf8.MaxRune {
			return malformed("an array of texts has letters that are none")
		}
	}
	return nil
}

// elements writes single elements as plain JSON.
type elements func(out []byte, item []byte) []byte

// writer is how elements of a dtype are written.
func (a Array) writer() elements {
	switch a.DType {
	case "bool":
		return func(out, b []byte) []byte { return strconv.AppendBool(out, b[0] != 0) }
	case "int8", "int16", "int32", "int64":
		return func(out, b []byte) []byte { return strconv.AppendInt(out, signed(b), 10) }
	case "uint8", "uint16", "uint32", "uint64":
		return func(out, b []byte) []byte { return strconv.AppendUint(out, unsigned(b), 10) }
	case "complex64", "complex128":
		return func(out, b []byte) []byte {
			half, bits := len(b)/2, len(b)*4
			return append(out, quote(complexText(float(b[:half]), float(b[half:]), bits))...)
		}
	}
	if m := dateDType().FindStringSubmatch(a.DType); m != nil {
		return dateWriter(m[1], m[2])
	}
	switch {
	case strings.HasPrefix(a.DType, "str"):
		return func(out, b []byte) []byte { return append(out, quote(ucs4(b))...) }
	case strings.HasPrefix(a.DType, "bytes"):
		return func(out, b []byte) []byte {
			return append(out, quote(base64.StdEncoding.EncodeToString([]byte(strings.TrimRight(string(b), "\x00"))))...)
		}
	}
	toFloat, bits := floatReader(a.DType)
	return func(out, b []byte) []byte { return appendFloat(out, toFloat(b), bits) }
}

func floatReader(dtype string) (func([]byte) float64, int) {
	switch dtype {
	case "float16":
		return func(b []byte) float64 { return half(binary.LittleEndian.Uint16(b)) }, 32
	case "bfloat16":
		return func(b []byte) float64 {
			return float64(math.Float32frombits(uint32(binary.LittleEndian.Uint16(b)) << 16))
		}, 32
	case "float8_e5m2":
		return func(b []byte) float64 { return half(uint16(b[0]) << 8) }, 32
	case "float8_e4m3fn":
		return eighth(3, 7, 127), 32
	case "float8_e4m3fnuz":
		return eighth(3, 8, 0), 32
	case "float8_e5m2fnuz":
		return eighth(2, 16, 0), 32
	case "float8_e8m0fnu":
		return powerOfTwo, 32
	case "float32":
		return float, 32
	}
	return float, 64
}

// number is the element of an array without dimensions, as Go has it.
func (a Array) number() any {
	half := len(a.Data) / 2
	switch {
	case a.DType == "bool":
		return a.Data[0] != 0
	case strings.HasPrefix(a.DType, "int"):
		return signed(a.Data)
	case strings.HasPrefix(a.DType, "uint"):
		return number(strconv.FormatUint(unsigned(a.Data), 10))
	case strings.HasPrefix(a.DType, "complex"):
		return complex(float(a.Data[:half]), float(a.Data[half:]))
	}
	read, _ := floatReader(a.DType)
	return read(a.Data)
}

func unsigned(b []byte) uint64 {
	var buf [8]byte
	copy(buf[:], b)
	return binary.LittleEndian.Uint64(buf[:])
}

func signed(b []byte) int64 {
	shift := 64 - 8*len(b)
	return int64(unsigned(b)<<shift) >> shift //nolint:gosec // the sign is meant
}

// float reads a float32 or a float64.
func float(b []byte) float64 {
	if len(b) == 4 {
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b))
}

func half(v uint16) float64 {
	sign, exponent, fraction := 1-2*float64(v>>15), int(v>>10&31), float64(v&1023)
	switch exponent {
	case 0:
		return sign * math.Ldexp(fraction, -24)
	case 31:
		if fraction != 0 {
			return math.NaN()
		}
		return sign * math.Inf(1)
	}
	return sign * math.Ldexp(1024+fraction, exponent-25)
}

// eighth reads a float8 without infinities, whose fraction has so many bits. If nan is
// 0, the one NaN is in place of -0; otherwise it has two, which are nan but for the sign.
func eighth(bits, bias int, nan byte) func([]byte) float64 {
	return func(b []byte) float64 {
		v, one := b[0], 1<<bits
		sign, exponent, fraction := 1-2*float64(v>>7), int(v&127)>>bits, int(v)&(one-1)
		switch {
		case nan == 0 && v == 0x80, nan != 0 && v&127 == nan:
			return math.NaN()
		case exponent == 0:
			return sign * math.Ldexp(float64(fraction), 1-bias-bits)
		}
		return sign * math.Ldexp(float64(one+fraction), exponent-bias-bits)
	}
}

// powerOfTwo reads a float8_e8m0fnu.
func powerOfTwo(b []byte) float64 {
	if b[0] == 255 {
		return math.NaN()
	}
	return math.Ldexp(1, int(b[0])-127)
}

// ucs4 reads text of NumPy; half of a surrogate pair becomes U+FFFD.
func ucs4(b []byte) string {
	var out []byte
	for ; len(b) >= 4; b = b[4:] {
		out = utf8.AppendRune(out, rune(binary.LittleEndian.Uint32(b))) //nolint:gosec // Check has seen it
	}
	return strings.TrimRight(string(out), "\x00")
}

// Floats is an array of numbers as float64s, in C order.
func (a Array) Floats() ([]float64, error) {
	size, err := ItemSize(a.DType)
	if err == nil {
		err = a.Check()
	}
	if err != nil {
		return nil, err
	}
	read, _ := floatReader(a.DType)
	switch {
	case strings.HasPrefix(a.DType, "int"):
		read = func(b []byte) float64 { return float64(signed(b)) }
	case strings.HasPrefix(a.DType, "uint"), a.DType == "bool":
		read = func(b []byte) float64 { return float64(unsigned(b)) }
	case !strings.Contains(a.DType, "float"):
		return nil, malformed("an array of %s has no floats", a.DType)
	}
	out := make([]float64, 0, int64(len(a.Data))/size)
	for b := a.Data; len(b) > 0; b = b[size:] {
		out = append(out, read(b[:size]))
	}
	return out, nil
}
