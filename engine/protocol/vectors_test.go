package protocol

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/seer-engine/seer/internal/testkit"
)

// The vectors are read by the tests of the Python worker and client too.

func readVectors(t testing.TB, name string, into any) {
	t.Helper()
	data, err := os.ReadFile("testdata/vectors/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}

type frameVectors struct {
	Valid []struct {
		Name, Bytes string
		Frames      []struct {
			Header FrameHeader
			Body   string
		}
	}
	Invalid []struct{ Name, Bytes string }
}

func readFrame(r io.Reader) (FrameHeader, string, error) {
	h, size, err := ReadFrameHeader(r)
	if err != nil {
		return h, "", err
	}
	body := make([]byte, size)
	_, err = io.ReadFull(r, body)
	return h, string(body), err
}

func TestFrameVectors(t *testing.T) {
	var vectors frameVectors
	readVectors(t, "frames.json", &vectors)
	for _, v := range vectors.Valid {
		data := testkit.Unhex(t, v.Bytes)
		r := bytes.NewReader(data)
		var again bytes.Buffer
		for _, want := range v.Frames {
			h, body, err := readFrame(r)
			if err != nil || !reflect.DeepEqual(h, want.Header) || body != want.Body {
				t.Errorf("%s: read %+v %q, %v", v.Name, h, body, err)
			}
			if err := WriteFrame(&again, h, []byte(body)); err != nil {
				t.Errorf("%s: write: %v", v.Name, err)
			}
		}
		if _, _, err := ReadFrameHeader(r); !errors.Is(err, io.EOF) {
			t.Errorf("%s: after the last frame: %v", v.Name, err)
		}
		for _, want := range v.Frames {
			if h, body, err := readFrame(&again); err != nil || !reflect.DeepEqual(h, want.Header) || body != want.Body {
				t.Errorf("%s: written and read again: %+v %q, %v", v.Name, h, body, err)
			}
		}
	}
	for _, v := range vectors.Invalid {
		if h, _, err := ReadFrameHeader(bytes.NewReader(testkit.Unhex(t, v.Bytes))); err == nil {
			t.Errorf("%s was read as %+v", v.Name, h)
		}
	}
}

func TestFramesCutAtEveryByte(t *testing.T) {
	var vectors frameVectors
	readVectors(t, "frames.json", &vectors)
	for _, v := range vectors.Valid {
		if len(v.Frames) != 1 {
			continue
		}
		data := testkit.Unhex(t, v.Bytes)
		for n := 1; n < len(data); n++ {
			if _, _, err := readFrame(bytes.NewReader(data[:n])); !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
				t.Errorf("%s cut at byte %d: %v", v.Name, n, err)
			}
		}
	}
}

func TestValueVectors(t *testing.T) {
	var vectors struct {
		Valid []struct {
			Name, Wire string
			Tagged     bool
		}
		Invalid []struct{ Name, Wire string }
	}
	readVectors(t, "values.json", &vectors)
	for _, v := range vectors.Valid {
		if !json.Valid([]byte(v.Wire)) {
			t.Errorf("%s is not JSON: %s", v.Name, v.Wire)
		}
		if v.Tagged != strings.Contains(v.Wire, `{"$seer":`) {
			t.Errorf("%s: tagged is %v", v.Name, v.Tagged)
		}
	}
	for _, v := range vectors.Invalid {
		if !json.Valid([]byte(v.Wire)) {
			t.Errorf("%s must be invalid as a value and not as JSON: %s", v.Name, v.Wire)
		}
	}
}
