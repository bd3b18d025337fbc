package tartree

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/internal/testkit"
)

// meddler changes a folder in the middle of its being packed: when the header of one of
// its files has been written, before the content is read.
type meddler struct {
	bytes.Buffer
	at     string // the file
	change func() error
}

func (m *meddler) Write(p []byte) (int, error) {
	if m.change != nil && bytes.HasPrefix(p, []byte(m.at)) {
		if err := m.change(); err != nil {
			return 0, err
		}
		m.change = nil
	}
	return m.Buffer.Write(p)
}

func TestPackTreeWhileItChanges(t *testing.T) {
	for name, c := range map[string]struct {
		change func(dir string) error
		packed string        // part of the error of packing; empty = none
		code   protocol.Code // of unpacking
		told   string        // part of its error
		lacks  string
	}{
		"a file vanishes":    {change: func(dir string) error { return os.Remove(filepath.Join(dir, "z é")) }, code: protocol.NotFound, told: "1 entries vanished while the folder was read: z é; the rest was copied", lacks: "z é"},
		"a folder vanishes":  {change: func(dir string) error { return os.RemoveAll(filepath.Join(dir, "sub")) }, code: protocol.NotFound, told: "vanished while the folder was read: sub", lacks: "sub"},
		"a file grows":       {change: func(dir string) error { return appendTo(filepath.Join(dir, "m.log"), "more") }},
		"a file gets a link": {change: func(dir string) error { return replaceByLink(filepath.Join(dir, "z é")) }},
		"a file shrinks":     {change: func(dir string) error { return os.Truncate(filepath.Join(dir, "m.log"), 10) }, packed: "m.log became shorter while it was read: 10 of 100000 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, to := t.TempDir(), t.TempDir()
			testkit.WriteFiles(t, dir, map[string]string{"m.log": strings.Repeat("x", 100_000), "sub/f": "f", "z é": "z"})
			m := &meddler{at: "m.log", change: func() error { return c.change(dir) }}
			err := Pack(m, dir)
			if m.change != nil {
				t.Fatal("nothing was changed meanwhile")
			}
			if c.packed != "" {
				if err == nil || !strings.Contains(err.Error(), c.packed) {
					t.Fatalf("packing: %v", err)
				}
			} else if err != nil {
				t.Fatal(err)
			}
			_, err = Unpack(&m.Buffer, to)
			if c.packed != "" {
				left, _ := os.ReadDir(to)
				if err == nil || !strings.Contains(err.Error(), "unpack m.log: ") || len(left) != 0 {
					t.Errorf("the part of a stream: %v, %v", err, left)
				}
				return
			}
			if protocol.CodeOf(err) != c.code || (err != nil && !strings.Contains(err.Error(), c.told)) {
				t.Errorf("unpacking: %v", err)
			}
			for _, name := range []string{"m.log", "sub", "z é"} {
				if _, err := os.Lstat(filepath.Join(to, name)); (err != nil) != (name == c.lacks) {
					t.Errorf("%s: %v", name, err)
				}
			}
			if data, err := os.ReadFile(filepath.Join(to, "m.log")); err != nil || len(data) != 100_000 {
				t.Errorf("%d bytes, %v", len(data), err)
			}
		})
	}
}

func TestUnread(t *testing.T) {
	header := func(records map[string]string) []byte {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeXGlobalHeader, Name: "g", PAXRecords: records}); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	for text, c := range map[string]struct {
		records map[string]string
		code    protocol.Code
	}{
		"": {map[string]string{"comment": "of git archive"}, ""},
		"2 entries may not be read: a, b; the rest was copied":                         {map[string]string{forbiddenKey: `{"n":2,"names":["a","b"]}`}, protocol.Invalid},
		`1 entries vanished while the folder was read: "\x1b[2J"; the rest was copied`: {map[string]string{vanishedKey: `{"n":1,"names":["\u001b[2J"]}`}, protocol.NotFound},
		"1 entries vanished while the folder was read: ?; the rest was copied":         {map[string]string{vanishedKey: "no JSON"}, protocol.NotFound},
		"1 entries may not be read: ?; the rest was copied":                            {map[string]string{forbiddenKey: "{}"}, protocol.Invalid},
	} {
		_, err := Unpack(bytes.NewReader(header(c.records)), t.TempDir())
		if protocol.CodeOf(err) != c.code || (err != nil && err.Error() != text) {
			t.Errorf("%q: %v", text, err)
		}
		if _, err := Restore(bytes.NewReader(header(c.records)), t.TempDir()); err != nil {
			t.Errorf("restoring: %v", err)
		}
	}
}

func TestUnpackTreeThatIsCut(t *testing.T) {
	dir := t.TempDir()
	testkit.WriteFile(t, filepath.Join(dir, "f"), "as it was")
	whole := tarOf(tar.Header{Name: "a", Typeflag: tar.TypeReg}, tar.Header{Name: "f", Typeflag: tar.TypeReg, Size: 600})
	if _, err := Unpack(io.LimitReader(bytes.NewReader(whole), 1100), dir); err == nil || !strings.Contains(err.Error(), "unpack f: the stream broke off") {
		t.Errorf("got %v", err)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "f")); err != nil || string(data) != "as it was" {
		t.Errorf("%q %v", data, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("%v %v", entries, err)
	}
}

func appendTo(path, text string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

func replaceByLink(path string) error {
	if err := os.Remove(path); err != nil {
		return err
	}
	return os.Symlink("m.log", path)
}
