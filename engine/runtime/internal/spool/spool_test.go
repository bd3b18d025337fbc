package spool

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
)

func noFlush() error { return nil }

func testSpool(t *testing.T, keep, maxAhead int64) *Spool {
	t.Helper()
	s, err := New(t.TempDir(), keep, maxAhead)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func TestSpoolFollowsToTheEnd(t *testing.T) {
	s := testSpool(t, 0, 0)
	var out bytes.Buffer
	done := make(chan bool)
	go func() {
		end, _ := s.CopyTo(context.Background(), &out, noFlush, 0, true)
		done <- end
	}()
	for range 100 {
		_, _ = s.Stream(protocol.RecordStdout).Write([]byte("line\n"))
	}
	s.End([]byte("{}"))
	if !<-done {
		t.Error("the end was not seen")
	}
	if want := 100*(protocol.RecordHeader+5) + protocol.RecordHeader + 2; out.Len() != want || s.Size() != int64(want) {
		t.Errorf("%d bytes, want %d", out.Len(), want)
	}
}

func TestSpoolDropsTheOldest(t *testing.T) {
	s := testSpool(t, 4<<20, 0)
	chunk := bytes.Repeat([]byte("x"), 64<<10)
	for range 200 { // 12.5 MiB
		_, _ = s.Stream(protocol.RecordStdout).Write(chunk)
	}
	first := s.First(0)
	if first == 0 || s.size-first > 6<<20 {
		t.Errorf("begins at %d of %d", first, s.size)
	}
	var out bytes.Buffer
	if _, err := s.CopyTo(context.Background(), &out, noFlush, first, false); err != nil {
		t.Fatal(err)
	}
	r := protocol.NewRecordReader(&out)
	if _, data, err := r.Next(); err != nil || !bytes.Equal(data, chunk) {
		t.Errorf("the first record that is left: %d bytes, %v", len(data), err)
	}
	if _, err := s.CopyTo(context.Background(), &out, noFlush, 0, false); protocol.CodeOf(err) != protocol.NotFound {
		t.Errorf("what was dropped: %v", err)
	}
}

func TestSpoolHoldsTheWriter(t *testing.T) {
	s := testSpool(t, 0, 1<<20)
	written := make(chan struct{})
	go func() {
		for range 64 {
			_, _ = s.Stream(protocol.RecordStdout).Write(make([]byte, 64<<10))
		}
		s.End(nil)
		close(written)
	}()
	select {
	case <-written:
		t.Fatal("the writer ran ahead of its reader")
	case <-time.After(50 * time.Millisecond):
	}
	var out bytes.Buffer
	if end, err := s.CopyTo(context.Background(), &out, noFlush, 0, true); !end || err != nil || out.Len() < 4<<20 {
		t.Errorf("%v %v %d", end, err, out.Len())
	}
	<-written
}

func TestSpoolWithoutDisk(t *testing.T) {
	s := testSpool(t, 0, 0)
	w := s.Stream(protocol.RecordStdout)
	_, _ = w.Write([]byte("kept"))
	s.f.Close() // every further write fails
	for range 3 {
		if n, err := w.Write([]byte("lost")); n != 4 || err != nil {
			t.Errorf("the program notices: %d %v", n, err)
		}
	}
	s.End([]byte("{}"))
	r := protocol.NewRecordReader(bytes.NewReader(s.tail))
	if kind, data, err := r.Next(); kind != protocol.RecordStderr || err != nil || !bytes.Contains(data, []byte("is lost")) {
		t.Errorf("%d %q %v", kind, data, err)
	}
	if kind, _, err := r.Next(); kind != protocol.RecordEnd || err != nil {
		t.Errorf("%d %v", kind, err)
	}
}
