package isolation

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/seer-engine/seer/sdk"
)

// base puts the tree together, apart from the mounts: this computer's system or an
// image, the files in /etc, and the folders that are everywhere.
func (g *gvisor) base() error {
	g.tree = tree{base: filepath.Join(g.state, stateTree)}
	build := g.system
	if g.spec.Root.Image != "" {
		build = g.image
	}
	if err := build(); err != nil {
		return err
	}
	if g.spec.Root.Writable {
		if err := os.Mkdir(filepath.Join(g.state, stateUpper), 0o700); err != nil {
			return err
		}
	}
	files, err := etcFiles(g.spec)
	if err != nil {
		return err
	}
	for path, content := range files {
		if err := g.tree.file(path, content); err != nil {
			return err
		}
	}
	for _, dir := range []string{"/proc", "/dev", "/sys", "/tmp", Home, "/run"} {
		if err := g.tree.dir(dir); err != nil {
			return err
		}
	}
	return os.Chmod(filepath.Join(g.tree.base, "tmp"), 0o777|os.ModeSticky)
}

// image lays what is ours on the folder of the image, which is not touched: the
// kernel shows both as one tree in runsc's own mount namespace.
func (g *gvisor) image() error {
	for _, dir := range []string{stateMask, stateLower} {
		if err := os.Mkdir(filepath.Join(g.state, dir), 0o755); err != nil {
			return err
		}
	}
	g.tree = tree{base: filepath.Join(g.state, stateMask), below: g.spec.Root.Image}
	// Mounted first and then named by a short path: the options of an overlay cannot
	// have every name.
	g.script = append(g.script,
		"mount --bind "+quote(g.spec.Root.Image)+" "+stateLower,
		"mount -t overlay overlay -o lowerdir="+stateMask+":"+stateLower+" "+stateTree,
	)
	return nil
}

// system shows the programs and libraries of this computer.
func (g *gvisor) system() error {
	dirs := []string{"/usr"}
	for _, dir := range systemDirs {
		info, err := os.Lstat(dir)
		switch {
		case err != nil:
		case info.Mode()&os.ModeSymlink != 0:
			target, err := os.Readlink(dir)
			if err != nil {
				return err
			}
			if err := g.tree.link(target, dir); err != nil {
				return err
			}
		default:
			dirs = append(dirs, dir)
		}
	}
	if g.spec.Root.Writable {
		if err := g.packages(); err != nil {
			return err
		}
	}
	for _, dir := range dirs {
		if err := g.showDir(dir); err != nil {
			return err
		}
	}
	if err := g.tree.dir("/var"); err != nil {
		return err
	}
	if err := g.tree.link("../tmp", "/var/tmp"); err != nil {
		return err
	}
	shown, err := etcShown(g.spec)
	if err != nil {
		return err
	}
	for _, path := range shown {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		if info.IsDir() { // they may have hundreds of files
			if err := g.showDir(path); err != nil {
				return err
			}
			continue
		}
		if err := g.tree.copy(path); err != nil {
			return err
		}
	}
	return nil
}

// showDir shows a folder of this computer where it is, as a part of the tree.
func (g *gvisor) showDir(path string) error {
	g.script = append(g.script, "mount --rbind -o ro "+quote(path, stateTree+path))
	return g.tree.dir(path)
}

