package runtime_test

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
)

func TestFileRoundTrip(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	ctx := testContext(t)
	data := []byte("binary \x00\xff\r\n")
	if err := m.client.Files().Write(ctx, "/workspace/a/b/c.bin", bytes.NewReader(data), 0o750); err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if _, err := m.client.Files().Read(ctx, "a/b/c.bin", &got); err != nil || !bytes.Equal(got.Bytes(), data) {
		t.Errorf("%q %v", got.Bytes(), err)
	}
	e, err := m.client.Files().Stat(ctx, "/workspace/a/b/c.bin")
	if err != nil || e.Mode != "0750" || e.Size != int64(len(data)) || e.Type != protocol.EntryFile || e.Path != "/workspace/a/b/c.bin" {
		t.Errorf("%+v %v", e, err)
	}
	list, err := m.client.Files().List(ctx, "/workspace/a/b")
	if err != nil || len(list) != 1 || list[0].Path != "/workspace/a/b/c.bin" {
		t.Errorf("%+v %v", list, err)
	}
	if err := m.client.Files().Mkdir(ctx, "/workspace/new/deep", 0o700); err != nil {
		t.Error(err)
	}
	if err := m.client.Files().Mkdir(ctx, "/workspace/new/deep", 0o755); err != nil {
		t.Error(err)
	}
}

func TestFileErrors(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	ctx := testContext(t)
	if err := m.client.Files().Write(ctx, "/workspace/f", strings.NewReader("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	_ = m.client.Files().Mkdir(ctx, "/workspace/d/e", 0o755)
	m.shell("mkfifo pipe")
	_, missing := m.client.Files().Read(ctx, "/workspace/none", io.Discard)
	_, folder := m.client.Files().Read(ctx, "/workspace/d", io.Discard)
	_, pipe := m.client.Files().Read(ctx, "/workspace/pipe", io.Discard)
	_, list := m.client.Files().List(ctx, "/workspace/f")
	for name, c := range map[string]struct {
		err  error
		code protocol.Code
	}{
		"missing":       {missing, protocol.NotFound},
		"folder":        {folder, protocol.Invalid},
		"pipe":          {pipe, protocol.Invalid},
		"list a file":   {list, protocol.Invalid},
		"no path":       {m.client.Files().Remove(ctx, "", false), protocol.Invalid},
		"not empty":     {m.client.Files().Remove(ctx, "/workspace/d", false), protocol.Conflict},
		"remove none":   {m.client.Files().Remove(ctx, "/workspace/none", true), protocol.NotFound},
		"under a file":  {m.client.Files().Write(ctx, "/workspace/f/x", strings.NewReader(""), 0o644), protocol.Invalid},
		"over a folder": {m.client.Files().Write(ctx, "/workspace/d", strings.NewReader(""), 0o644), protocol.Invalid},
		"over a pipe":   {m.client.Files().Write(ctx, "/workspace/pipe", strings.NewReader(""), 0o644), protocol.Invalid},
		"recursive":     {m.client.Files().Remove(ctx, "/workspace/d", true), ""},
	} {
		if protocol.CodeOf(c.err) != c.code {
			t.Errorf("%s: %v, want %q", name, c.err, c.code)
		}
	}
}

// TestFileLarge moves 300 MB both ways and looks at the memory of the runtime.
func TestFileLarge(t *testing.T) {
	t.Parallel()
	const size = 300 << 20
	m := up(t, nil)
	ctx := testContext(t)
	source := func() io.Reader { return io.LimitReader(rand.NewChaCha8([32]byte{1}), size) }
	before := m.peakMemory()
	if err := m.client.Files().Write(ctx, "/workspace/large", source(), 0o644); err != nil {
		t.Fatal(err)
	}
	sent, got := sha256.New(), sha256.New()
	_, _ = io.Copy(sent, source())
	if n, err := m.client.Files().Read(ctx, "/workspace/large", got); err != nil || n != size || !bytes.Equal(sent.Sum(nil), got.Sum(nil)) {
		t.Errorf("%d bytes, %v", n, err)
	}
	if grown := m.peakMemory() - before; grown > 64<<20 {
		t.Errorf("the runtime grew by %d MiB", grown>>20)
	}
}

// peakMemory is the most that the runtime has had of the machine's memory.
func (m *machine) peakMemory() int64 { return m.memoryField("VmHWM:") }

// memory is what the runtime has of the machine's memory.
func (m *machine) memory() int64 { return m.memoryField("VmRSS:") }

// memoryField is a figure of the runtime's status, in bytes.
func (m *machine) memoryField(name string) int64 {
	m.t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", m.runtimePid()))
	if err != nil {
		m.t.Fatal(err)
	}
	var kb int64
	_, rest, _ := strings.Cut(string(data), name)
	if _, err := fmt.Sscan(rest, &kb); err != nil {
		m.t.Fatal(err)
	}
	return kb << 10
}

func TestTreeRoundTrip(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	ctx := testContext(t)
	local := t.TempDir()
	writeTree(t, local)
	if err := m.client.Files().Upload(ctx, local, "/workspace/tree"); err != nil {
		t.Fatal(err)
	}
	if err := m.client.Files().Upload(ctx, local, "/workspace/tree"); err != nil {
		t.Fatalf("again, over what is there: %v", err)
	}
	back := filepath.Join(t.TempDir(), "back")
	t.Cleanup(func() { // what is locked can only be removed by root
		_ = os.Chmod(filepath.Join(back, "locked"), 0o755)
		_ = os.Chmod(filepath.Join(m.boot.Roots["/workspace"], "tree", "locked"), 0o755)
	})
	if err := m.client.Files().Download(ctx, "/workspace/tree", back); err != nil {
		t.Fatal(err)
	}
	if got, want := describeTree(t, back), describeTree(t, local); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	single := filepath.Join(t.TempDir(), "x", "single")
	if err := m.client.Files().Download(ctx, "/workspace/tree/run.sh", single); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(single); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("%v %v", info, err)
	}
	if err := m.client.Files().Download(ctx, "/workspace/none", single); protocol.CodeOf(err) != protocol.NotFound {
		t.Errorf("download of nothing: %v", err)
	}
}

func writeTree(t *testing.T, dir string) {
	t.Helper()
	steps := []error{
		os.WriteFile(filepath.Join(dir, "run.sh"), []byte("#!/bin/sh\n"), 0o755),
		os.MkdirAll(filepath.Join(dir, "sub", "empty"), 0o755),
		os.WriteFile(filepath.Join(dir, "sub", "ü file"), []byte("data"), 0o600),
		os.Symlink("../run.sh", filepath.Join(dir, "sub", "link")),
		os.Symlink("sub", filepath.Join(dir, "dirlink")),
		os.Mkdir(filepath.Join(dir, "locked"), 0o755),
		os.WriteFile(filepath.Join(dir, "locked", "f"), nil, 0o444),
		os.Chmod(filepath.Join(dir, "run.sh"), 0o755),
		os.Chmod(filepath.Join(dir, "locked"), 0o555),
		os.Chtimes(filepath.Join(dir, "run.sh"), time.Time{}, time.Unix(1e9, 0)),
		os.Chtimes(filepath.Join(dir, "sub"), time.Time{}, time.Unix(1e9, 0)),
	}
	if err := errors.Join(steps...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(filepath.Join(dir, "locked"), 0o755) })
}

