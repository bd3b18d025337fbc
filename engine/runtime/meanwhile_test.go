package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/protocol/tartree"
	"github.com/seer-engine/seer/internal/testkit"
)

// enough is more than sockets and pipes hold: who sends it waits for who reads it.
const enough = 32 << 20

// sparse makes a file of zeros that takes no room.
func sparse(t *testing.T, path string, size int64) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	writeFile(t, path, "")
	if err := os.Truncate(path, size); err != nil {
		t.Fatal(err)
	}
}

// A folder of this computer changes while it goes up.
func TestUploadWhileFilesChange(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(dir string) error
		code   protocol.Code
		told   string
	}{
		"vanishes": {func(dir string) error { return os.Remove(filepath.Join(dir, "z é")) }, protocol.NotFound, "1 entries vanished while the folder was read: z é"},
		"shrinks":  {func(dir string) error { return os.Truncate(filepath.Join(dir, "big"), 1) }, "", "big became shorter while it was read"},
		"grows":    {func(dir string) error { return os.Truncate(filepath.Join(dir, "big"), 2*enough) }, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := up(t, nil)
			local := filepath.Join(t.TempDir(), "a folder é")
			sparse(t, filepath.Join(local, "big"), enough)
			writeFile(t, filepath.Join(local, "z é"), "z")
			done := make(chan error, 1)
			signalRuntime(t, m, syscall.SIGSTOP) // nothing is taken until all has been changed
			go func() { done <- m.client.Files().Upload(testContext(t), local, "/workspace/tree") }()
			testkit.EventuallyNil(t, "the file is being read", func() error { return isOpen(filepath.Join(local, "big")) })
			if err := c.change(local); err != nil {
				t.Error(err)
			}
			signalRuntime(t, m, syscall.SIGCONT)
			err := <-done
			if (err == nil) != (c.told == "") || protocol.CodeOf(err) != c.code || (err != nil && !strings.Contains(err.Error(), c.told)) {
				t.Errorf("got %v", err)
			}
			testkit.EventuallyNil(t, "nothing half is left", func() error { return onlyWhole(m, "big", enough) })
		})
	}
}

// onlyWhole reports whether the tree has no file but whole ones.
func onlyWhole(m *machine, name string, size int64) error {
	list, err := m.client.Files().List(context.Background(), "/workspace/tree")
	if err != nil && protocol.CodeOf(err) != protocol.NotFound {
		return err
	}
	for _, e := range list {
		if strings.HasPrefix(e.Name, ".seer-") || (e.Name == name && e.Size != size) {
			return fmt.Errorf("%s has %d bytes", e.Name, e.Size)
		}
	}
	return nil
}

func signalRuntime(t *testing.T, m *machine, sig syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(m.runtimePid(), sig); err != nil {
		t.Fatal(err)
	}
}

// isOpen reports whether this process has the file open.
func isOpen(path string) error {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if target, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && target == path {
			return nil
		}
	}
	return errors.New("it is not open")
}

// A folder of the machine changes while it comes down.
func TestDownloadWhileFilesChange(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	ctx := testContext(t)
	for name, c := range map[string]struct {
		command string
		code    protocol.Code
		told    string
	}{
		"vanishes": {"rm %s/z", protocol.NotFound, "1 entries vanished while the folder was read: z"},
		"shrinks":  {"truncate -s 1 %s/big", "", "unpack big: the stream broke off"},
		"grows":    {"truncate -s 64M %s/big", "", ""},
	} {
		m.shell(fmt.Sprintf("mkdir %[1]s; truncate -s 32M %[1]s/big; echo z > %[1]s/z", name))
		stream, err := m.client.Files().ReadTree(ctx, "/workspace/"+name)
		if err != nil {
			t.Fatal(err)
		}
		first := make([]byte, 64<<10)
		if _, err := io.ReadFull(stream, first); err != nil { // the file is open by now, and most of it to come
			t.Fatal(err)
		}
		m.shell(fmt.Sprintf(c.command, name))
		to := filepath.Join(t.TempDir(), "to")
		_, err = tartree.Unpack(io.MultiReader(strings.NewReader(string(first)), stream), to)
		stream.Close()
		if (err == nil) != (c.told == "") || protocol.CodeOf(err) != c.code || (err != nil && !strings.Contains(err.Error(), c.told)) {
			t.Errorf("%s: %v", name, err)
		}
		if info, err := os.Stat(filepath.Join(to, "big")); name == "shrinks" != errors.Is(err, fs.ErrNotExist) || (err == nil && info.Size() != enough) {
			t.Errorf("%s: %v %v", name, info, err)
		}
	}
}

// meddled is a file that changes when it is first read.
type meddled struct {
	*os.File
	change func() error
}

func (f *meddled) Read(p []byte) (int, error) {
	if f.change != nil {
		if err := f.change(); err != nil {
			return 0, err
		}
		f.change = nil
	}
	return f.File.Read(p)
}

// meddledWriter changes something when the first bytes have come.
type meddledWriter struct {
	n      int64
	change func()
}

func (w *meddledWriter) Write(p []byte) (int, error) {
	if w.n == 0 {
		w.change()
	}
	w.n += int64(len(p))
	return len(p), nil
}

// So does a single file.
func TestFileThatChangesMeanwhile(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	ctx := testContext(t)
	path := filepath.Join(t.TempDir(), "f")
	for _, c := range []struct {
		size int64
		told string
	}{{10, "f became shorter while it was read; nothing was stored"}, {2 * enough, ""}} {
		sparse(t, path, enough)
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		err = m.client.Files().WriteOpen(ctx, "/workspace/f", &meddled{f, func() error { return os.Truncate(path, c.size) }})
		f.Close()
		if (err == nil) != (c.told == "") || (err != nil && !strings.Contains(err.Error(), c.told)) {
			t.Errorf("%d bytes: %v", c.size, err)
		}
		e, err := m.client.Files().Stat(ctx, "/workspace/f")
		if c.told != "" && protocol.CodeOf(err) != protocol.NotFound || c.told == "" && (err != nil || e.Size != enough) {
			t.Errorf("%+v %v", e, err)
		}
	}
	for size, want := range map[string]bool{"1": false, "64M": true} {
		m.shell("truncate -s 32M g")
		w := &meddledWriter{change: func() { m.shell("truncate -s " + size + " g") }}
		n, err := m.client.Files().Read(ctx, "/workspace/g", w)
		if (err == nil) != want || (want && n != enough) || (!want && !strings.Contains(err.Error(), "/workspace/g")) {
			t.Errorf("%s: %d bytes, %v", size, n, err)
		}
	}
}
