package xet_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"testing/iotest"

	"github.com/seer-engine/seer/engine/transfer/xet"
)

// plain is a chunk that compresses well, and best when grouped.
func plain(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i%4*50 + i/4%3)
	}
	return b
}

func noise(n int) []byte {
	source := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(source.Uint32())
	}
	return b
}

func header(version, packed, compression, raw int) []byte {
	return []byte{byte(version), byte(packed), byte(packed >> 8), byte(packed >> 16), byte(compression), byte(raw), byte(raw >> 8), byte(raw >> 16)}
}

func TestChunksRoundTrip(t *testing.T) {
	var xorb []byte
	var raws [][]byte
	for _, n := range []int{1, 2, 3, 4, 5, 103, 4096, xet.MaxChunk - 1, xet.MaxChunk} {
		for _, c := range []xet.Compression{xet.Stored, xet.LZ4, xet.GroupedLZ4} {
			for _, raw := range [][]byte{plain(n), noise(n)} {
				var err error
				if xorb, err = xet.AppendChunk(xorb, raw, c); err != nil {
					t.Fatal(err)
				}
				raws = append(raws, raw)
			}
		}
	}
	d := xet.NewDecoder(iotest.OneByteReader(bytes.NewReader(xorb)))
	stored := 0
	for i, raw := range raws {
		c, err := d.Next()
		if err != nil || !bytes.Equal(c.Raw, raw) {
			t.Fatalf("chunk %d of %d bytes: %d bytes, %v", i, len(raw), len(c.Raw), err)
		}
		stored += c.Stored
	}
	if _, err := d.Next(); err != io.EOF {
		t.Errorf("the end: %v", err)
	}
	if stored != len(xorb) {
		t.Errorf("stored in %d bytes of %d", stored, len(xorb))
	}
	for _, raw := range [][]byte{nil, noise(xet.MaxChunk + 1)} {
		if _, err := xet.AppendChunk(nil, raw, xet.LZ4); !errors.Is(err, xet.ErrMalformed) {
			t.Errorf("%d bytes: %v", len(raw), err)
		}
	}
}

// Frames of the reference encoder of LZ4: one with the content's size, one with its checksum.
const (
	lz4Frame     = "04224d18684067000000000000004216000000cf0032649601336597023466980c004350649601336500000000"
	groupedFrame = "04224d186440a7210000003f0001020300043f3233340300043f6465660300043d9697980300509896979896000000000f1c8e75"
)

func TestFramesOfAnotherEncoder(t *testing.T) {
	for compression, text := range map[xet.Compression]string{xet.LZ4: lz4Frame, xet.GroupedLZ4: groupedFrame} {
		packed, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		d := xet.NewDecoder(bytes.NewReader(append(header(0, len(packed), int(compression), 103), packed...)))
		c, err := d.Next()
		if err != nil || !bytes.Equal(c.Raw, plain(103)) {
			t.Errorf("compression %d: %x, %v", compression, c.Raw, err)
		}
	}
}

