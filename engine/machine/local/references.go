package local

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
)

// ReferencedImages reads in the folder of this provider which folders of unpacked images its
// machines run in, and the digests of the images that saved systems stand upon.
func ReferencedImages(dir string) (trees, digests []string, err error) {
	for _, pattern := range []string{"", "saved"} {
		folder := filepath.Join(dir, pattern)
		entries, err := os.ReadDir(folder)
		if err != nil && !os.IsNotExist(err) {
			return nil, nil, err
		}
		for _, entry := range entries {
			var note struct {
				Base   string `json:"base"` // of a saved system
				System struct {
					Dir string `json:"dir"`
				} `json:"system"` // of a machine
			}
			if !strings.HasSuffix(entry.Name(), ".json") {
				continue
			}
			data, err := os.ReadFile(filepath.Join(folder, entry.Name()))
			if err != nil || json.Unmarshal(data, &note) != nil {
				continue // it ended meanwhile
			}
			trees = append(trees, note.System.Dir)
			if _, digest, ok := strings.Cut(note.Base, "@"); ok {
				digests = append(digests, digest)
			}
		}
	}
	return trees, digests, nil
}
