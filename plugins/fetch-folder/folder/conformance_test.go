package folder_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/seer-engine/seer/plugins/fetch-folder/folder"
	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/sdktest"
)

// disk is a folder of this computer, with the errors of the host.
type disk struct{ root string }

func (d disk) Open(name string) (fs.File, error) { return os.DirFS(d.root).Open(name) }

func (d disk) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := os.ReadDir(filepath.Join(d.root, name))
	return entries, coded(err)
}

// Stat is how a walk begins.
func (d disk) Stat(name string) (fs.FileInfo, error) {
	info, err := os.Stat(filepath.Join(d.root, name))
	return info, coded(err)
}

func (d disk) Digests(names []string) (sums []string, err error) {
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(d.root, name))
		if err != nil {
			return nil, coded(err)
		}
		sum := sha256.Sum256(text)
		sums = append(sums, hex.EncodeToString(sum[:]))
	}
	return sums, nil
}

func coded(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return sdk.Errorf(sdk.NotFound, "%v", err)
	}
	return err
}

func TestConformance(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"config.json": "{}", "model.safetensors": "weights", "sub/é [1].bin": "x", "sub.txt": "y", ".git/HEAD": "ref",
	} {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	sdktest.Fetcher(t, sdktest.FetcherKit{
		Open: func(*http.Client) sdk.Fetcher {
			return folder.Fetcher{Open: func(path string) folder.FS { return disk{path} }}
		},
		Model: sdk.ModelRef{Source: folder.Source, Name: root}, Folder: root,
	})
}