func describeTree(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		target, _ := os.Readlink(path)
		when := info.ModTime().Unix()
		if target != "" {
			when = 0 // the time of a link itself is not kept
		}
		fmt.Fprintln(&b, rel, info.Mode(), target, when)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTreeEvil(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	outside := filepath.Join(m.dir, "outside")
	for name, entries := range map[string][]tar.Header{
		"dotdot":            {{Name: "../outside", Typeflag: tar.TypeReg}},
		"absolute":          {{Name: outside, Typeflag: tar.TypeReg}},
		"absolute link":     {{Name: "l", Typeflag: tar.TypeSymlink, Linkname: m.dir}, {Name: "l/outside", Typeflag: tar.TypeReg}},
		"climbing link":     {{Name: "l", Typeflag: tar.TypeSymlink, Linkname: ".."}, {Name: "l/outside", Typeflag: tar.TypeReg}},
		"link through link": {{Name: "a/b/", Typeflag: tar.TypeDir}, {Name: "x", Typeflag: tar.TypeSymlink, Linkname: "a/b"}, {Name: "x/l", Typeflag: tar.TypeSymlink, Linkname: "../../.."}},
		"hard link":         {{Name: "h", Typeflag: tar.TypeLink, Linkname: "/etc/passwd"}},
		"device":            {{Name: "dev", Typeflag: tar.TypeChar}},
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			w := tar.NewWriter(&b)
			for _, h := range append(entries, tar.Header{Name: "good", Typeflag: tar.TypeReg}) {
				h.Mode = 0o6777
				if err := w.WriteHeader(&h); err != nil {
					t.Fatal(err)
				}
			}
			w.Close()
			resp := m.raw(http.MethodPut, "/v1/tree?path=/workspace/evil", m.token, &b)
			if resp.StatusCode != http.StatusBadRequest {
				t.Errorf("got %s", resp.Status)
			}
			if _, err := os.Lstat(outside); err == nil {
				t.Error("something was written outside")
			}
			good, err := os.Stat(filepath.Join(m.boot.Roots["/workspace"], "evil", "good"))
			if err != nil || good.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0 {
				t.Errorf("the entry that was in order: %v %v", good, err)
			}
		})
	}
	if resp := m.raw(http.MethodPut, "/v1/tree?path=/workspace/evil", m.token, strings.NewReader("not a tar at all, but longer than a block: "+strings.Repeat("x", 600))); resp.StatusCode == http.StatusOK {
		t.Error("a damaged stream was accepted")
	}
}

// raw sends a request as any program could.
func (m *machine) raw(method, path, token string, body io.Reader, header ...string) *http.Response {
	m.t.Helper()
	c := &http.Client{Transport: &http.Transport{DialContext: dialer(strings.TrimPrefix(m.boot.Listen, "unix:")), DisableKeepAlives: true}}
	req, err := http.NewRequest(method, "http://x"+path, body)
	if err != nil {
		m.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := c.Do(req)
	if err != nil {
		m.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, _ := io.ReadAll(resp.Body)
	resp.Body = io.NopCloser(bytes.NewReader(data))
	return resp
}
