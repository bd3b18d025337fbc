package wheels

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWheelsWithHoles: a build makes files of any size out of nothing. They are neither
// read for hours nor copied to the disk.
func TestWheelsWithHoles(t *testing.T) {
	for _, tc := range []struct {
		name  string
		holes int64
	}{{"as large as may be", 95}, {"larger", 1 << 40}} {
		t.Run(tc.name, func(t *testing.T) {
			fresh := t.TempDir()
			folder := Folder{Dir: t.TempDir(), fresh: fresh, most: 100}
			hole := filepath.Join(fresh, strings.Repeat("0", 64))
			if err := os.WriteFile(hole, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(hole, tc.holes); err != nil {
				t.Skip("this file system has no such files: ", err)
			}
			sum := sha256.Sum256([]byte("wheel"))
			if err := os.WriteFile(filepath.Join(fresh, hex.EncodeToString(sum[:])), []byte("wheel"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := folder.Admit(t.Context()); err != nil {
				t.Fatal(err)
			}
			if kept, _ := os.ReadDir(folder.Dir); len(kept) != 1 {
				t.Errorf("kept %d files instead of the wheel alone", len(kept))
			}
		})
	}
}
