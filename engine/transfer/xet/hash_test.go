package xet_test

import (
	"encoding/json"
	"errors"
	"os"
	"testing"

	"github.com/seer-engine/seer/engine/transfer/xet"
)

func hash(t testing.TB, text string) xet.Hash {
	t.Helper()
	h, err := xet.ParseHash(text)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// The example of the specification.
func TestTextReversesGroupsOfEight(t *testing.T) {
	var h xet.Hash
	for i := range h {
		h[i] = byte(i)
	}
	const want = "07060504030201000f0e0d0c0b0a090817161514131211101f1e1d1c1b1a1918"
	if h.String() != want {
		t.Errorf("%s", h)
	}
	if got := hash(t, want); got != h {
		t.Errorf("parsed: %v", [32]byte(got))
	}
}

func TestParseHashRefuses(t *testing.T) {
	for _, text := range []string{
		"", "07", "07060504030201000f0e0d0c0b0a090817161514131211101f1e1d1c1b1a191", "07060504030201000f0e0d0c0b0a090817161514131211101f1e1d1c1b1a19188",
		"G7060504030201000f0e0d0c0b0a090817161514131211101f1e1d1c1b1a1918", "0706050403020100\n0e0d0c0b0a090817161514131211101f1e1d1c1b1a1918f",
		"07060504030201000F0e0d0c0b0a090817161514131211101f1e1d1c1b1a1918",
	} {
		if h, err := xet.ParseHash(text); !errors.Is(err, xet.ErrMalformed) || h != (xet.Hash{}) {
			t.Errorf("%q: %s, %v", text, h, err)
		}
	}
}

// vectors are trees whose hashes the reference implementation has computed.
func vectors(t *testing.T) (chunks []xet.Node, cases []vector) {
	t.Helper()
	data, err := os.ReadFile("testdata/trees.json")
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		Leaves [][2]any
		Cases  []vector
	}
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	for _, leaf := range all.Leaves {
		chunks = append(chunks, xet.Node{Hash: hash(t, leaf[0].(string)), Size: int64(leaf[1].(float64))})
	}
	return chunks, all.Cases
}

type vector struct {
	Leaves     []int
	Xorb, File xet.Hash
}

func TestTreesOfTheReference(t *testing.T) {
	chunks, cases := vectors(t)
	if len(cases) < 10 {
		t.Fatalf("%d cases", len(cases))
	}
	for i, c := range cases {
		var tree xet.Tree
		var size int64
		for _, leaf := range c.Leaves {
			_ = tree.Xorb() // asking early changes nothing
			tree.Add(chunks[leaf])
			size += chunks[leaf].Size
		}
		if got := tree.Xorb(); got != c.Xorb {
			t.Errorf("case %d, %d chunks: xorb %s, want %s", i, len(c.Leaves), got, c.Xorb)
		}
		if got := tree.File(); got != c.File {
			t.Errorf("case %d, %d chunks: file %s, want %s", i, len(c.Leaves), got, c.File)
		}
		if tree.Size() != size {
			t.Errorf("case %d: %d bytes, want %d", i, tree.Size(), size)
		}
	}
}

// Files of one chunk, as the official client hashes them: numbers of SplitMix64 from zero on.
func TestChunkHash(t *testing.T) {
	first := []byte{0xaf, 0xcd, 0x1d, 0x7b, 0x39, 0xa8, 0x20, 0xe2}
	var tree xet.Tree
	tree.Add(xet.Node{Hash: xet.ChunkHash(first[:1]), Size: 1})
	if got := tree.File().String(); got != "65013edd008b17b61b88618fc55cd84af69611d1190d67c9ca25276eaa22bb53" {
		t.Errorf("%s", got)
	}
}

// A term's hash depends on each chunk and on their order, and differs from all other hashes.
func TestTermHash(t *testing.T) {
	a, b := xet.ChunkHash([]byte("a")), xet.ChunkHash([]byte("b"))
	seen := map[xet.Hash]bool{}
	for _, h := range []xet.Hash{
		xet.TermHash(nil), xet.TermHash([]xet.Hash{a}), xet.TermHash([]xet.Hash{b}), xet.TermHash([]xet.Hash{a, b}), xet.TermHash([]xet.Hash{b, a}),
		xet.ChunkHash(a[:]), a, b,
	} {
		if seen[h] {
			t.Errorf("%s comes twice", h)
		}
		seen[h] = true
	}
}

// The term hash of two chunks, as another BLAKE3 computes it from the specification.
func TestTermHashVector(t *testing.T) {
	var a, b xet.Hash
	for i := range a {
		a[i], b[i] = byte(i), byte(32+i)
	}
	if got := xet.TermHash([]xet.Hash{a, b}).String(); got != "480e1ea1efee72b9a12da972653300195ef445830f37af2389bb9db00d7e8c09" {
		t.Errorf("%s", got)
	}
}
