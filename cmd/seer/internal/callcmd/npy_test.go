package callcmd

import (
	"bytes"
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/protocol/value"
)

// TestNPY writes arrays as NumPy's files and reads them again; NumPy itself has the
// last word on what is in them.
func TestNPY(t *testing.T) {
	dir := t.TempDir()
	var check strings.Builder
	for name, a := range map[string]value.Array{
		"a": {DType: "float32", Shape: []int64{2, 3}, Data: bytes.Repeat([]byte{0, 0, 128, 63}, 6)},
		"b": {DType: "bool", Shape: []int64{4}, Data: []byte{1, 0, 0, 1}},
		"c": {DType: "datetime64[ns]", Shape: []int64{1}, Data: make([]byte, 8)},
		"d": {DType: "str2", Shape: []int64{1, 1}, Data: []byte{'h', 0, 0, 0, 'i', 0, 0, 0}},
		"e": {DType: "complex128", Shape: []int64{0, 5}, Data: []byte{}},
		"f": {DType: "bytes3", Shape: []int64{2}, Data: []byte("abcdef")},
		"g": {DType: "int64", Shape: []int64{}, Data: []byte{7, 0, 0, 0, 0, 0, 0, 0}},
	} {
		var out bytes.Buffer
		if err := writeNPY(&out, a.DType, a.Shape, bytes.NewReader(a.Data)); err != nil {
			t.Fatalf("%s: %v", a.DType, err)
		}
		a.Lib = "numpy"
		if got, err := readNPY(out.Bytes()); err != nil || !reflect.DeepEqual(got, a) {
			t.Errorf("%s came back as %+v, %v", a.DType, got, err)
		}
		file := filepath.Join(dir, name+".npy")
		if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		check.WriteString("a = numpy.load(" + quoted(file) + "); print(a.dtype, a.shape, a.tobytes() == open(" + quoted(file) + ", 'rb').read()[-a.nbytes or None:] or not a.size)\n")
	}
	var out bytes.Buffer
	if err := writeNPY(&out, "bfloat16", []int64{2}, bytes.NewReader([]byte{0x80, 0x3f, 0x40, 0xc0})); err != nil {
		t.Fatal(err)
	}
	if got, err := readNPY(out.Bytes()); err != nil || got.DType != "float32" || !bytes.Equal(got.Data, []byte{0, 0, 0x80, 0x3f, 0, 0, 0x40, 0xc0}) {
		t.Errorf("bfloat16 came back as %+v, %v", got, err)
	}
	if err := writeNPY(&out, "float8_e5m2", []int64{1}, bytes.NewReader([]byte{1})); err == nil {
		t.Error("NumPy's files know float8 now")
	}
	said, err := exec.Command(cmp.Or(os.Getenv("SEER_PYTHON"), isolation.SystemPython), "-c", "import numpy\n"+check.String()).CombinedOutput()
	if err != nil || bytes.Contains(said, []byte("False")) || bytes.Count(said, []byte("True")) != 7 {
		t.Errorf("NumPy reads: %v\n%s", err, said)
	}
}

func quoted(text string) string { return "'" + text + "'" }

// FuzzNPY: whatever the file holds, there is no panic, and what is read has as many
// bytes as it says.
func FuzzNPY(f *testing.F) {
	var whole bytes.Buffer
	if err := writeNPY(&whole, "float32", []int64{2, 2}, bytes.NewReader(make([]byte, 16))); err != nil {
		f.Fatal(err)
	}
	f.Add(whole.Bytes())
	f.Add(whole.Bytes()[:40])
	f.Add([]byte(npyMagic))
	f.Add([]byte("\x93NUMPY\x02\x00\xff\xff\xff\xff"))
	f.Add([]byte("\x93NUMPY\x01\x00\x46\x00{'descr': '<M8[ns]', 'fortran_order': False, 'shape': (4611686018427387904, 4), }"))
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := readNPY(data)
		if err != nil {
			return
		}
		var out bytes.Buffer
		if err := writeNPY(&out, a.DType, a.Shape, bytes.NewReader(a.Data)); err != nil {
			t.Fatalf("%+v was read and cannot be written: %v", a, err)
		}
	})
}
