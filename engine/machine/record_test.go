package machine

import (
	"os"
	"path/filepath"
	"testing"
)

func FuzzReadRecord(f *testing.F) {
	f.Add([]byte(`{"version":1,"id":"sb-aaaaaaaaaa","key":"k","state":"running","lease":{"kind":"detached"}}`))
	f.Add([]byte(`{"id":"sb-aaaaaaaaaa","key":"k","created_at":"yesterday"}`))
	f.Add([]byte(`null`))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(dir, "sb-aaaaaaaaaa.json")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if r, err := readRecord(path); err == nil && (r.ID != "sb-aaaaaaaaaa" || r.Key == "") {
			t.Errorf("%q was read as %+v", data, r)
		}
	})
}
