package client_test

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/internal/testkit"
)

// hostile serves what a sandbox could send that has taken its runtime over.
func hostile(t *testing.T, serve http.HandlerFunc) *client.Client {
	t.Helper()
	listener := testkit.UnixSocket(t)
	testkit.ServeHTTP(t, listener, serve)
	c := testkit.Must(client.New("unix:"+listener.Addr().String(), "token"))(t)
	t.Cleanup(c.Close)
	return c
}

// Whatever a sandbox sends as a folder, nothing is written outside the place it is copied
// to, and nothing comes with more rights than a file has.
func TestHostileSandboxSendsAFolder(t *testing.T) {
	outer := t.TempDir()
	precious := filepath.Join(outer, "precious")
	before := func() string {
		data, err := os.ReadFile(precious)
		info, serr := os.Stat(precious)
		if err != nil || serr != nil {
			return fmt.Sprint(err, serr)
		}
		return fmt.Sprint(string(data), info.Mode(), info.ModTime())
	}
	if err := os.WriteFile(precious, []byte("precious"), 0o640); err != nil {
		t.Fatal(err)
	}
	was := before()
	file := func(name string) tar.Header { return tar.Header{Name: name, Typeflag: tar.TypeReg} }
	link := func(name, to string) tar.Header {
		return tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: to}
	}
	dir := func(name string) tar.Header { return tar.Header{Name: name, Typeflag: tar.TypeDir} }
	for name, sent := range map[string][]tar.Header{
		"up":                        {file("../precious")},
		"up, later":                 {dir("a"), file("a/../../precious")},
		"up, as a folder":           {dir("../new")},
		"absolute":                  {file(precious)},
		"absolute folder":           {dir(outer)},
		"link up":                   {link("l", ".."), file("l/precious")},
		"absolute link":             {link("l", outer), file("l/precious")},
		"link to a file":            {link("l", "../precious"), file("l")},
		"link to itself":            {link("l", "l"), file("l/precious")},
		"link by a link":            {dir("a/b"), link("x", "a/b"), link("x/l", "../../.."), file("x/l/precious")},
		"two links":                 {link("a", "."), link("a/b", ".."), file("a/b/precious"), file("b/precious")},
		"two links, by text":        {link("a", "."), dir("s/t"), link("s/t/l", "../../a/.."), link("l", "a/.."), file("l/precious")},
		"link in place of a folder": {dir("d"), link("d", ".."), file("d/precious")},
		"folder in place of a link": {link("d", ".."), dir("d"), file("d/precious")},
		"hard link":                 {{Name: "h", Typeflag: tar.TypeLink, Linkname: precious}, file("h")},
		"hard link up":              {{Name: "h", Typeflag: tar.TypeLink, Linkname: "../precious"}, file("h")},
		"character device":          {{Name: "null", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 3}},
		"block device":              {{Name: "sda", Typeflag: tar.TypeBlock, Devmajor: 8}},
		"named pipe":                {{Name: "fifo", Typeflag: tar.TypeFifo}},
		"unknown kind":              {{Name: "what", Typeflag: 'Z'}},
		"names by case":             {link("L", ".."), file("l/precious"), file("L/precious")},
		"names by normal form":      {link("e\u0301", ".."), file("\u00e9/precious"), file("e\u0301/precious")},
		"twice":                     {file("f"), dir("f"), file("f"), link("f", "../precious"), file("f")},
		"backslashes":               {file(`..\precious`)},
		"the place itself":          {{Name: ".", Typeflag: tar.TypeSymlink, Linkname: ".."}, file("precious")},
		"no name":                   {file(""), file("."), dir("//")},
		"long":                      {file(strings.Repeat("x/", 3000) + "x"), file(strings.Repeat("y", 300))},
		"false claims":              {{Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{"path": "../precious", "SEER.vanished": `{"n":-1}`}}, file("f")},
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			w := tar.NewWriter(&b)
			for _, h := range sent {
				if h.Typeflag != tar.TypeXGlobalHeader {
					h.Mode = 0o6777
				}
				if err := w.WriteHeader(&h); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			c := hostile(t, func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write(b.Bytes()) })
			place := filepath.Join(outer, "place")
			_ = c.Files().Download(t.Context(), "x", place) // most are refused; what counts is what is there
			if got := before(); got != was {
				t.Errorf("what lay beside it is %s, and was %s", got, was)
			}
			if left, err := os.ReadDir(outer); err != nil || len(left) > 2 {
				t.Errorf("written outside: %v %v", left, err)
			}
			harmless(t, place)
			if err := os.RemoveAll(place); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// harmless looks for what a copy must not have: devices, pipes, setuid, links that lead
// out and parts of files.
func harmless(t *testing.T, place string) {
	t.Helper()
	real, err := filepath.EvalSymlinks(filepath.Dir(place))
	if err != nil {
		t.Fatal(err)
	}
	_ = filepath.WalkDir(place, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if m := info.Mode(); m&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky|fs.ModeDevice|fs.ModeNamedPipe|fs.ModeSocket) != 0 {
			t.Errorf("%s is %s", path, m)
		}
		if to, err := filepath.EvalSymlinks(path); err == nil && to != filepath.Join(real, "place") && !strings.HasPrefix(to, filepath.Join(real, "place")+"/") {
			t.Errorf("%s leads to %s", path, to)
		}
		if strings.HasPrefix(d.Name(), ".seer-") {
			t.Errorf("left behind: %s", path)
		}
		return nil
	})
}

// So it is with a single file.
func TestHostileSandboxSendsAFile(t *testing.T) {
	for name, c := range map[string]struct {
		mode      string
		cut, fine bool
	}{
		"in order":        {mode: "0644", fine: true},
		"setuid":          {mode: "6777", fine: true}, // the bits are left out
		"no mode":         {},
		"a negative mode": {mode: "-1"},
		"a huge mode":     {mode: "77777777777777777777"},
		"cut":             {mode: "0644", cut: true},
	} {
		t.Run(name, func(t *testing.T) {
			c2 := hostile(t, func(rw http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/v1/tree" {
					rw.WriteHeader(http.StatusBadRequest)
					fmt.Fprint(rw, `{"error":{"code":"invalid","message":"it is not a folder"}}`)
					return
				}
				if c.mode != "" {
					rw.Header().Set(protocol.HeaderMode, c.mode)
				}
				rw.Header().Set("Content-Disposition", `attachment; filename="../precious"`)
				if c.cut {
					rw.Header().Set("Content-Length", "1000")
				}
				fmt.Fprint(rw, "content")
			})
			outer := t.TempDir()
			place := filepath.Join(outer, "place")
			if err := os.WriteFile(place, []byte("old"), 0o600); err != nil {
				t.Fatal(err)
			}
			err := c2.Files().Download(t.Context(), "x", place)
			data, rerr := os.ReadFile(place)
			want := map[bool]string{true: "content", false: "old"}[c.fine]
			if (err == nil) != c.fine || rerr != nil || string(data) != want {
				t.Errorf("%q %v %v", data, err, rerr)
			}
			if left, err := os.ReadDir(outer); err != nil || len(left) != 1 {
				t.Errorf("left behind: %v %v", left, err)
			}
			harmless(t, place)
		})
	}
}
