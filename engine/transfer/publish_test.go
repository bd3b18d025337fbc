package transfer

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
)

// Small files are published together: all of those that are right, also when one is wrong, and
// nothing else stays.
func TestManySmallFiles(t *testing.T) {
	const n = 3*publishAt + 5
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte("content of " + r.URL.Path))
	}))
	defer server.Close()
	for _, exclusive := range []bool{false, true} {
		dir := t.TempDir()
		var files []File
		for i := range n {
			path := fmt.Sprintf("a/%03d", i)
			content := "content of /" + path
			sum := sha256.Sum256([]byte(content))
			files = append(files, File{
				Path: path, Size: int64(len(content)), SHA256: hex.EncodeToString(sum[:]), Source: Whole(server.URL+"/"+path, nil, int64(len(content))),
			})
		}
		last := files[n-1]
		files[n-1].SHA256 = files[0].SHA256
		o := Options{Dir: dir, Exclusive: exclusive, Files: 1} // so that the wrong one is the last
		if err := Download(t.Context(), files, o); !errors.Is(err, ErrMismatch) {
			t.Errorf("a wrong file: %v", err)
		}
		if got, _ := filepath.Glob(dir + "/a/*"); len(got) != n-1 {
			t.Errorf("%d of %d files are there", len(got), n-1)
		}
		files[n-1] = last
		if err := os.Remove(filepath.Join(dir, "a", "007")); err != nil {
			t.Fatal(err)
		}
		if err := Download(t.Context(), files, o); err != nil {
			t.Error(err)
		}
		got, _ := filepath.Glob(dir + "/a/*")
		if len(got) != n {
			t.Errorf("%d of %d files are there: %v", len(got), n, got)
		}
		for _, f := range files {
			if text, err := os.ReadFile(filepath.Join(dir, f.Path)); err != nil || string(text) != "content of /"+f.Path {
				t.Errorf("%s: %q, %v", f.Path, text, err)
			}
		}
	}
}
