package isolation

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"iter"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strings"
	"testing"
)

// pack makes a tar file of lines: "d a", "f a content", "l a target" (hard link),
// "s a target", "c a" (a device 0,0).
func pack(t testing.TB, lines ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, line := range lines {
		words := append(strings.SplitN(line, " ", 3), "")
		h := &tar.Header{Name: words[1], Mode: 0o644, Uid: 7}
		switch words[0] {
		case "d":
			h.Typeflag, h.Name, h.Mode = tar.TypeDir, words[1]+"/", 0o750
			if words[2] == "opaque" {
				h.PAXRecords = map[string]string{opaqueXattr: "y"}
			}
		case "f":
			h.Typeflag, h.Size = tar.TypeReg, int64(len(words[2]))
		case "l":
			h.Typeflag, h.Linkname = tar.TypeLink, words[2]
		case "s":
			h.Typeflag, h.Linkname = tar.TypeSymlink, words[2]
		case "c":
			h.Typeflag = tar.TypeChar
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			if _, err := io.WriteString(w, words[2]); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// entries are those of a tar file, each with its content.
func entries(t testing.TB, data []byte) iter.Seq2[*tar.Header, string] {
	return func(yield func(*tar.Header, string) bool) {
		t.Helper()
		for r := tar.NewReader(bytes.NewReader(data)); ; {
			h, err := r.Next()
			if errors.Is(err, io.EOF) {
				return
			}
			var content []byte
			if err == nil {
				content, err = io.ReadAll(r)
			}
			if err != nil {
				t.Fatal(err)
			}
			if !yield(h, string(content)) {
				return
			}
		}
	}
}

// unpack is what a tar file has, one line for each name.
func unpack(t testing.TB, data []byte) string {
	t.Helper()
	var out []string
	for h, content := range entries(t, data) {
		line := h.Name
		switch {
		case isDevice00(h):
			line += " gone"
		case h.Typeflag == tar.TypeLink:
			line += " = " + h.Linkname
		case h.Typeflag == tar.TypeSymlink:
			line += " -> " + h.Linkname
		case h.Typeflag == tar.TypeReg:
			line += " " + content
		case h.PAXRecords[opaqueXattr] == "y":
			line += " opaque"
		}
		out = append(out, line)
	}
	sort.Strings(out)
	return strings.Join(out, "; ")
}

func merged(t testing.TB, layers ...[]byte) (string, error) {
	t.Helper()
	dir := t.TempDir()
	var files []string
	for n, data := range layers {
		file := filepath.Join(dir, string(rune('a'+n)))
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	var out bytes.Buffer
	if err := merge(&out, files); err != nil {
		return "", err
	}
	return unpack(t, out.Bytes()), nil
}

func TestMergeLayers(t *testing.T) {
	for name, tc := range map[string]struct {
		layers [][]string
		want   string
	}{
		"one":             {[][]string{{"d a", "f a/b x"}}, "./; ./a/; ./a/b x"},
		"no parents":      {[][]string{{"f a/b/c x"}}, "./; ./a/; ./a/b/; ./a/b/c x"},
		"upper wins":      {[][]string{{"f a 1", "f b 1"}, {"f a 2"}}, "./; ./a 2; ./b 1"},
		"whiteout":        {[][]string{{"d a", "f a/b 1"}, {"d a", "f a/.wh.b"}}, "./; ./a/; ./a/b gone"},
		"folder gone":     {[][]string{{"d a", "f a/b 1"}, {"f .wh.a"}}, "./; ./a gone"},
		"came back":       {[][]string{{"f .wh.a"}, {"f a 2"}}, "./; ./a 2"},
		"came back empty": {[][]string{{"f .wh.a"}, {"d a"}}, "./; ./a/ opaque"},
		"replaced":        {[][]string{{"d a", "f a/b 1"}, {"f .wh.a", "d a", "f a/c 2"}}, "./; ./a/ opaque; ./a/c 2"},
		"opaque":          {[][]string{{"d a", "f a/b 1"}, {"d a", "f a/.wh..wh..opq", "f a/c 2"}}, "./; ./a/ opaque; ./a/c 2"},
		"file to folder":  {[][]string{{"f a 1"}, {"d a", "f a/b 2"}}, "./; ./a/ opaque; ./a/b 2"},
		"folder to file":  {[][]string{{"d a", "f a/b 1"}, {"f a 2"}}, "./; ./a 2"},
		"links":           {[][]string{{"f a 1", "l b a", "l c a"}, {"f x 2"}}, "./; ./a 1; ./b = ./a; ./c = ./a; ./x 2"},
		"file of links":   {[][]string{{"f a 1", "l b a", "l c a"}, {"f .wh.a"}}, "./; ./a gone; ./b 1; ./c = ./b"},
		"link replaced":   {[][]string{{"f a 1", "l b a"}, {"f a 2"}}, "./; ./a 2; ./b 1"},
		"dots":            {[][]string{{"d .", "d ./a", "f ./a/b x", "l ./c ./a/b"}}, "./; ./a/; ./a/b x; ./c = ./a/b"},
	} {
		var layers [][]byte
		for _, lines := range tc.layers {
			layers = append(layers, pack(t, lines...))
		}
		if got, err := merged(t, layers...); err != nil || got != tc.want {
			t.Errorf("%s: %s, %v; not %s", name, got, err, tc.want)
		}
	}
	for name, lines := range map[string][]string{
		"out of the tree": {"f ../x 1"}, "deeper out": {"f a/../../x 1"}, "below a file": {"f a 1", "f a/b 2"},
		"link to nothing": {"l a b"}, "no root": {"f .wh.."},
	} {
		if got, err := merged(t, pack(t, lines...)); err == nil {
			t.Errorf("%s was accepted: %s", name, got)
		}
	}
}

func TestSaveLayer(t *testing.T) {
	var out bytes.Buffer
	in := pack(t, "d .", "d ./sub opaque", "f ./sub/f x", "l ./twin ./sub/f", "c ./gone", "l ./also ./gone", "s ./link t", "l ./link2 ./link", "f ./tmp/junk x")
	if err := saveLayer(&out, bytes.NewReader(in)); err != nil {
		t.Fatal(err)
	}
	want := "./; .wh.also ; .wh.gone ; link -> t; link2 -> t; sub/; sub/.wh..wh..opq ; sub/f x; twin = sub/f"
	if got := unpack(t, out.Bytes()); got != want {
		t.Errorf("%s\nnot %s", got, want)
	}
	if got, err := merged(t, out.Bytes()); err != nil || got != "./; ./also gone; ./gone gone; ./link -> t; ./link2 -> t; ./sub/ opaque; ./sub/f x; ./twin = ./sub/f" {
		t.Errorf("read back: %s, %v", got, err)
	}
	if err := saveLayer(io.Discard, bytes.NewReader(in[:700])); err == nil {
		t.Error("half a file was accepted")
	}
}

// Whatever a layer has in it, what gVisor reads names every folder before it is
// needed and nothing outside of the tree.
func FuzzLayers(f *testing.F) {
	f.Add(pack(f, "d a", "f a/b x", "l c a/b", "f a/.wh.x"), pack(f, "d a opaque", "f .wh.c", "c d"))
	f.Add([]byte("not a tar file"), pack(f, "f ../a x", "l a a"))
	f.Fuzz(func(t *testing.T, lower, upper []byte) {
		_ = saveLayer(io.Discard, bytes.NewReader(upper))
		got, err := merged(t, lower, upper)
		if err != nil {
			return
		}
		_ = got
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "l"), upper, 0o600); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := merge(&out, []string{filepath.Join(dir, "l")}); err != nil {
			return
		}
		have := map[string]bool{}
		r := tar.NewReader(&out)
		for {
			h, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			have[h.Name] = true
		}
		for name := range have {
			if parent := path.Dir(strings.TrimSuffix(name, "/")); !strings.HasPrefix(name, "./") || parent != "." && !have["./"+parent+"/"] || strings.Contains(name, "/../") {
				t.Errorf("%q in %v", name, have)
			}
		}
	})
}
