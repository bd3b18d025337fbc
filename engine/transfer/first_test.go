package transfer

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"testing"
)

// The beginning of a file is all that is asked for, also where the server has no ranges.
func TestFirst(t *testing.T) {
	data := content("first", 5*block)
	const n = 1000
	for name, fault := range map[string]func(http.ResponseWriter, *http.Request, int64) bool{
		"ranges": nil,
		"range ignored": func(_ http.ResponseWriter, r *http.Request, _ int64) bool {
			r.Header.Del("Range")
			return false
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOrigin(t, map[string][]byte{"model": data})
			o.fault = fault
			f := o.file("model")
			f.Size, f.SHA256, f.Source = n, "", f.Source.First(n)
			dir := t.TempDir()
			if err := Download(t.Context(), []File{f}, Options{Dir: dir}); err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(filepath.Join(dir, "model")); err != nil || !bytes.Equal(got, data[:n]) {
				t.Errorf("%d bytes, %v", len(got), err)
			}
			if sent := o.sent.Load(); fault == nil && sent != n {
				t.Errorf("the server sent %d bytes", sent)
			}
		})
	}
	for n, want := range map[int64]int{0: 0, 3: 3, 9: 4} {
		if got := (Source{Content: []byte("file")}).First(n); len(got.Content) != want {
			t.Errorf("first %d of the content: %q", n, got.Content)
		}
	}
	parts := Source{Parts: []Part{{Length: 4}, {Length: 4, Offset: 10}, {Length: 4, Offset: 20}}}.First(6).Parts
	if len(parts) != 2 || parts[1].Length != 2 || parts[1].Offset != 10 {
		t.Errorf("parts of the first 6 bytes: %+v", parts)
	}
}
