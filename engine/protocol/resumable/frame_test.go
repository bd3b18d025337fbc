package resumable

import (
	"bytes"
	"encoding/hex"
	"math/rand/v2"
	"testing"
)

// The vectors of docs/protocol.md.
func TestFrameVectors(t *testing.T) {
	for text, want := range map[string]frame{
		"010000000000000000":       {kind: kindHello},
		"02e80300000000000068656a": {kind: kindData, number: 1000, data: []byte("hej")},
		"03eb03000000000000":       {kind: kindAck, number: 1003},
		"04eb03000000000000":       {kind: kindFin, number: 1003},
		"050000000000000000":       {kind: kindEnd},
		"060700000000000000":       {kind: kindPing, number: 7},
		"070700000000000000":       {kind: kindPong, number: 7},
	} {
		raw, _ := hex.DecodeString(text)
		got, err := parseFrame(raw)
		if err != nil || got.kind != want.kind || got.number != want.number || !bytes.Equal(got.data, want.data) {
			t.Errorf("%s: %+v %v", text, got, err)
		}
		if again := append(appendFrame(nil, want.kind, want.number), want.data...); !bytes.Equal(again, raw) {
			t.Errorf("%+v is written as %x", want, again)
		}
	}
	for _, text := range []string{"", "01", "0000000000000000", "000000000000000000", "080000000000000000", "020000000000000000", "0100000000000000000a", "0300000000000000ff"} {
		raw, _ := hex.DecodeString(text)
		if f, err := parseFrame(raw); err == nil {
			t.Errorf("%q was taken for %+v", text, f)
		}
	}
}

// FuzzReceive lets anything come from the other side: it is refused, or the
// positions stay sound.
func FuzzReceive(f *testing.F) {
	f.Add([]byte("\x0c\x02\x00\x00\x00\x00\x00\x00\x00\x00abc\x09\x04\x03\x00\x00\x00\x00\x00\x00\x00"))
	f.Add([]byte("\x09\x03\x05\x00\x00\x00\x00\x00\x00\x00\x09\x06\x05\x00\x00\x00\x00\x00\x00\x00"))
	f.Add([]byte("\x09\x05\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, k := newConn("fuzz", 0), &carrier{}
		_, _ = c.Write([]byte("some bytes"))
		for len(data) > 0 {
			n := min(int(data[0]), len(data)-1)
			fr, err := parseFrame(data[1 : 1+n])
			data = data[1+n:]
			if err != nil {
				continue
			}
			before := c.received()
			if c.receive(k, fr) != nil {
				return
			}
			if c.received() < before || c.acked > 10 || c.in.n > Window || c.credit() > c.received() {
				t.Fatalf("after %+v: received %d, acked %d, window %d", fr, c.received(), c.acked, c.in.n)
			}
		}
	})
}

// TestRing compares with a plain slice.
func TestRing(t *testing.T) {
	chance := rand.New(rand.NewPCG(1, 2))
	var r ring
	var want []byte
	for i := range 20_000 {
		if chance.IntN(2) == 0 {
			p := randomBytes(uint64(i), chance.IntN(1<<chance.IntN(18)))
			n := r.write(p)
			if n != min(len(p), Window-len(want)) {
				t.Fatalf("%d of %d bytes were taken at %d", n, len(p), len(want))
			}
			want = append(want, p[:n]...)
		} else {
			n := chance.IntN(len(want) + 1)
			r.discard(n)
			want = want[n:]
		}
		at := chance.IntN(len(want) + 1)
		p := make([]byte, chance.IntN(5000))
		if n := r.peek(at, p); n != min(len(p), len(want)-at) || !bytes.Equal(p[:n], want[at:at+n]) {
			t.Fatalf("step %d: peek at %d of %d", i, at, len(want))
		}
	}
}

// The hello of a new carrier may be older than an ack that comes behind it: what the
// carrier before had on its way was read meanwhile.
func TestAckBehindAnOlderHello(t *testing.T) {
	c := newConn("test", 0)
	text := bytes.Repeat([]byte("0123456789"), 100)
	if _, err := c.Write(text); err != nil {
		t.Fatal(err)
	}
	k := &carrier{dead: make(chan struct{}), sent: 100} // as attach leaves it after a hello of 100
	c.carrier = k
	if err := c.receive(k, frame{kind: kindAck, number: 309}); err != nil {
		t.Fatal(err)
	}
	b, last := c.next(k, make([]byte, 0, maxFrame))
	f, err := parseFrame(b)
	if err != nil || last || f.kind != kindData || f.number != 309 || !bytes.Equal(f.data, text[309:]) {
		t.Errorf("next is %d at %d with %d bytes, %v, %v", f.kind, f.number, len(f.data), last, err)
	}
}
