package isolation

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seer-engine/seer/sdk"
)

// maxLinks bounds how many links one path goes through.
const maxLinks = 40

// behindLinks is the spec with each path that goes through a link which is shown, too, named by
// where the link leads: a folder cannot be made in the place of a link.
func (s Spec) behindLinks() Spec {
	links := map[string]string{}
	for _, path := range s.ReadOnly {
		if target, err := os.Readlink(path); err == nil {
			if !filepath.IsAbs(target) {
				target = filepath.Join(filepath.Dir(path), target)
			}
			links[filepath.Clean(path)] = filepath.Clean(target)
		}
	}
	if len(links) == 0 {
		return s
	}
	for link, target := range maps.Clone(links) { // a link may itself be below another one
		links[behind(link, links)] = target
	}
	var shown []string
	for _, path := range s.ReadOnly {
		if path = behind(path, links); !slices.Contains(shown, path) {
			shown = append(shown, path)
		}
	}
	mounts := make([]sdk.Mount, len(s.Mounts))
	for i, m := range s.Mounts {
		m.Target = behind(m.Target, links)
		mounts[i] = m
	}
	s.ReadOnly, s.Mounts = shown, mounts
	return s
}

// behind follows the links above a path.
func behind(path string, links map[string]string) string {
	for range maxLinks {
		followed := false
		for link, target := range links {
			if rest, below := strings.CutPrefix(path, link+"/"); below {
				path, followed = filepath.Join(target, rest), true
				break
			}
		}
		if !followed {
			return path
		}
	}
	return path
}
