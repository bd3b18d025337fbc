package image

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/internal/ctxio"
	"github.com/seer-engine/seer/internal/lazyregexp"
	"github.com/seer-engine/seer/sdk"
)

// toolName is the program of squashfs-tools that unpacks. Apptainer and enroot need the same package.
const toolName = "unsquashfs"

// FindUnsquashfs finds the program that unpacks squashfs files. Sessions without a terminal often lack
// sbin in their PATH, where Red Hat has it.
func FindUnsquashfs(search string) (string, error) {
	return findTool(append(filepath.SplitList(search), "/usr/bin", "/usr/sbin", "/sbin", "/usr/local/bin", "/usr/local/sbin"))
}

func findTool(dirs []string) (string, error) {
	for _, dir := range dirs {
		file := filepath.Join(dir, toolName)
		if info, err := os.Stat(file); filepath.IsAbs(dir) && err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return file, nil
		}
	}
	return "", sdk.Errorf(sdk.Unsupported, "the computer of the machine has no %s, which unpacks such files; have the package squashfs-tools installed there, or name a folder with the unpacked image in image.base", toolName)
}

// unsquash unpacks a squashfs in a file.
type unsquash struct {
	tool, file string
	part       section
}

// run fills the folder. What a killed run has left is in another folder, as its program may not be
// dead yet.
func (u unsquash) run(ctx context.Context, tree string) error {
	work, err := os.MkdirTemp(filepath.Dir(tree), "unpack-")
	if err != nil {
		return err
	}
	defer state.RemoveAll(work) //nolint:errcheck // it is in a folder that goes as a whole if this fails
	from := u.part
	if from.offset > 0 && !u.knowsOffset(ctx) {
		if u.file, err = u.cutOut(ctx, work); err != nil {
			return err
		}
		from.offset = 0
	}
	made := filepath.Join(work, "tree")
	args := []string{"-no-progress", "-no-xattrs", "-force", "-dest", made}
	if from.offset > 0 {
		args = append(args, "-offset", strconv.FormatInt(from.offset, 10))
	}
	cmd := exec.CommandContext(ctx, u.tool, append(args, u.file)...)
	said := &tail{limit: 64 << 10}
	cmd.Stderr = said
	cmd.Env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C"}
	if err := failure(said.data, runDying(cmd)); err != nil {
		return err
	}
	if err := os.Remove(tree); err != nil {
		return err
	}
	return os.Rename(made, tree)
}

var toolVersion = lazyregexp.New(`version (\d+)\.(\d+)`)

// knowsOffset reports whether the program can unpack from within a file: since 4.4, which Red Hat 8
// does not have yet.
func (u unsquash) knowsOffset(ctx context.Context) bool {
	out, _ := exec.CommandContext(ctx, u.tool, "-version").Output() // its exit code differs between versions
	m := toolVersion().FindSubmatch(out)
	if m == nil {
		return true
	}
	major, _ := strconv.Atoi(string(m[1]))
	minor, _ := strconv.Atoi(string(m[2]))
	return major > 4 || major == 4 && minor >= 4
}

// cutOut copies the squashfs into a file of its own.
func (u unsquash) cutOut(ctx context.Context, dir string) (string, error) {
	from, err := os.Open(u.file)
	if err != nil {
		return "", err
	}
	defer from.Close()
	to, err := os.OpenFile(filepath.Join(dir, "system.squashfs"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	_, err = io.Copy(to, ctxio.Reader(ctx, io.NewSectionReader(from, u.part.offset, u.part.size)))
	return to.Name(), errors.Join(err, to.Close())
}

// failure judges what the program has said. Devices and rights of other users cannot be made by an
// ordinary user and are not wanted; the program then ends with 2, or in older versions with 0, as it
// also does when the disk was full.
func failure(said []byte, err error) error {
	var last string
	for line := range strings.Lines(string(said)) {
		line = strings.TrimSpace(line)
		switch {
		case strings.Contains(line, "No space left"):
			return syscall.ENOSPC
		case strings.Contains(line, "quota exceeded"):
			return syscall.EDQUOT
		case line != "" && !strings.Contains(line, "superuser") && last == "":
			last = line
		}
	}
	var exit *exec.ExitError
	switch {
	case err != nil && !errors.As(err, &exit):
		return sdk.Errorf(sdk.Unsupported, "%s cannot be run: %v", toolName, err)
	case last != "":
		return invalid("%s fails: %s", toolName, printable(last))
	case err != nil && exit.ExitCode() != 2:
		return invalid("%s fails: %v", toolName, err)
	}
	return nil
}

func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, text[:min(len(text), 400)])
}

// tail keeps the beginning of what a program says.
type tail struct {
	data  []byte
	limit int
}

func (t *tail) Write(p []byte) (int, error) {
	t.data = append(t.data, p[:min(len(p), t.limit-len(t.data))]...)
	return len(p), nil
}

// counted is what a tree has.
type counted struct{ bytes, files, skipped int64 }

// settle makes an unpacked tree one of the store: no file gives other rights, its owner can read all
// of it, and it has files, folders and links only.
func settle(dir string) (c counted, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return c, err
	}
	defer root.Close()
	err = fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		mode := info.Mode()
		switch {
		case mode.IsDir():
			return chmod(root, path, mode, mode&(fs.ModePerm|fs.ModeSticky)|0o700)
		case mode.IsRegular():
			c.bytes, c.files = c.bytes+info.Size(), c.files+1
			return chmod(root, path, mode, mode&fs.ModePerm|0o400)
		case mode&fs.ModeSymlink != 0:
			c.files++
			return nil
		}
		c.skipped++
		return root.Remove(path)
	})
	return c, err
}

func chmod(root *os.Root, path string, have, want fs.FileMode) error {
	if have&(fs.ModePerm|fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky) == want {
		return nil
	}
	return root.Chmod(path, want)
}
