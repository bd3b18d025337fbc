package journal_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/protocol/journal"
)

type written struct {
	header string
	body   string
}

// segment is the bytes of records, and where each of them ends.
func segment(records ...written) ([]byte, []int) {
	var out []byte
	var ends []int
	for _, r := range records {
		h, b := len(r.header), len(r.body)
		out = append(out, byte(h), byte(h>>8), 0, 0, byte(b), byte(b>>8), byte(b>>16), 0, 0, 0, 0, 0)
		out = append(append(out, r.header...), r.body...)
		ends = append(ends, len(out))
	}
	return out, ends
}

func write(t testing.TB, dir string, n int, data []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, journal.Name(n)), data, 0o600); err != nil {
		t.Fatal(err)
	}
}

var first = []written{
	{`{"t":"begin","segment":1,"time":1.5,"generation":2,"code_hash":"sha256:x","models":[{"name":"org/m","revision":"r"}],"known":[["call-old","done"]],"use":{"main":{"calls":3}}}`, ""},
	{`{"t":"queued","id":"call-wait","fn":"f","token":"main","client":"c","time":2,"detach":true}`, `{"args":[1]}`},
	{`{"t":"started","id":"call-done","fn":"f","token":"main","client":"c","time":3.25}`, ""},
	{`{"t":"output","id":"call-done","n":1,"stream":1,"time":3.5}`, "hello\n"},
	{`{"t":"future","id":"call-done"}`, "what nobody knows"},
	{`{"t":"result","id":"call-done","n":2,"seconds":0.5,"time":4}`, "42"},
	{`{"t":"started","id":"call-cut","fn":"g","token":"t-1","time":5}`, ""},
	{`{"t":"item","id":"call-cut","n":1,"time":5}`, "[1]"},
	{`{"t":"started","id":"call-fail","fn":"g","token":"t-1","time":5}`, ""},
	{`{"t":"error","id":"call-fail","n":1,"error":{"code":"raised","type":"ValueError","message":"no"},"time":6}`, ""},
	{`{"t":"refused","id":"call-refused","fn":"g","token":"t-1","reason":"no more calls","time":6}`, ""},
}

func TestReader(t *testing.T) {
	data, ends := segment(first...)
	for name, src := range map[string]io.Reader{"seeking": bytes.NewReader(data), "streaming": io.MultiReader(bytes.NewReader(data))} {
		r := journal.NewReader(src, 0)
		for i, want := range first {
			rec, err := r.Next()
			if err != nil || int(rec.End()) != ends[i] || int(rec.Size) != len(want.body) {
				t.Fatalf("%s: record %d: %+v %v", name, i, rec, err)
			}
			if i == 0 && (rec.Segment != 1 || rec.Generation != 2 || rec.Models[0].Revision != "r" || rec.Use["main"].Calls != 3 || rec.Known[0].ID != "call-old") {
				t.Errorf("%+v", rec.Begin)
			}
			if i%2 == 1 { // others are passed over
				if body, err := io.ReadAll(r); err != nil || string(body) != want.body {
					t.Errorf("%s: body %d: %q %v", name, i, body, err)
				}
			}
		}
		if _, err := r.Next(); err != io.EOF || int(r.Offset()) != len(data) {
			t.Errorf("%s: at the end %d: %v", name, r.Offset(), err)
		}
	}
}

// TestReaderOfCutSegments ends a segment at every byte.
func TestReaderOfCutSegments(t *testing.T) {
	data, ends := segment(first...)
	for n := range len(data) {
		for name, src := range map[string]io.Reader{"seeking": bytes.NewReader(data[:n]), "streaming": io.MultiReader(bytes.NewReader(data[:n]))} {
			whole := 0
			for whole < len(ends) && ends[whole] <= n {
				whole++
			}
			at := 0
			if whole > 0 {
				at = ends[whole-1]
			}
			r := journal.NewReader(src, 0)
			var err error
			for err == nil {
				_, err = r.Next()
			}
			if want := map[bool]error{true: io.EOF, false: io.ErrUnexpectedEOF}[at == n]; err != want || int(r.Offset()) != at {
				t.Fatalf("%s: cut at %d: offset %d, want %d; %v, want %v", name, n, r.Offset(), at, err, want)
			}
		}
	}
}

