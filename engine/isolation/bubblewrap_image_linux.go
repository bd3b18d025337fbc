package isolation

import (
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/seer-engine/seer/sdk"
)

// imageTree shows an image in an empty tree. Bubblewrap can make mount points only
// where it may write. So the folders of the image in which something is put are
// made anew, with what they have shown one by one; all others are shown whole.
func (b *bubblewrap) imageTree(spec Spec) error {
	image := filepath.Clean(spec.Root.Image)
	if err := checkImage(image); err != nil {
		return err
	}
	files, err := etcFiles(spec)
	if err != nil {
		return err
	}
	paths := []string{"/tmp/x", Home + "/x", "/run/x", "/proc/x", "/dev/x", "/sys/x"} // folders of our own
	for path := range files {
		paths = append(paths, path)
	}
	for _, m := range spec.Mounts {
		paths = append(paths, m.Target)
	}
	paths = append(paths, spec.ReadOnly...)
	open, err := opened(image, paths)
	if err != nil {
		return err
	}
	b.tmpfs("/")
	if err := b.openFolder(image, "/", open, files); err != nil {
		return err
	}
	b.add("--dir", "/run")
	b.tmpfs(Home)
	if info, err := os.Lstat(filepath.Join(image, "var/tmp")); err == nil && info.IsDir() {
		b.tmpfs("/var/tmp")
	}
	return b.files(files)
}

// opened are the folders of the image, by their paths inside, in which a path is
// put that they lack.
func opened(image string, paths []string) (map[string]bool, error) {
	open := map[string]bool{"/": true}
	t := tree{base: image}
	for _, path := range paths {
		path = filepath.Clean("/" + path)
		if _, err := t.at(filepath.Dir(path)); err != nil {
			return nil, err
		}
		if info, err := os.Lstat(filepath.Join(image, path)); err == nil && info.Mode()&fs.ModeSymlink == 0 {
			continue // a mount point is there already
		}
		for dir := filepath.Dir(path); dir != "/"; dir = filepath.Dir(dir) {
			if info, err := os.Lstat(filepath.Join(image, dir)); err == nil && info.IsDir() {
				open[dir] = true
			}
		}
	}
	return open, nil
}

// ours are folders of an image that are hidden by what every sandbox has there.
var ours = [...]string{"/proc", "/dev", "/sys", "/tmp", "/run", Home}

// openFolder makes a folder with what the image has in it.
func (b *bubblewrap) openFolder(image, dir string, open map[string]bool, files map[string]string) error {
	entries, err := os.ReadDir(filepath.Join(image, dir))
	if err != nil {
		return sdk.Errorf(sdk.Invalid, "the image cannot be read: %v", err)
	}
	sort.Slice(entries, func(i, j int) bool { return entries[i].Name() < entries[j].Name() })
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		source := filepath.Join(image, path)
		_, made := files[path]
		switch {
		case made || hasPath(ours[:], path):
		case open[path]:
			b.add("--dir", path)
			if err := b.openFolder(image, path, open, files); err != nil {
				return err
			}
		case e.Type() == fs.ModeSymlink:
			target, err := os.Readlink(source)
			if err != nil {
				return err
			}
			b.add("--symlink", target, path)
		case e.IsDir() || e.Type().IsRegular():
			b.add("--ro-bind", source, path)
		}
	}
	return nil
}

func hasPath(paths []string, path string) bool {
	for _, p := range paths {
		if p == path {
			return true
		}
	}
	return false
}

// checkRoot refuses what bubblewrap cannot do, and says what can.
func checkRoot(spec Spec) error {
	switch {
	case spec.Root.Writable:
		return sdk.Errorf(sdk.Unsupported, "isolation bubblewrap cannot make the system writable; use isolation gvisor")
	case len(spec.Root.Layers) > 0:
		return sdk.Errorf(sdk.Unsupported, "isolation bubblewrap cannot lay changes on a tree; use isolation gvisor")
	case spec.RestoreFrom != "":
		return sdk.Errorf(sdk.Unsupported, "isolation bubblewrap cannot continue saved processes; use isolation gvisor")
	}
	return nil
}

// devices shows nodes where they are. The driver of a GPU also wants to see the
// bus that it is on.
func (b *bubblewrap) devices(paths []string) error {
	gpu := false
	for _, path := range paths {
		if err := checkDevice(path); err != nil {
			return err
		}
		b.add("--dev-bind", path, strings.TrimSuffix(path, "/"))
		gpu = gpu || strings.HasPrefix(path, "/dev/nvidia")
	}
	if gpu {
		b.add("--ro-bind", "/sys", "/sys")
	}
	return nil
}
