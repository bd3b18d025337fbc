package transfer

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// pattern is a content without an end that nobody stores: each eight bytes are their offset.
type pattern struct{ at, size int64 }

func (p *pattern) Read(b []byte) (int, error) {
	var word [8]byte
	for i := range b {
		if p.at >= p.size {
			return i, io.EOF
		}
		binary.LittleEndian.PutUint64(word[:], uint64(p.at&^7))
		b[i] = word[p.at&7]
		p.at++
	}
	return len(b), nil
}

func (p *pattern) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += p.at
	case io.SeekEnd:
		offset += p.size
	}
	p.at = offset
	return offset, nil
}

// A file of 60 GB is downloaded by ranges of one address, also beyond 4 GiB and 50 GB. The file is
// sparse: all but its last and some other bytes count as there.
func TestLargerThan50GB(t *testing.T) {
	const size = 60_000_000_123
	missing := []span{{0, block}, {1<<32 - block, 1<<32 + block}, {50e9 - block - 1, 50e9 + 3*block}, {size - block - 77, size}}
	var mu sync.Mutex
	asked := ranges{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from, to := rangeOf(r)
		mu.Lock()
		asked.add(span{int64(from), int64(to) + 1})
		mu.Unlock()
		http.ServeContent(w, r, "", time.Time{}, &pattern{size: size})
	}))
	t.Cleanup(server.Close)
	dir := t.TempDir()
	f := File{Path: "model.safetensors", Size: size, Source: Whole(server.URL+"/model", nil, size)}
	there := ranges{{0, size}}
	for _, s := range missing {
		there.remove(s)
	}
	name := filepath.Join(dir, f.Path+incomplete)
	if err := errors.Join(os.WriteFile(name, nil, 0o600), os.Truncate(name, size), newSidecar(name+sidecarSuffix, f).record(there)); err != nil {
		t.Fatalf("a sparse file of 60 GB: %v", err)
	}
	o := options(dir)
	o.free = func(string) (float64, error) { return size, nil } // the file takes some MB
	if err := Download(t.Context(), []File{f}, o); err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(asked), fmt.Sprint(ranges(missing)); got != want {
		t.Errorf("asked for %s, missing were %s", got, want)
	}
	out, err := os.Open(filepath.Join(dir, f.Path))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if info, err := out.Stat(); err != nil || info.Size() != size {
		t.Fatalf("%v, %v", info, err)
	}
	for _, s := range missing {
		got, want := make([]byte, s.size()), make([]byte, s.size())
		p := &pattern{at: s.start, size: size}
		_, err1 := out.ReadAt(got, s.start)
		_, err2 := io.ReadFull(p, want)
		if err1 != nil || err2 != nil || string(got) != string(want) {
			t.Errorf("the bytes from %d to %d are others: %v, %v", s.start, s.end, err1, err2)
		}
	}
}
