package local

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/seer-engine/seer/internal/testkit"
)

// Connections that begin together find the short name of the socket missing, or leading
// elsewhere: each mends it, and none fails because of another.
func TestLinkIsMendedByManyAtOnce(t *testing.T) {
	t.Parallel()
	top := testkit.ShortDir(t)
	f := folder{note: filepath.Join(top, "m.json"), root: filepath.Join(top, "m"), socketDir: filepath.Join(top, "run", "d")}
	for round := range 200 {
		if err := os.RemoveAll(filepath.Dir(f.socketDir)); err != nil {
			t.Fatal(err)
		}
		if round%2 == 1 {
			if err := errors.Join(os.Mkdir(filepath.Dir(f.socketDir), 0o700), os.Symlink("elsewhere", f.socketDir)); err != nil {
				t.Fatal(err)
			}
		}
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if err := f.link(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		entries, err := os.ReadDir(filepath.Dir(f.socketDir))
		if to, _ := os.Readlink(f.socketDir); err != nil || to != f.path("socket") || len(entries) != 1 {
			t.Fatalf("it leads to %q, beside %v; %v", to, entries, err)
		}
	}
}
