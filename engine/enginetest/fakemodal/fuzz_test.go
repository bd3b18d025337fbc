package fakemodal

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
)

func FuzzStep(f *testing.F) {
	for _, s := range []string{"FROM debian:12", "FROM base", "FROM --platform=linux/amd64 no-such-x", "RUN pip install no-such-a==1 b", "RUN apt-get install -y no-such-a",
		"RUN [\"no-such-a\"]", "RUN a; exit 3", "RUN false", "COPY --from=x a b", "", "RUN", "\x00", "RUN exit 99999999999999999999"} {
		f.Add(s)
	}
	c := New(Options{})
	f.Fuzz(func(t *testing.T, step string) {
		output, failure := c.runStep(step, true)
		for _, line := range output {
			if !strings.HasSuffix(line, "\n") {
				t.Errorf("%q is no line", line)
			}
		}
		if strings.HasPrefix(step, "RUN pip install no-such-") && failure == "" {
			t.Errorf("%q goes well", step)
		}
	})
}

func FuzzVerify(f *testing.F) {
	c := New(Options{})
	good := c.sign(claims{Task: "ta-1", Exp: time.Now().Add(time.Hour).Unix()})
	f.Add(good)
	f.Add(c.sign(claims{Task: "ta-1", Exp: 1}))
	f.Add("a.b.c")
	f.Add("..")
	f.Fuzz(func(t *testing.T, token string) {
		if cl, ok := c.verify(token); ok != (token == good) {
			t.Errorf("%q: %v %v", token, cl, ok)
		}
	})
}

func FuzzOutput(f *testing.F) {
	f.Add([]byte("é wide 😀 text"), 3)
	f.Add([]byte("\xff\xc3\xe2\x82\xf0\x9f\x98"), 1)
	f.Fuzz(func(t *testing.T, data []byte, size int) {
		size = max(1, min(size, len(data)))
		out := newOutput()
		var got []byte
		var offset uint64
		drain := func() error {
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			for {
				chunk, at, err := out.next(ended, offset, true)
				if err != nil {
					return err
				}
				if utf8.Valid(data) && !utf8.Valid(chunk) {
					t.Errorf("%q is cut in a character", chunk)
				}
				got = append(got, chunk...)
				offset = at + uint64(len(chunk))
			}
		}
		for rest := data; len(rest) > 0; rest = rest[min(size, len(rest)):] {
			_, _ = out.Write(rest[:min(size, len(rest))])
			_ = drain()
		}
		_ = out.Close()
		if err := drain(); !errors.Is(err, io.EOF) || !bytes.Equal(got, data) {
			t.Errorf("%q became %q: %v", data, got, err)
		}
	})
}

func FuzzPathsInCommands(f *testing.F) {
	for _, s := range []string{"/workspace/a", "cat /workspace/a >/data/../x", "/bin/sh", "x=/models:/usr/bin", "/", "//workspace//", "/workspace2/a"} {
		f.Add(s)
	}
	sb := &sandbox{def: pb.Sandbox_builder{VolumeMounts: []*pb.VolumeMount{pb.VolumeMount_builder{MountPath: "/data"}.Build()}}.Build()}
	dir := f.TempDir()
	folder := func(p string) string { return filepath.Join(dir, p) }
	f.Fuzz(func(t *testing.T, arg string) {
		got := sb.local([]string{arg}, folder)[0]
		if back := strings.ReplaceAll(got, dir, ""); len(got) == len(arg) && back != arg {
			t.Errorf("%q became %q", arg, got)
		}
		if !strings.Contains(arg, "/") && got != arg {
			t.Errorf("%q has no path and became %q", arg, got)
		}
	})
}

func FuzzFileTool(f *testing.F) {
	for _, s := range []string{`{"ReadFile":{"path":"/a"}}`, `{"WriteFile":{"path":"/../../x"}}`, `{"ListFiles":{"path":"/"}}`, `{"Stat":{"path":"/a/b"}}`,
		`{"MakeDirectory":{"path":"/d/e","parents":true}}`, `{"Remove":{"path":"/","recursive":true}}`, `{"Remove":{"path":"../../x","recursive":true}}`,
		`{"Watch":{"path":"/","recursive":true,"filter":[],"timeout_secs":0}}`, `{}`, `[]`, `{"Stat":null}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, arg string) {
		top := t.TempDir()
		beside := filepath.Join(top, "beside")
		root := filepath.Join(top, "a", "root")
		if err := errors.Join(os.MkdirAll(root, 0o755), os.WriteFile(beside, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		in, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		var out, errs bytes.Buffer
		folder := func(p string) string { return filepath.Join(root, filepath.Clean(p)) }
		code := fileTool{folder: folder, in: in, out: &out, errs: &errs}.run([]string{arg})
		if (code == 0) != (errs.Len() == 0) {
			t.Errorf("%s: code %d and %q", arg, code, errs.String())
		}
		entries, err := os.ReadDir(top)
		if err != nil || len(entries) != 2 {
			t.Errorf("%s: it has left its folder: %v %v", arg, entries, err)
		}
	})
}
