package record

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/seer-engine/seer/internal/attack"
)

func TestAttacks(t *testing.T) {
	attack.Run(t, []attack.Row{
		{Name: "outputs-record-is-link", Want: "is not a folder but a link", Try: func(t *testing.T, defended bool) error {
			users, outputs := t.TempDir(), t.TempDir()
			if err := os.Symlink(users, filepath.Join(outputs, Name)); err != nil {
				t.Fatal(err)
			}
			w, err := create(rootOf(t, outputs), Name, !defended)
			if err == nil {
				if err := w.Close(); err != nil {
					t.Error(err)
				}
			}
			if found, _ := os.ReadDir(users); len(found) > 0 {
				return nil // Seer has written into the user's folder
			}
			return err
		}},
	})
}