func state(f *journal.Folder, id string) protocol.CallState {
	if e := f.Get(id); e != nil {
		return e.State
	}
	return ""
}

func TestFolder(t *testing.T) {
	dir := t.TempDir()
	data, _ := segment(first...)
	write(t, dir, 1, data)
	more, _ := segment(
		written{`{"t":"begin","segment":2,"time":7}`, ""},
		written{`{"t":"error","id":"call-cut","n":2,"error":{"code":"interrupted","message":"gone"},"time":7}`, ""},
		written{`{"t":"acked","id":"call-fail","time":8}`, ""},
		written{`{"t":"result","id":"call-cut","n":2,"time":9}`, `"after all"`},
		written{`{"t":"result","id":"call-wait","n":1,"time":9}`, "cut in the middle"})
	write(t, dir, 2, more[:len(more)-3])
	write(t, dir, 10, []byte("\xff\xff\xff\xff what is not a record"))
	write(t, dir, 100000000, nil)
	if err := os.WriteFile(filepath.Join(dir, "11.seg"), nil, 0o600); err != nil { // no name of a segment
		t.Fatal(err)
	}
	if got, err := journal.Segments(dir); err != nil || fmt.Sprint(got) != "[1 2 10 100000000]" {
		t.Errorf("%v %v", got, err)
	}
	f, err := journal.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]protocol.CallState{
		"call-old": protocol.CallDone, "call-wait": protocol.CallQueued, "call-done": protocol.CallDone, "call-cut": protocol.CallDone,
		"call-fail": protocol.CallFailed, "call-refused": protocol.CallFailed, "call-none": "",
	} {
		if got := state(f, id); got != want {
			t.Errorf("%s is %q, want %q", id, got, want)
		}
	}
	done := f.Get("call-done")
	if done.Started != 3.25 || done.Seconds != 0.5 || done.Token != "main" || done.Client != "c" || len(done.Events) != 2 || done.Bytes != 8 {
		t.Errorf("%+v", done)
	}
	for i, want := range []string{"hello\n", "42"} {
		body, err := f.Open(done.Events[i])
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(body); err != nil || string(got) != want {
			t.Errorf("%q %v", got, err)
		}
		body.Close()
	}
	if e := f.Get("call-fail"); !e.Acked || len(e.Events) != 0 {
		t.Errorf("%+v", e)
	}
	if e := f.Get("call-cut"); len(e.Events) != 2 || e.Events[1].Kind != protocol.FrameResult {
		t.Errorf("%+v", e)
	}
	if f, err := journal.Read(filepath.Join(dir, "none")); err != nil || len(f.All()) != 0 {
		t.Errorf("a folder that is not there: %v", err)
	}
}

// FuzzReader reads what nobody wrote: it ends, never beyond what is there, and both
// ways of reading agree.
func FuzzReader(f *testing.F) {
	data, _ := segment(first...)
	f.Add(data)
	f.Add(data[:100])
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Add(append([]byte{2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0}, "{}x"...))
	f.Fuzz(func(t *testing.T, data []byte) {
		seeking, streaming := journal.NewReader(bytes.NewReader(data), 0), journal.NewReader(io.MultiReader(bytes.NewReader(data)), 0)
		for {
			a, err := seeking.Next()
			b, also := streaming.Next()
			if (err == nil) != (also == nil) || a.End() != b.End() || seeking.Offset() != streaming.Offset() {
				t.Fatalf("%+v %v, %+v %v", a, err, b, also)
			}
			if seeking.Offset() > int64(len(data)) {
				t.Fatalf("beyond the end: %d", seeking.Offset())
			}
			if err != nil {
				return
			}
		}
	})
}

// FuzzFolder has a folder of such segments read.
func FuzzFolder(f *testing.F) {
	data, _ := segment(first...)
	f.Add(data, data[200:])
	f.Fuzz(func(t *testing.T, one, two []byte) {
		dir := t.TempDir()
		write(t, dir, 1, one)
		write(t, dir, 2, two)
		folder, err := journal.Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range folder.All() {
			for _, v := range e.Events {
				body, err := folder.Open(v)
				if err != nil {
					t.Fatal(err)
				}
				if n, err := io.Copy(io.Discard, body); err != nil || n != v.Size {
					t.Fatal(errors.Join(err, fmt.Errorf("%d bytes of %d", n, v.Size)))
				}
				body.Close()
			}
		}
	})
}
