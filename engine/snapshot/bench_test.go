package snapshot_test

import (
	"archive/tar"
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/snapshot"
)

// grow makes a folder as a sandbox has it: a few large files that hardly get smaller, and
// many small ones of text. It returns its size.
func grow(b *testing.B, dir string) int64 {
	noise := rand.NewChaCha8([32]byte{1})
	large := make([]byte, 32<<20)
	var total int64
	write := func(name string, data []byte) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			b.Fatal(err)
		}
		total += int64(len(data))
	}
	for i := range 6 {
		_, _ = noise.Read(large[:len(large)/4*3])
		write(fmt.Sprintf("weights/%d.bin", i), large)
	}
	for i := range 5000 {
		write(fmt.Sprintf("lib/p%d/m%d.py", i%50, i), []byte(strings.Repeat(fmt.Sprintf("def f%d(x):\n    return x + %d\n", i, i), 400)))
	}
	return total
}

// BenchmarkStore compares with `tar | zstd -1`, on the same folder in the same run.
func BenchmarkStore(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "tree")
	total := grow(b, dir)
	src := snapshot.Source{Name: "workspace", Open: func(ctx context.Context) (io.ReadCloser, error) {
		cmd := exec.CommandContext(ctx, "tar", "-C", dir, "-cf", "-", ".")
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		return out, err
	}}
	s := newStore(b)
	n := 0
	saveAs := func(b *testing.B, parent string) {
		b.SetBytes(total)
		for b.Loop() {
			n++
			m := meta(fmt.Sprint("bench-", n))
			m.Parent = parent
			if _, err := s.Save(b.Context(), m, []snapshot.Source{src}); err != nil {
				b.Fatal(err)
			}
		}
	}
	packed := filepath.Join(b.TempDir(), "all.tar.zst")
	shell := func(line string) func(b *testing.B) {
		return func(b *testing.B) {
			b.SetBytes(total)
			for b.Loop() {
				if out, err := exec.Command("sh", "-c", line, "sh", dir, packed).CombinedOutput(); err != nil {
					b.Fatalf("%v\n%s", err, out)
				}
			}
		}
	}
	b.Run("save/tar-zstd", shell(`tar -C "$1" -cf - . | zstd -q -f -1 -o "$2" && sync "$2"`))
	b.Run("save/seer", func(b *testing.B) { saveAs(b, snapshot.NoParent) })
	b.Run("save/seer-unchanged", func(b *testing.B) { saveAs(b, "bench-1") })
	b.Run("restore/zstd-tar", shell(`zstd -q -dc "$2" | cat >/dev/null`))
	b.Run("restore/seer", func(b *testing.B) {
		b.SetBytes(total)
		for b.Loop() {
			if err := s.Verify(b.Context(), "bench-1"); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkMemory saves and gives out a file of 2 GB and 200,000 small ones.
func BenchmarkMemory(b *testing.B) {
	s := newStore(b)
	for b.Loop() {
		stop, peak := watchHeap()
		if _, err := s.Save(b.Context(), meta(fmt.Sprint("m-", time.Now().UnixNano())), []snapshot.Source{{Name: "workspace", Open: hugeTree}}); err != nil {
			b.Fatal(err)
		}
		all, err := s.List(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Verify(b.Context(), all[0].Name); err != nil {
			b.Fatal(err)
		}
		close(stop)
		b.ReportMetric(float64(peak.Load())/1e6, "peak-MB")
	}
}

func watchHeap() (chan struct{}, *atomic.Uint64) {
	stop, peak := make(chan struct{}), &atomic.Uint64{}
	go func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				peak.Store(max(peak.Load(), m.HeapInuse))
			}
		}
	}()
	return stop, peak
}

// hugeTree is a tar that is made while it is read.
func hugeTree(context.Context) (io.ReadCloser, error) {
	r, w := io.Pipe()
	go func() {
		buf := bufio.NewWriterSize(w, 1<<20)
		t := tar.NewWriter(buf)
		block := make([]byte, 1<<20)
		_, _ = rand.NewChaCha8([32]byte{2}).Read(block[:256<<10])
		err := t.WriteHeader(&tar.Header{Name: "huge", Typeflag: tar.TypeReg, Size: 2 << 30, Mode: 0o644})
		for i := 0; i < 2<<10 && err == nil; i++ {
			_, err = t.Write(block)
		}
		for i := 0; i < 200_000 && err == nil; i++ {
			if err = t.WriteHeader(&tar.Header{Name: fmt.Sprintf("many/%d/%d", i/1000, i), Typeflag: tar.TypeReg, Size: 100, Mode: 0o644}); err == nil {
				_, err = t.Write(block[i%1000 : i%1000+100])
			}
		}
		if err == nil {
			err = t.Close()
		}
		if err == nil {
			err = buf.Flush()
		}
		_ = w.CloseWithError(err)
	}()
	return r, nil
}
