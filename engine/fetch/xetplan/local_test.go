package xetplan_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/seer-engine/seer/engine/fetch/xetplan"
	"github.com/seer-engine/seer/engine/transfer/xet"
)

// split is a file of random bytes and the lengths of its chunks.
func split(t *testing.T, size int) (path string, data []byte, chunks []int64) {
	t.Helper()
	data = make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(data)
	if err := xet.Split(bytes.NewReader(data), func(raw []byte) error {
		chunks = append(chunks, int64(len(raw)))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "old")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path, data, chunks
}

func sum(chunks []int64) (n int64) {
	for _, c := range chunks {
		n += c
	}
	return n
}

func term(xorb byte, chunks []int64, start, end int) xet.Term {
	return xet.Term{Xorb: xet.Hash{xorb}, Chunks: xet.ChunkRange{Start: start, End: end}, Length: sum(chunks[start:end]), Fetch: int(xorb)}
}

// fetches has one fetch of 1000 bytes for each xorb.
func fetches(n int) (all []xet.Fetch) {
	for range n {
		all = append(all, xet.Fetch{Ranges: []xet.Range{{Bytes: xet.ByteRange{First: 0, Last: 999}}}})
	}
	return all
}

func TestCopies(t *testing.T) {
	path, data, chunks := split(t, 2<<20)
	n := len(chunks)
	if n < 12 {
		t.Fatalf("only %d chunks", n)
	}
	have := &xet.Reconstruction{Terms: []xet.Term{term(0, chunks, 0, 6), term(0, chunks, 6, n)}}
	other := []int64{5000}
	want := &xet.Reconstruction{Fetches: fetches(2), Terms: []xet.Term{
		term(0, chunks, 4, 9), term(1, other, 0, 1), term(0, chunks, 1, 3), term(0, chunks, 10, n),
	}}
	copies, err := xetplan.Copies(want, have, path)
	if err != nil {
		t.Fatal(err)
	}
	got := make([]byte, want.Length())
	var copied int64
	for _, c := range copies {
		copied += int64(copy(got[c.At:c.At+c.Length], data[c.Offset:]))
	}
	at := sum(chunks[4:9])
	expect := bytes.Join([][]byte{
		data[sum(chunks[:4]):sum(chunks[:9])], make([]byte, 5000), data[sum(chunks[:1]):sum(chunks[:3])], data[sum(chunks[:10]):],
	}, nil)
	if !bytes.Equal(got, expect) || copied != want.Length()-5000 || at == 0 {
		t.Errorf("%d of %d bytes are copied", copied, want.Length())
	}
	if cost := xetplan.Cost(want, copies); cost != 1000 {
		t.Errorf("the cost is %d", cost)
	}
	if cost := xetplan.Cost(want, nil); cost != 2000 {
		t.Errorf("the cost without copies is %d", cost)
	}
}

// Reconstructions that do not fit the file on the disk give no copies.
func TestCopiesOfAWrongReconstruction(t *testing.T) {
	path, _, chunks := split(t, 1<<20)
	good := term(0, chunks, 0, len(chunks))
	want := &xet.Reconstruction{Fetches: fetches(1), Terms: []xet.Term{good}}
	for name, have := range map[string]xet.Term{
		"more chunks":  {Xorb: good.Xorb, Chunks: xet.ChunkRange{Start: 0, End: len(chunks) + 1}, Length: good.Length},
		"fewer chunks": {Xorb: good.Xorb, Chunks: xet.ChunkRange{Start: 0, End: len(chunks) - 1}, Length: good.Length},
		"too long":     {Xorb: good.Xorb, Chunks: good.Chunks, Length: good.Length + 1},
		"too short":    {Xorb: good.Xorb, Chunks: good.Chunks, Length: good.Length - 1},
		"another xorb": {Xorb: xet.Hash{9}, Chunks: good.Chunks, Length: good.Length},
		"not all":      term(0, chunks, 0, len(chunks)-1),
		"moved":        {Xorb: good.Xorb, Chunks: xet.ChunkRange{Start: 1, End: len(chunks) + 1}, Length: good.Length},
	} {
		copies, err := xetplan.Copies(want, &xet.Reconstruction{Terms: []xet.Term{have}}, path)
		if err != nil || len(copies) > 0 {
			t.Errorf("%s: %v, %v", name, copies, err)
		}
	}
	if _, err := xetplan.Copies(want, want, path+".none"); err == nil {
		t.Error("a file that is not there was read")
	}
}
