package image

import (
	"context"
	"path/filepath"

	"github.com/seer-engine/seer/engine/cachegc"
)

// Kinds of what machines and saved file systems refer to.
const (
	RefTree   = "image tree"   // by the folder of the unpacked files
	RefDigest = "image digest" // by the digest of the image
)

// Cached is a folder of images as a source of [cachegc].
type Cached string

// Items are the unpacked images.
func (dir Cached) Items(_ context.Context, refs *cachegc.References) ([]cachegc.Item, error) {
	stored, err := List(string(dir))
	if err != nil {
		return nil, err
	}
	var all []cachegc.Item
	for _, s := range stored {
		name := s.Digest
		if len(s.Refs) > 0 {
			name = s.Refs[0]
		}
		all = append(all, cachegc.Item{Kind: "image", Name: name, Bytes: s.Bytes, Last: s.LastUse, Made: s.Created, Needed: refs.Has(RefTree, s.Dir) || refs.Has(RefDigest, s.Digest),
			Fresh: cachegc.LastUse(filepath.Join(filepath.Dir(s.Dir), "root.json")), Remove: func() error {
				_, err := Prune(string(dir), func(other Stored) bool { return other.Digest != s.Digest })
				return err
			}})
	}
	return all, nil
}
