package local

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// The folders of a folder are spread where the file system knows that, and elsewhere
// nothing happens.
func TestSpread(t *testing.T) {
	dir := t.TempDir()
	spread(filepath.Join(dir, "none"))
	for range 2 {
		spread(dir)
		var fs unix.Statfs_t
		f, err := os.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.Fstatfs(int(f.Fd()), &fs); err != nil {
			t.Fatal(err)
		}
		flags, err := unix.IoctlGetUint32(int(f.Fd()), unix.FS_IOC_GETFLAGS)
		if fs.Type == unix.EXT4_SUPER_MAGIC && (err != nil || flags&topDir == 0) {
			t.Errorf("its flags are %#x, %v", flags, err)
		}
		_ = f.Close()
	}
	if err := os.MkdirAll(filepath.Join(dir, "a", "b"), 0o700); err != nil {
		t.Error(err)
	}
}
