package client_test

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/protocol/tartree"
)

// The sender tells what vanished while a folder was sent; an old runtime, which knows no
// global headers, never gets one.
func TestUploadNamesWhatVanishedItself(t *testing.T) {
	dir := t.TempDir()
	for name, size := range map[string]int{"a": 16 << 20, "z é": 1} { // a is more than waits on the way
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, size), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	c := hostile(t, func(w http.ResponseWriter, r *http.Request) {
		for tr := tar.NewReader(r.Body); ; {
			h, err := tr.Next()
			if err != nil {
				break
			}
			got = append(got, h.Name+string(h.Typeflag))
			if err := os.Remove(filepath.Join(dir, "z é")); err != nil {
				t.Error(err)
			}
		}
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, "{}")
	})
	err := c.Files().Upload(t.Context(), dir, "/workspace/d")
	var partial *tartree.PartialError
	if !errors.As(err, &partial) || protocol.CodeOf(err) != protocol.NotFound || !strings.Contains(err.Error(), "z é; the rest was copied") {
		t.Errorf("got %v", err)
	}
	if len(got) != 1 || got[0] != "a0" {
		t.Errorf("sent %q", got)
	}
}

// lying is a file that tells another size than it has.
type lying struct {
	fs.File
	size, later int64
	asked       int
}

type sized struct {
	fs.FileInfo
	size int64
}

func (s sized) Size() int64 { return s.size }

func (l *lying) Stat() (fs.FileInfo, error) {
	info, err := l.File.Stat()
	size := l.size
	if l.asked++; l.asked > 1 {
		size = l.later
	}
	return sized{info, size}, err
}

func TestWriteOpenDoesNotBelieveSizes(t *testing.T) {
	stored := make(chan string, 1)
	c := hostile(t, func(w http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		stored <- string(data)
		_, _ = io.WriteString(w, "{}")
	})
	files := fstest.MapFS{"f": {Data: []byte("content")}, "pipe": {Data: []byte("content"), Mode: fs.ModeNamedPipe | 0o600}}
	for name, l := range map[string]struct {
		file        string
		size, later int64
		short       bool
	}{
		"as in /sys":         {file: "f", size: 4096, later: 4096},
		"as in /proc":        {file: "f"},
		"a pipe":             {file: "pipe", size: 3},
		"it became shorter":  {file: "f", size: 4096, later: 7, short: true},
		"it has what it had": {file: "f", size: 7, later: 7},
	} {
		f, err := files.Open(l.file)
		if err != nil {
			t.Fatal(err)
		}
		err = c.Files().WriteOpen(t.Context(), "x", &lying{File: f, size: l.size, later: l.later})
		if l.short {
			if err == nil || !strings.Contains(err.Error(), "became shorter") {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if got := <-stored; got != "content" {
			t.Errorf("%s: stored %q", name, got)
		}
	}
}

// Whoever stops the copy of a named pipe need not wait for its writer.
func TestUploadOfASilentPipeEnds(t *testing.T) {
	begun := make(chan struct{})
	c := hostile(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadFull(r.Body, make([]byte, 5))
		close(begun)
		_, _ = io.Copy(io.Discard, r.Body)
	})
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, opened := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- c.Files().Upload(ctx, pipe, "x") }()
		if opened { // by a writer, who then says nothing
			w, err := os.OpenFile(pipe, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			if _, err := w.WriteString("first"); err != nil {
				t.Fatal(err)
			}
			<-begun
		}
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("a writer %v: %v", opened, err)
		}
	}
}