func TestDecoderRefuses(t *testing.T) {
	frame, err := hex.DecodeString(lz4Frame)
	if err != nil {
		t.Fatal(err)
	}
	checked, err := hex.DecodeString(groupedFrame)
	if err != nil {
		t.Fatal(err)
	}
	checked[len(checked)-1] ^= 1
	legacy := append([]byte{0x02, 0x21, 0x4c, 0x18}, frame[4:]...)
	skippable := append([]byte{0x50, 0x2a, 0x4d, 0x18, 1, 0, 0, 0, 0}, frame...)
	lz4 := func(packed []byte, raw int) []byte { return append(header(0, len(packed), 1, raw), packed...) }
	for name, c := range map[string]struct {
		stream []byte
		want   error
	}{
		"version":           {append(header(1, 1, 0, 1), 0), xet.ErrMalformed},
		"compression":       {append(header(0, 1, 3, 1), 0), xet.ErrMalformed},
		"no bytes":          {header(0, 0, 0, 0), xet.ErrMalformed},
		"large":             {header(0, xet.MaxChunk+1, 0, xet.MaxChunk+1), xet.ErrMalformed},
		"large packed":      {header(0, xet.MaxPacked+1, 1, xet.MaxChunk), xet.ErrMalformed},
		"stored in less":    {append(header(0, 1, 0, 2), 0), xet.ErrMalformed},
		"half a header":     {header(0, 1, 0, 1)[:5], io.ErrUnexpectedEOF},
		"no body":           {header(0, 3, 0, 3), io.ErrUnexpectedEOF},
		"half a body":       {append(header(0, 3, 0, 3), 1), io.ErrUnexpectedEOF},
		"too short a frame": {lz4(frame, 104), xet.ErrMalformed},
		"too long a frame":  {lz4(frame, 102), xet.ErrMalformed},
		"after the frame":   {lz4(append(bytes.Clone(frame), 0), 103), xet.ErrMalformed},
		"two frames":        {lz4(append(bytes.Clone(frame), frame...), 103), xet.ErrMalformed},
		"cut frame":         {lz4(frame[:len(frame)-4], 103), xet.ErrMalformed},
		"legacy frame":      {lz4(legacy, 103), xet.ErrMalformed},
		"skippable frame":   {lz4(skippable, 103), xet.ErrMalformed},
		"no frame":          {lz4(noise(40), 103), xet.ErrMalformed},
		"checksum":          {append(header(0, len(checked), 2, 103), checked...), xet.ErrMalformed},
	} {
		if _, err := xet.NewDecoder(bytes.NewReader(c.stream)).Next(); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// repeated reads the same bytes again and again.
type repeated struct {
	data []byte
	at   int
}

func (r *repeated) Read(p []byte) (int, error) {
	n := copy(p, r.data[r.at:])
	r.at = (r.at + n) % len(r.data)
	return n, nil
}

func TestDecoderStopsAtTheSizeOfAXorb(t *testing.T) {
	chunk, err := xet.AppendChunk(nil, noise(xet.MaxChunk), xet.Stored)
	if err != nil {
		t.Fatal(err)
	}
	d := xet.NewDecoder(&repeated{data: chunk})
	for range xet.MaxXorb / len(chunk) {
		if _, err := d.Next(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := d.Next(); !errors.Is(err, xet.ErrMalformed) {
		t.Errorf("%v", err)
	}
}

// However many chunks there are, the decoder keeps its buffers.
func TestDecoderKeepsItsMemory(t *testing.T) {
	chunk, err := xet.AppendChunk(nil, plain(xet.MaxChunk), xet.GroupedLZ4)
	if err != nil {
		t.Fatal(err)
	}
	d := xet.NewDecoder(&repeated{data: chunk})
	for range 3 {
		if _, err := d.Next(); err != nil {
			t.Fatal(err)
		}
	}
	if n := testing.AllocsPerRun(100, func() {
		if _, err := d.Next(); err != nil {
			t.Error(err)
		}
	}); n > 20 {
		t.Errorf("%v allocations for a chunk", n)
	}
}

func FuzzDecoder(f *testing.F) {
	for _, text := range []string{lz4Frame, groupedFrame} {
		packed, err := hex.DecodeString(text)
		if err != nil {
			f.Fatal(err)
		}
		for c := range 3 {
			f.Add(append(header(0, len(packed), c, 103), packed...))
		}
	}
	f.Add(append(header(0, 3, 0, 3), 1, 2, 3, 0))
	f.Fuzz(func(t *testing.T, stream []byte) {
		d := xet.NewDecoder(bytes.NewReader(stream))
		stored := 0
		for {
			c, err := d.Next()
			if err == io.EOF {
				if stored != len(stream) {
					t.Errorf("an end after %d bytes of %d", stored, len(stream))
				}
				return
			}
			if err != nil {
				if !errors.Is(err, xet.ErrMalformed) && !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Errorf("%v", err)
				}
				return
			}
			if len(c.Raw) == 0 || len(c.Raw) > xet.MaxChunk {
				t.Errorf("%d bytes", len(c.Raw))
			}
			stored += c.Stored
		}
	})
}
