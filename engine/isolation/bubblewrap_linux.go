package isolation

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/seer-engine/seer/sdk"
)

func bubblewrapCommand(spec Spec) (*exec.Cmd, error) {
	path, err := bubblewrapPath()
	if err != nil {
		return nil, err
	}
	b := &bubblewrap{cmd: &exec.Cmd{Path: path}, sizes: tmpfsOptions(spec)}
	if err := b.build(spec); err != nil {
		Release(b.cmd)
		return nil, err
	}
	return b.cmd, nil
}

// bubblewrap collects the arguments of one bwrap.
type bubblewrap struct {
	args  []string
	cmd   *exec.Cmd
	sizes []string // options before each --tmpfs
}

func (b *bubblewrap) build(spec Spec) error {
	if err := checkEnv(spec.Env); err != nil {
		return err
	}
	if err := checkRoot(spec); err != nil {
		return err
	}
	if err := checkNested(spec); err != nil {
		return err
	}
	b.namespaces(spec)
	if err := b.filter(spec); err != nil {
		return err
	}
	if err := b.system(spec); err != nil {
		return err
	}
	if err := b.kernelTree(spec); err != nil {
		return err
	}
	if err := b.mounts(spec); err != nil {
		return err
	}
	b.environment(spec)
	if spec.Status != nil {
		b.add("--json-status-fd", b.pass(spec.Status))
	}
	return b.finish(spec.Argv)
}

func (b *bubblewrap) add(args ...string) { b.args = append(b.args, args...) }

// pass gives the file to bwrap and returns its number there.
func (b *bubblewrap) pass(f *os.File) string {
	b.cmd.ExtraFiles = append(b.cmd.ExtraFiles, f)
	return strconv.Itoa(2 + len(b.cmd.ExtraFiles))
}

func (b *bubblewrap) namespaces(spec Spec) {
	// One user inside for everybody outside: programs behave alike for root and
	// others, and nothing inside believes that it is root.
	b.add("--unshare-user", "--uid", strconv.Itoa(uid), "--gid", strconv.Itoa(uid))
	b.add("--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try")
	if !spec.Network {
		b.add("--unshare-net")
	}
	b.add("--hostname", spec.hostname(), "--new-session", "--clearenv")
	if spec.PIDOne {
		b.add("--as-pid-1")
	}
	if spec.DieWithParent {
		b.add("--die-with-parent")
	}
}

// system shows the tree of an image or of this computer.
func (b *bubblewrap) system(spec Spec) error {
	if spec.Root.Image != "" {
		return b.imageTree(spec)
	}
	b.systemTree()
	return b.etc(spec)
}

// systemTree shows the programs and libraries of the system in an empty tree.
func (b *bubblewrap) systemTree() {
	b.tmpfs("/")
	b.add("--ro-bind", "/usr", "/usr")
	for _, dir := range systemDirs {
		info, err := os.Lstat(dir)
		switch {
		case err != nil:
		case info.Mode()&os.ModeSymlink != 0:
			if target, err := os.Readlink(dir); err == nil {
				b.add("--symlink", target, dir)
			}
		default:
			b.add("--ro-bind", dir, dir)
		}
	}
	b.add("--dir", "/run", "--dir", "/var", "--symlink", "../tmp", "/var/tmp")
	b.tmpfs(Home)
}

func (b *bubblewrap) etc(spec Spec) error {
	shown, err := etcShown(spec)
	if err != nil {
		return err
	}
	for _, path := range shown {
		b.add("--ro-bind", path, path)
	}
	files, err := etcFiles(spec)
	if err != nil {
		return err
	}
	return b.files(files)
}

// files writes generated files into the tree.
func (b *bubblewrap) files(files map[string]string) error {
	paths := make([]string, 0, len(files))
	for path := range files {
		paths = append(paths, path)
	}
	sort.Strings(paths)
	for _, path := range paths {
		f, err := memoryFile(files[path])
		if err != nil {
			return err
		}
		b.add("--file", b.pass(f), path)
	}
	return nil
}

func (b *bubblewrap) kernelTree(spec Spec) error {
	// bwrap leaves /proc/sys writable, and the kernel lets uid 0 write there without
	// any capability: core_pattern would run a program outside as root.
	b.add("--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys")
	if err := b.hideKeys(spec); err != nil {
		return err
	}
	b.add("--dev", "/dev")
	b.tmpfs("/dev/shm")
	if err := b.devices(spec.Devices); err != nil {
		return err
	}
	b.add("--remount-ro", "/dev")
	b.tmpfs("/tmp")
	return nil
}

// hideKeys shows empty lists of keys: the kernel's have the names of this user's keys,
// of all sessions.
func (b *bubblewrap) hideKeys(spec Spec) error {
	for _, path := range []string{"/proc/keys", "/proc/key-users"} {
		if _, err := os.Lstat(path); err != nil || spec.off.keys {
			continue // a kernel without keys
		}
		f, err := memoryFile("")
		if err != nil {
			return err
		}
		b.add("--ro-bind-data", b.pass(f), path)
	}
	return nil
}

func (b *bubblewrap) mounts(spec Spec) error {
	above, others := splitMounts(spec)
	if err := b.bind(above); err != nil {
		return err
	}
	if err := b.show(spec.ReadOnly, spec.Root.Image != ""); err != nil {
		return err
	}
	if err := b.bind(others); err != nil {
		return err
	}
	b.add("--remount-ro", "/")
	return nil
}

// show puts files and folders of this computer where they are here.
func (b *bubblewrap) show(paths []string, image bool) error {
	for _, path := range paths {
		if err := checkAbs("the path to show", path); err != nil {
			return err
		}
		switch target, err := os.Readlink(path); {
		case underSystem(path) && !image:
		case err == nil: // it stays a link: Python looks for its library where its own link leads to
			b.add("--symlink", target, path)
		default:
			b.add("--ro-bind", path, path)
		}
	}
	return nil
}

func (b *bubblewrap) bind(mounts []sdk.Mount) error {
	for _, m := range mounts {
		if err := checkMount(m); err != nil {
			return err
		}
		option := "--ro-bind"
		if m.Writable {
			option = "--bind"
		}
		b.add(option, m.Source, filepath.Clean(m.Target))
	}
	return nil
}

func (b *bubblewrap) environment(spec Spec) {
	names := make([]string, 0, len(spec.Env))
	for name := range spec.Env {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		b.add("--setenv", name, spec.Env[name])
	}
	dir := spec.Dir
	if dir == "" {
		dir = "/"
	}
	b.add("--chdir", dir)
}

// finish puts the arguments into a memory file: on the command line everybody on
// this computer could read the environment there.
func (b *bubblewrap) finish(argv []string) error {
	f, err := memoryFile(strings.Join(b.args, "\x00") + "\x00")
	if err != nil {
		return err
	}
	b.cmd.Args = append([]string{"bwrap", "--args", b.pass(f), "--"}, argv...)
	b.cmd.Env = []string{} // not nil, which would be this process's own
	return nil
}

func memoryFile(content string) (*os.File, error) {
	fd, err := unix.MemfdCreate("seer", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make a memory file: %w", err)
	}
	f := os.NewFile(uintptr(fd), "seer")
	if _, err := f.WriteString(content); err != nil {
		_ = f.Close()
		return nil, err
	}
	if _, err := f.Seek(0, 0); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}
