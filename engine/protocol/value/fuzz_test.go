package value_test

import (
	"bytes"
	"testing"

	"github.com/seer-engine/seer/engine/protocol/value"
	"github.com/seer-engine/seer/internal/testkit"
)

func seeds(f *testing.F) {
	f.Helper()
	v := readVectors(f)
	for _, one := range v.Valid {
		f.Add(testkit.Unhex(f, one.Body))
	}
	for _, one := range v.Invalid {
		if len(one.Body) < 1<<12 {
			f.Add(testkit.Unhex(f, one.Body))
		}
	}
}

// FuzzRead: a stream and a piece of memory are read alike, and what is read can be
// written and read again.
func FuzzRead(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		limits := value.Limits{Bytes: 1 << 20}
		v, err := value.Parse(body, true, limits)
		read, readErr := value.Read(bytes.NewReader(body), int64(len(body)), true, limits)
		if (err == nil) != (readErr == nil) {
			t.Fatalf("parsed: %v, read: %v", err, readErr)
		}
		if err != nil {
			return
		}
		if !bytes.Equal(v.Bytes(), read.Bytes()) {
			t.Fatal("read otherwise than parsed")
		}
		again, err := value.Parse(v.Bytes(), true, value.Limits{})
		if err != nil || !bytes.Equal(again.Bytes(), v.Bytes()) {
			t.Fatalf("written and read again: %v", err)
		}
	})
}

// FuzzPlain: whatever can be decoded has a plain form of valid JSON and a hash, and can
// be written again.
func FuzzPlain(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		v, err := value.Parse(body, true, value.Limits{Bytes: 1 << 20})
		if err != nil {
			return
		}
		var decoded any
		err = v.Decode(&decoded)
		plain, plainErr := v.Plain(value.PlainOptions{})
		if err != nil {
			if plainErr == nil {
				t.Fatalf("shown as %s, but %v", plain, err)
			}
			return
		}
		if _, err := v.Hash(); err != nil {
			t.Fatal(err)
		}
		e, err := value.Encode(decoded)
		if err != nil {
			t.Fatalf("%v cannot be written: %v", decoded, err)
		}
		again, againErr := e.Plain(value.PlainOptions{})
		if (plainErr == nil) != (againErr == nil) {
			t.Fatalf("shown as %s, %v, then as %s, %v", plain, plainErr, again, againErr)
		}
		nested, err := value.Encode([]any{v})
		if err != nil {
			t.Fatal(err)
		}
		inner, err := nested.Plain(value.PlainOptions{})
		if plainErr == nil && (err != nil || string(inner) != "["+string(plain)+"]") {
			t.Fatalf("%s in a list is %s, %v", plain, inner, err)
		}
	})
}