// packages shows what apt and dpkg need of this computer: what is installed, and
// copies of their settings as far as everybody may read them.
func (g *gvisor) packages() error {
	for _, path := range []string{
		"/etc/apt/sources.list", "/etc/apt/sources.list.d", "/etc/apt/trusted.gpg.d", "/etc/apt/keyrings", "/etc/apt/preferences.d",
		"/etc/apt/apt.conf.d", "/etc/dpkg", "/etc/debconf.conf", "/etc/default", "/etc/shells",
	} {
		if _, err := os.Stat(path); err != nil {
			continue
		}
		if err := g.tree.copy(path); err != nil {
			return err
		}
	}
	for _, dir := range []string{"/var/lib/apt/lists/partial", "/var/cache/apt/archives/partial", "/var/cache/debconf", "/var/log"} {
		if err := g.tree.dir(dir); err != nil {
			return err
		}
	}
	const installed = "/var/lib/dpkg"
	if _, err := os.Stat(installed); err != nil {
		return nil //nolint:nilerr // a system without dpkg
	}
	// Its locks belong to root outside; here they are the sandbox's own.
	locks := tree{base: filepath.Join(g.state, stateDpkg)}
	for _, name := range []string{"lock", "lock-frontend", "triggers/Lock"} {
		if err := locks.file(name, ""); err != nil {
			return err
		}
	}
	g.script = append(g.script, "mount -t overlay overlay -o lowerdir="+stateDpkg+":"+installed+" "+stateTree+installed)
	return g.tree.dir(installed)
}

// mounts adds what the command is given, in the order that bubblewrap has, too.
func (g *gvisor) mounts() error {
	above, others := splitMounts(g.spec)
	for _, m := range []struct{ name, target string }{{"tmp", "/tmp"}, {"home", Home}} {
		if covered(targets(g.spec.Mounts), m.target) || m.target == "/tmp" && g.spec.Root.Writable {
			continue // in a writable tree /tmp is of many users, which a folder outside cannot keep apart
		}
		dir := filepath.Join(g.state, m.name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		above = append([]sdk.Mount{{Source: dir, Target: m.target, Writable: true}}, above...)
	}
	if err := g.bind(above); err != nil {
		return err
	}
	if err := g.show(g.spec.ReadOnly); err != nil {
		return err
	}
	return g.bind(others)
}

func targets(mounts []sdk.Mount) []string {
	var out []string
	for _, m := range mounts {
		out = append(out, filepath.Clean(m.Target))
	}
	return out
}

func (g *gvisor) bind(mounts []sdk.Mount) error {
	for _, m := range mounts {
		if err := checkMount(m); err != nil {
			return err
		}
		if err := g.place(m.Source, m.Target); err != nil {
			return err
		}
		g.oci.bind(m.Source, filepath.Clean(m.Target), m.Writable)
	}
	return nil
}

// place makes the point in the tree where something is mounted, unless it lies in
// another mount, where runsc makes it.
func (g *gvisor) place(source, target string) error {
	if _, in := g.within(target); in {
		return nil
	}
	return g.tree.mountPoint(source, target)
}

// within finds the folder outside that is shown where path lies.
func (g *gvisor) within(path string) (string, bool) {
	best, folder := "", ""
	for _, m := range g.oci.Mounts {
		rel, err := filepath.Rel(m.Destination, path)
		if m.Type == "bind" && err == nil && filepath.IsLocal(rel) && rel != "." && len(m.Destination) > len(best) {
			best, folder = m.Destination, filepath.Join(m.Source, rel)
		}
	}
	return folder, best != ""
}

// show puts files and folders of this computer where they are here.
func (g *gvisor) show(paths []string) error {
	for _, path := range paths {
		if err := checkAbs("the path to show", path); err != nil {
			return err
		}
		path = filepath.Clean(path)
		if g.spec.Root.Image == "" && underSystem(path) {
			continue
		}
		target, err := os.Readlink(path)
		if err != nil {
			if _, err := os.Stat(path); err != nil {
				return sdk.Errorf(sdk.NotFound, "cannot show %s: %v", path, err)
			}
			if err := g.place(path, path); err != nil {
				return err
			}
			g.oci.bind(path, path, false)
			continue
		}
		// It stays a link: Python looks for its library where its own link leads to.
		if outside, in := g.within(path); in {
			err = linkAt(target, outside)
		} else {
			err = g.tree.link(target, path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func linkAt(target, path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.Symlink(target, path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}
