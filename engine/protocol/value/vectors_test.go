package value_test

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"reflect"
	"testing"
	"testing/iotest"

	"github.com/seer-engine/seer/engine/protocol/value"
	"github.com/seer-engine/seer/internal/testkit"
)

// vectors are read by the tests of the Python values too.
type vectors struct {
	Valid []struct {
		Name, Body string
		Plain      json.RawMessage
	}
	Invalid []struct{ Name, Body string }
}

func readVectors(t testing.TB) vectors {
	t.Helper()
	data, err := os.ReadFile("../testdata/vectors/bodies.json")
	if err != nil {
		t.Fatal(err)
	}
	var v vectors
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	var x, y any
	for data, into := range map[*[]byte]*any{&a: &x, &b: &y} {
		d := json.NewDecoder(bytes.NewReader(*data))
		if err := d.Decode(into); err != nil {
			t.Fatalf("%v in %s", err, *data)
		}
	}
	return reflect.DeepEqual(x, y)
}

func TestVectors(t *testing.T) {
	for _, v := range readVectors(t).Valid {
		t.Run(v.Name, func(t *testing.T) {
			body := testkit.Unhex(t, v.Body)
			parsed, err := value.Parse(body, true, value.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			checkPlain(t, parsed, v.Plain)
			read, err := value.Read(iotest.OneByteReader(bytes.NewReader(body)), int64(len(body)), true, value.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(parsed, read) {
				t.Errorf("read otherwise than parsed: %v, %v", read, parsed)
			}
			var out bytes.Buffer
			if _, err := parsed.WriteTo(&out); err != nil || int64(out.Len()) != parsed.Size() {
				t.Errorf("%d bytes instead of %d, %v", out.Len(), parsed.Size(), err)
			}
			again, err := value.Parse(out.Bytes(), true, value.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			checkPlain(t, again, v.Plain)
			checkHash(t, parsed)
			checkDecoded(t, parsed, v.Plain)
		})
	}
}

func checkPlain(t *testing.T, v value.Value, want []byte) {
	t.Helper()
	got, err := v.Plain(value.PlainOptions{})
	if err != nil || !sameJSON(t, got, want) {
		t.Errorf("is %s, %v\nnot %s", got, err, want)
	}
}

// checkHash reads the canonical form, whose own form must be the same.
func checkHash(t *testing.T, v value.Value) {
	t.Helper()
	var form, again bytes.Buffer
	if err := v.WriteCanonical(&form); err != nil {
		t.Fatal(err)
	}
	read, err := value.Parse(form.Bytes(), true, value.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if err := read.WriteCanonical(&again); err != nil || again.String() != form.String() {
		t.Errorf("the canonical form changes: %q, %q, %v", form.String(), again.String(), err)
	}
}

// checkDecoded writes the Go value of v again, which must mean the same.
func checkDecoded(t *testing.T, v value.Value, want []byte) {
	t.Helper()
	var decoded any
	if err := v.Decode(&decoded); err != nil {
		t.Fatal(err)
	}
	if _, isMap := decoded.(map[string]any); isMap && bytes.Contains(v.JSON, []byte(`"handle"`)) {
		return // as an argument a handle is only its id
	}
	again, err := value.Encode(decoded)
	if err != nil {
		t.Fatal(err)
	}
	checkPlain(t, again, want)
	nested, err := value.Encode([]any{value.Array{DType: "uint8", Shape: []int64{1}, Data: []byte{7}}, v})
	if err != nil {
		t.Fatal(err)
	}
	checkPlain(t, nested, append(append([]byte(`[[7],`), want...), ']'))
}

func TestInvalidVectors(t *testing.T) {
	for _, v := range readVectors(t).Invalid {
		body := testkit.Unhex(t, v.Body)
		var decoded any
		parsed, err := value.Parse(body, true, value.Limits{})
		if err == nil {
			err = parsed.Decode(&decoded)
			if _, plainErr := parsed.Plain(value.PlainOptions{}); (plainErr == nil) != (err == nil) {
				t.Errorf("%s: Plain says %v, Decode %v", v.Name, plainErr, err)
			}
		}
		if err == nil {
			t.Errorf("%s was read as %v", v.Name, decoded)
		}
		read, err := value.Read(bytes.NewReader(body), int64(len(body)), true, value.Limits{})
		if err == nil && read.Decode(&decoded) == nil {
			t.Errorf("%s was read from a stream as %v", v.Name, decoded)
		}
	}
}

func TestReadingABodyCutAtEveryByte(t *testing.T) {
	for _, v := range readVectors(t).Valid {
		body := testkit.Unhex(t, v.Body)
		for n := range min(len(body), 300) {
			if _, err := value.Read(bytes.NewReader(body[:n]), int64(len(body)), true, value.Limits{}); err != io.ErrUnexpectedEOF { //nolint:errorlint // the very error
				t.Errorf("%s cut at byte %d: %v", v.Name, n, err)
			}
		}
	}
}

// The values without buffers have vectors of their own.
func TestVectorsWithoutBuffers(t *testing.T) {
	data, err := os.ReadFile("../testdata/vectors/values.json")
	if err != nil {
		t.Fatal(err)
	}
	var v struct {
		Valid []struct {
			Name, Wire string
			Tagged     bool
		}
		Invalid []struct{ Name, Wire string }
	}
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	for _, v := range v.Valid {
		var decoded any
		parsed, err := value.Parse([]byte(v.Wire), v.Tagged, value.Limits{})
		if err == nil {
			err = parsed.Decode(&decoded)
		}
		if err != nil {
			t.Errorf("%s: %v", v.Name, err)
		}
		if again, err := value.Encode(decoded); err != nil || again.Tagged != v.Tagged {
			t.Errorf("%s: written again it is %s, %v", v.Name, again.JSON, err)
		}
	}
	for _, v := range v.Invalid {
		parsed := value.Value{JSON: []byte(v.Wire), Tagged: true}
		if text, err := parsed.Plain(value.PlainOptions{}); err == nil {
			t.Errorf("%s is shown as %s", v.Name, text)
		}
	}
}
