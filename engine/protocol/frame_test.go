package protocol

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"reflect"
	"testing"
)

func TestFrameRoundTrip(t *testing.T) {
	var b bytes.Buffer
	want := FrameHeader{Kind: FrameCall, ID: "1", Fn: "f", CallOptions: CallOptions{Timeout: 1.5, Tagged: true}}
	bodies := [][]byte{nil, []byte("{}"), bytes.Repeat([]byte("x"), 200<<10)}
	for _, body := range bodies {
		if err := WriteFrame(&b, want, body); err != nil {
			t.Fatal(err)
		}
	}
	for _, body := range bodies {
		h, n, err := ReadFrameHeader(&b)
		if err != nil || !reflect.DeepEqual(h, want) || n != int64(len(body)) {
			t.Fatalf("%+v %d %v", h, n, err)
		}
		got := make([]byte, n)
		if _, err := io.ReadFull(&b, got); err != nil || !bytes.Equal(got, body) {
			t.Fatalf("%d bytes, %v", len(got), err)
		}
	}
	if _, _, err := ReadFrameHeader(&b); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
}

func TestFrameLimits(t *testing.T) {
	prefix := func(head uint32, body uint64) []byte {
		return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint32(nil, head), body)
	}
	for name, data := range map[string][]byte{
		"large header": prefix(MaxFrameHeader+1, 0),
		"large body":   prefix(2, MaxFrameBody+1),
		"no JSON":      append(prefix(2, 0), "{"...),
		"not JSON":     append(prefix(2, 0), "{]"...),
		"short":        {1, 2, 3},
	} {
		if _, _, err := ReadFrameHeader(bytes.NewReader(data)); err == nil || err == io.EOF {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := WriteFrameHeader(io.Discard, FrameHeader{}, MaxFrameBody+1); err == nil {
		t.Error("a body beyond the limit was begun")
	}
	if err := WriteFrameHeader(io.Discard, FrameHeader{Fn: string(make([]byte, MaxFrameHeader))}, 0); err == nil {
		t.Error("a header beyond the limit was written")
	}
}

func FuzzReadFrameHeader(f *testing.F) {
	var b bytes.Buffer
	_ = WriteFrame(&b, FrameHeader{Kind: FrameError, ID: "x", Error: &CallError{Code: CallRaised, Message: "m"}}, []byte("body"))
	f.Add(b.Bytes())
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		h, n, err := ReadFrameHeader(bytes.NewReader(data))
		if err != nil {
			return
		}
		var out bytes.Buffer
		if err := WriteFrameHeader(&out, h, n); err != nil {
			if len(data) < MaxFrameHeader/8 { // escapes can make a long header longer
				t.Errorf("what was read cannot be written: %v", err)
			}
			return
		}
		again, m, err := ReadFrameHeader(&out)
		if err != nil || m != n || again.Kind != h.Kind || again.ID != h.ID || again.Fn != h.Fn {
			t.Errorf("%+v became %+v: %v", h, again, err)
		}
	})
}

func FuzzRecordReader(f *testing.F) {
	f.Add(AppendRecord(AppendRecord(nil, RecordStdout, []byte("out")), RecordEnd, []byte("{}")))
	f.Add([]byte{1, 255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, data []byte) {
		r := NewRecordReader(bytes.NewReader(data))
		var again []byte
		for {
			s, record, err := r.Next()
			if err == nil {
				again = AppendRecord(again, s, record)
				continue
			}
			if err == io.EOF && !bytes.Equal(again, data) {
				t.Errorf("%q became %q", data, again)
			}
			if !bytes.HasPrefix(data, again) {
				t.Errorf("%q is no beginning of %q", again, data)
			}
			if errors.Is(err, io.ErrUnexpectedEOF) && len(again) == len(data) {
				t.Error("a whole stream was called cut")
			}
			return
		}
	})
}
