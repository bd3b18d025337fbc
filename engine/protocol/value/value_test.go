package value_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/protocol/value"
	"github.com/seer-engine/seer/internal/testkit"
)

func encode(t *testing.T, v any) value.Value {
	t.Helper()
	return testkit.Must(value.Encode(v))(t)
}

func floats(t *testing.T, n int) value.Array {
	t.Helper()
	return value.Array{DType: "float32", Shape: []int64{int64(n)}, Data: make([]byte, 4*n), Lib: "numpy"}
}

func TestGoValuesComeBackAsTheyWere(t *testing.T) {
	for _, v := range []any{
		nil, true, "ä\x00<\u2028", int64(1) << 62, -0.5, math.Inf(-1), []byte{}, []byte("abc"), complex(1, math.Inf(1)),
		map[string]any{"$seer": int64(1), "a": []any{[]byte{1}, math.Inf(1)}},
		time.Date(2026, 1, 31, 10, 0, 0, 1000, time.FixedZone("", 3600)),
		value.Array{DType: "str2", Shape: []int64{0, 3}, Data: []byte{}, Lib: "numpy"},
		value.Image{Format: "png", Mode: "L", Width: 1, Height: 2, Data: []byte("png")},
		value.Frame{
			Columns: []any{"a", int64(1)}, Data: []any{floats(t, 2), []any{"x", nil}},
			Index: []any{"i", "j"}, DTypes: []string{"float32", "object"}, Names: []any{nil},
		},
		value.Series{Name: "s", Data: []any{int64(1)}, DType: "int64", Names: []any{}},
		value.Text{Kind: "decimal", Text: "1.10"}, value.Timedelta{Days: -1, Seconds: 5, Microseconds: 7},
		value.Items{{Key: []any{int64(1), "a"}, Value: nil}}, value.Handle{Info: json.RawMessage(`{"id":"h-1"}`)},
	} {
		e := encode(t, v)
		parsed, err := value.Parse(e.Bytes(), e.Tagged, value.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		var got any
		if err := parsed.Decode(&got); err != nil {
			t.Errorf("%v: %v", v, err)
			continue
		}
		if a, ok := got.(time.Time); ok {
			if !a.Equal(v.(time.Time)) {
				t.Errorf("%v came back as %v", v, got)
			}
		} else if !reflect.DeepEqual(got, v) {
			t.Errorf("%#v came back as %#v", v, got)
		}
	}
}

func TestEncodeSaysWhere(t *testing.T) {
	loop := map[string]any{}
	loop["a"] = loop
	for want, v := range map[string]any{
		`["a"]: [1]: a chan int cannot be sent`: map[string]any{"a": []any{1, make(chan int)}},
		`contains itself`:                       loop,
		`has 8 bytes, not 4`:                    value.Array{DType: "float64", Shape: []int64{1}, Data: make([]byte, 4)},
		`"x" is no date`:                        value.Text{Kind: "date", Text: "x"},
	} {
		if _, err := value.Encode(v); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestStructsAreFilledFromPlainJSON(t *testing.T) {
	type result struct {
		Rows  [][]float64
		Raw   []byte
		When  time.Time
		Count json.Number
	}
	when := time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC)
	rows := value.Array{DType: "uint8", Shape: []int64{2, 1}, Data: []byte{1, 2}}
	e := encode(t, map[string]any{"Rows": rows, "Raw": []byte("abc"), "When": when, "Count": json.Number("123456789012345678901")})
	var got result
	if err := e.Decode(&got); err != nil {
		t.Fatal(err)
	}
	want := result{[][]float64{{1}, {2}}, []byte("abc"), when, "123456789012345678901"}
	if !got.When.Equal(when) || !reflect.DeepEqual(got.Rows, want.Rows) || string(got.Raw) != "abc" || got.Count != want.Count {
		t.Errorf("got %+v", got)
	}
	var array value.Array
	if err := e.Decode(&array); err == nil {
		t.Error("a dict became an array")
	}
	if err := encode(t, rows).Decode(&array); err != nil || !reflect.DeepEqual(array, rows) {
		t.Errorf("%v, %v", array, err)
	}
	if f, err := array.Floats(); err != nil || !reflect.DeepEqual(f, []float64{1, 2}) {
		t.Errorf("%v, %v", f, err)
	}
	var nan float64
	if err := encode(t, math.NaN()).Decode(&nan); err != nil || !math.IsNaN(nan) {
		t.Errorf("%v, %v", nan, err)
	}
}

// A tensor keeps its device; one without dimensions is the number that it was before
// tensors had a form of their own.
func TestTensors(t *testing.T) {
	tensor := value.Array{DType: "int8", Shape: []int64{2}, Data: []byte{1, 255}, Lib: "torch", Device: "cuda:1"}
	var got value.Array
	if err := encode(t, tensor).Decode(&got); err != nil || !reflect.DeepEqual(got, tensor) {
		t.Errorf("%+v, %v", got, err)
	}
	for dtype, c := range map[string]struct {
		data []byte
		want any
	}{
		"bool":          {[]byte{1}, true},
		"int16":         {[]byte{0xfe, 0xff}, int64(-2)},
		"uint64":        {bytes.Repeat([]byte{255}, 8), json.Number("18446744073709551615")},
		"float32":       {[]byte{0, 0, 0, 0x3f}, 0.5},
		"bfloat16":      {[]byte{0x80, 0xbf}, -1.0},
		"complex64":     {[]byte{0, 0, 0, 0x3f, 0, 0, 0x80, 0xbf}, 0.5 - 1i},
		"datetime64[s]": {make([]byte, 8), value.Array{DType: "datetime64[s]", Shape: []int64{}, Data: make([]byte, 8), Lib: "torch"}},
	} {
		var got any
		if err := encode(t, value.Array{DType: dtype, Data: c.data, Lib: "torch"}).Decode(&got); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %#v, %v", dtype, got, err)
		}
	}
}

func TestPlainIsBoundedOrShortened(t *testing.T) {
	large := encode(t, map[string]any{"a": floats(t, 64<<20), "b": 1, "c": make([]byte, 100)})
	for _, o := range []value.PlainOptions{{Limit: 1 << 20}, {Limit: 100}, {Limit: 20, Shorten: 10}} {
		if _, err := large.Plain(o); !errors.Is(err, value.ErrTooLarge) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	got, err := large.Plain(value.PlainOptions{Limit: 200, Shorten: 99})
	if want := `{"a":"float32 array [67108864], 268435456 bytes","b":1,"c":"100 bytes"}`; err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
	empty := encode(t, value.Array{DType: "int8", Shape: []int64{1 << 40, 0}})
	if _, err := empty.Plain(value.PlainOptions{}); !errors.Is(err, value.ErrTooLarge) {
		t.Errorf("rows without end: %v", err)
	}
	if _, err := encode(t, strings.Repeat("x", 100)).Plain(value.PlainOptions{Limit: 50}); !errors.Is(err, value.ErrTooLarge) {
		t.Errorf("a long text: %v", err)
	}
}

func TestPlainKeepsTheTextsOfNumbersAndTheOrderOfKeys(t *testing.T) {
	for in, want := range map[string]string{
		`123456789012345678901`:                            `123456789012345678901`,
		`{"b":{"$seer":{"float":"nan"}}, "a": 1.50}`:       `{"b":"NaN","a":1.50}`,
		`{"$seer":{"dict":{"$seer":{"a":-0.0}}}}`:          `{"$seer":{"a":-0.0}}`,
		`["<b>\u2028",{"$seer":{"float":"inf"}},"\u00e9"]`: "[\"<b>\u2028\",\"Infinity\",\"é\"]",
	} {
		got, err := value.Value{JSON: []byte(in), Tagged: true}.Plain(value.PlainOptions{})
		if err != nil || string(got) != want {
			t.Errorf("%s is shown as %s, %v; want %s", in, got, err, want)
		}
	}
}

func TestPlainIsWrittenAsItGoes(t *testing.T) {
	v := encode(t, []any{floats(t, 1<<20), make([]byte, 1<<20)})
	whole, err := v.Plain(value.PlainOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pieces := &counter{}
	if err := v.WritePlain(pieces, value.PlainOptions{}); err != nil || pieces.n < 20 || pieces.Len() != len(whole) || !json.Valid(whole) {
		t.Errorf("%d bytes in %d pieces, %v", pieces.Len(), pieces.n, err)
	}
}

type counter struct {
	bytes.Buffer
	n int
}

func (c *counter) Write(p []byte) (int, error) {
	c.n++
	return c.Buffer.Write(p)
}

func TestWhatMeansTheSameHasTheSameHash(t *testing.T) {
	same := [][2]value.Value{
		{{JSON: []byte(`{"b": 1, "a":[ "\u00e9\ud83d\ude00\/" ]}`)}, {JSON: []byte(`{"a":["é😀/"],"b":1}`), Tagged: true}},
		{{JSON: []byte(`{"$seer":{"float":"nan"}}`)}, {JSON: []byte(`{"$seer":{"dict":{"$seer":{"float":"nan"}}}}`), Tagged: true}},
		{{JSON: []byte(`{"a":1,"a":2}`)}, {JSON: []byte(`{"a":2}`)}},
	}
	different := [][2]value.Value{
		{{JSON: []byte(`1.0`)}, {JSON: []byte(`1`)}},
		{{JSON: []byte(`"\ud800"`)}, {JSON: []byte(`"\ud801"`)}},
		{{JSON: []byte(`{"\ud800":1,"\ud801":2}`)}, {JSON: []byte(`{"\ud801":2}`)}},
		{{JSON: []byte(`{"$seer":{"float":"nan"}}`)}, {JSON: []byte(`{"$seer":{"float":"nan"}}`), Tagged: true}},
		{encode(t, []byte("a")), encode(t, []byte("b"))},
	}
	for i, pairs := range [][][2]value.Value{same, different} {
		for _, p := range pairs {
			a, err1 := p[0].Hash()
			b, err2 := p[1].Hash()
			if err1 != nil || err2 != nil || (a == b) != (i == 0) {
				t.Errorf("%s and %s: %s, %s, %v, %v", p[0].JSON, p[1].JSON, a, b, err1, err2)
			}
		}
	}
}

func TestPartsComeOneByOne(t *testing.T) {
	body := encode(t, []any{[]byte("first"), []byte{}, []byte("third")}).Bytes()
	s, err := value.Open(io.MultiReader(bytes.NewReader(body), strings.NewReader("next frame")), int64(len(body)), value.Limits{})
	if err != nil || !reflect.DeepEqual(s.Size, []int64{5, 0, 5}) {
		t.Fatalf("%v, %v", s, err)
	}
	for _, want := range []string{"fi", "", "third"} { // the first is left in the middle
		r, err := s.Next()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(io.LimitReader(r, int64(len(want)))); err != nil || string(got) != want {
			t.Errorf("%q, %v", got, err)
		}
	}
	if _, err := s.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("after the last: %v", err)
	}
}

func TestReadingKeepsToItsLimit(t *testing.T) {
	body := encode(t, make([]byte, 1000)).Bytes()
	for _, limit := range []int64{1, 1000} {
		if _, err := value.Parse(body, true, value.Limits{Bytes: limit}); !errors.Is(err, value.ErrTooLarge) {
			t.Errorf("%d: %v", limit, err)
		}
		if _, err := value.Read(bytes.NewReader(body), int64(len(body)), true, value.Limits{Bytes: limit}); !errors.Is(err, value.ErrTooLarge) {
			t.Errorf("%d: %v", limit, err)
		}
	}
	if _, err := value.Read(strings.NewReader("[1]"), 3, false, value.Limits{Bytes: 2}); !errors.Is(err, value.ErrTooLarge) {
		t.Error(err)
	}
	// What is announced and does not come takes no memory.
	if _, err := value.Read(strings.NewReader(`"x`), 40<<30, false, value.Limits{}); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
}
