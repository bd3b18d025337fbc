package record

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/seer-engine/seer/engine/plainfile"
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

// TestRecordsWithPipes: a record of a stranger cannot keep whoever opens it waiting.
func TestRecordsWithPipes(t *testing.T) {
	hash := strings.Repeat("a", 64)
	for _, name := range []string{CallsName, ServicesName + "/tools.json", bodiesName + "/aa/" + hash} {
		dir := t.TempDir()
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), syscall.Mkfifo(path, 0o600)); err != nil {
			t.Fatal(err)
		}
		f := &Folder{dir: dir}
		var err error
		switch filepath.Dir(name) {
		case ".":
			_, err = f.Entries()
		case ServicesName:
			_, err = f.Interface("tools")
		default:
			_, err = f.Body(hash)
		}
		if !errors.Is(err, plainfile.ErrOther) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
