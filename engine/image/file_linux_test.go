package image

import (
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/internal/testimage"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

// system makes a folder that is to be an image, with all that an unpacked one must not have.
func system(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "system é")
	for name, text := range map[string]string{
		"etc/motd": "hello", "bin/su": "x", "closed/in": "inside", "etc/environment": "OF_ENROOT=\"a b\"\nPATH=/first\n# no=1\n",
		".singularity.d/env/10-docker2singularity.sh": "#!/bin/sh\nexport PATH=\"/opt/bin:/usr/bin\"\nexport OF_SIF=\"${OF_SIF:-\"one two\"}\"\nexport EMPTY=\"${EMPTY:-}\"\nexport BAD=\"$(touch /x)\"\n",
		".singularity.d/env/90-environment.sh":        "export LATER=1\n",
	} {
		testkit.WriteFile(t, filepath.Join(dir, name), text)
	}
	for _, err := range []error{
		os.Symlink("../etc/motd", filepath.Join(dir, "bin/link")), syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600),
		os.Chmod(filepath.Join(dir, "bin/su"), 0o755|fs.ModeSetuid), os.Chmod(filepath.Join(dir, "closed/in"), 0o000),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

var systemVariables = []string{"OF_ENROOT=a b", "PATH=/opt/bin:/usr/bin", "OF_SIF=one two", "EMPTY=", "LATER=1"}

func unpackFile(t *testing.T, file, cache string, log *[]string) (Root, error) {
	t.Helper()
	return UnpackFile(t.Context(), file, Options{Dir: cache, Log: func(line string) {
		if log != nil {
			*log = append(*log, line)
		}
	}})
}

func TestUnpackFile(t *testing.T) {
	t.Parallel()
	dir := system(t)
	where := t.TempDir()
	sqsh := testimage.Squash(t, dir, filepath.Join(where, "an image.sqsh"))
	sif := writeSIF(t, filepath.Join(where, "image.sif"), []byte(testkit.ReadFile(t, sqsh)), nil)
	link := filepath.Join(where, "latest")
	if err := os.Symlink("image.sif", link); err != nil {
		t.Fatal(err)
	}
	cache := filepath.Join(where, "cache")
	for _, file := range []string{sqsh, sif, link} {
		var log []string
		root, err := unpackFile(t, file, cache, &log)
		if err != nil {
			t.Fatal(err)
		}
		checkSystem(t, root)
		if unpacked := slices.ContainsFunc(log, func(line string) bool { return strings.Contains(line, "unsquashfs") }); unpacked == (file == link) {
			t.Errorf("%s: %q", file, log)
		}
		before := root
		if root, err = unpackFile(t, file, cache, nil); err != nil || root.Dir != before.Dir || root.Digest != before.Digest {
			t.Errorf("again: %+v, %v", root, err)
		}
	}
	later := time.Now().Add(-time.Hour)
	if err := os.Chtimes(sqsh, later, later); err != nil {
		t.Fatal(err)
	}
	if root, err := unpackFile(t, sqsh, cache, nil); err != nil {
		t.Error(err)
	} else if all, err := List(cache); err != nil || len(all) != 3 || !slices.ContainsFunc(all, func(s Stored) bool { return s.Dir == root.Dir && slices.Contains(s.Refs, sqsh) }) {
		t.Errorf("a file that has changed: %+v, %v", all, err)
	}
	root, err := unpackFile(t, dir, cache, nil)
	if err != nil || root.Dir != dir || !slices.Equal(root.Env, systemVariables) {
		t.Errorf("a folder: %+v, %v", root, err)
	}
}

func checkSystem(t *testing.T, root Root) {
	t.Helper()
	for name, want := range map[string]string{"etc/motd": "hello", "bin/link": "hello", "closed/in": "inside"} {
		if got := testkit.ReadFile(t, filepath.Join(root.Dir, name)); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	if info, err := os.Lstat(filepath.Join(root.Dir, "bin/su")); err != nil || info.Mode() != 0o755 {
		t.Errorf("a setuid file: %v, %v", info, err)
	}
	if _, err := os.Lstat(filepath.Join(root.Dir, "pipe")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a pipe: %v", err)
	}
	if !slices.Equal(root.Env, systemVariables) {
		t.Errorf("variables: %q", root.Env)
	}
	if left, err := os.ReadDir(filepath.Dir(root.Dir)); err != nil || len(left) != 2 {
		t.Errorf("beside the tree: %v, %v", left, err)
	}
}

// A SIF file that Apptainer's own package has written (github.com/apptainer/sif/v2 2.25.0, with an
// overlay before the system) has a setuid file, a device and a pipe.
func TestFileOfApptainer(t *testing.T) {
	t.Parallel()
	packed, err := os.Open("testdata/apptainer.sif.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	plain, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(plain)
	if err != nil {
		t.Fatal(err)
	}
	file := testkit.WriteFile(t, filepath.Join(t.TempDir(), "apptainer.sif"), string(data))
	root, err := UnpackFile(t.Context(), file, Options{Dir: t.TempDir(), Platform: "linux/amd64"})
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(root.Dir, "etc/motd")); err != nil || info.Mode() != 0o755 || testkit.ReadFile(t, filepath.Join(root.Dir, "closed/f")) != "in\n" {
		t.Errorf("%v, %v", info, err)
	}
	if entries, err := os.ReadDir(root.Dir); err != nil || len(entries) != 3 {
		t.Errorf("%v, %v", entries, err)
	}
	if _, err := UnpackFile(t.Context(), file, Options{Dir: t.TempDir(), Platform: "linux/arm64"}); sdk.CodeOf(err) != sdk.NotFound {
		t.Errorf("for another processor: %v", err)
	}
}

func TestFilesThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	where := t.TempDir()
	good := []byte(testkit.ReadFile(t, testimage.Squash(t, system(t), filepath.Join(where, "good"))))
	put := func(name string, data []byte) string {
		return testkit.WriteFile(t, filepath.Join(where, name), string(data))
	}
	sif := func(name string, change func(*sifFixture)) string {
		return writeSIF(t, filepath.Join(where, name), good, change)
	}
	whole := sif("whole", nil)
	old := slices.Clone(good)
	old[28] = 3
	damaged := slices.Clone(good)
	for i := 96; i < len(damaged); i++ {
		damaged[i] ^= 0xff
	}
	for name, tc := range map[string]struct {
		file, text string
		code       sdk.Code
	}{
		"nothing":           {filepath.Join(where, "nobody"), "no such file", sdk.NotFound},
		"a device":          {"/dev/null", "neither a file nor a folder", sdk.Invalid},
		"a text":            {put("text", []byte("hello")), "neither a folder nor a file of squashfs or SIF", sdk.Unsupported},
		"empty":             {put("empty", nil), "neither a folder", sdk.Unsupported},
		"cut off":           {put("cut", good[:binary.LittleEndian.Uint64(good[40:])-10]), "damaged or incomplete", sdk.Invalid},
		"old squashfs":      {put("old", old), "has the version 3", sdk.Unsupported},
		"damaged":           {put("damaged", damaged), "unsquashfs fails: ", sdk.Invalid},
		"a SIF cut off":     {put("cut.sif", []byte(testkit.ReadFile(t, whole)[:34000])), "damaged or incomplete", sdk.Invalid},
		"encrypted":         {sif("encrypted", func(f *sifFixture) { f.fs = 5 }), "encrypted", sdk.Unsupported},
		"ext3":              {sif("ext3", func(f *sifFixture) { f.fs = 2 }), "ext3", sdk.Unsupported},
		"no system":         {sif("data", func(f *sifFixture) { f.use = 3 }), "no partition with a system", sdk.Unsupported},
		"another processor": {sif("other", func(f *sifFixture) { f.arch = "06" }), "it is for linux/ppc64le", sdk.NotFound},
	} {
		cache := filepath.Join(t.TempDir(), "cache")
		_, err := unpackFile(t, tc.file, cache, nil)
		if sdk.CodeOf(err) != tc.code || err == nil || !strings.Contains(err.Error(), tc.text) || !strings.HasPrefix(err.Error(), "the image "+tc.file) {
			t.Errorf("%s: %s, %v", name, sdk.CodeOf(err), err)
		}
		if left, _ := os.ReadDir(filepath.Join(cache, "roots")); len(left) != 0 {
			t.Errorf("%s has left %v", name, left)
		}
	}
}

// tool puts a script in the place of unsquashfs.
func tool(t *testing.T, script string) (dir string) {
	t.Helper()
	file := testkit.WriteFile(t, filepath.Join(t.TempDir(), "unsquashfs"), "#!/bin/sh\n"+script)
	if err := os.Chmod(file, 0o700); err != nil {
		t.Fatal(err)
	}
	return filepath.Dir(file)
}

// Red Hat 8 has a program that does not unpack from within a file.
func TestOldUnsquashfs(t *testing.T) {
	real, err := exec.LookPath("unsquashfs")
	if err != nil {
		t.Fatal(err)
	}
	where := t.TempDir()
	sif := writeSIF(t, filepath.Join(where, "image.sif"), []byte(testkit.ReadFile(t, testimage.Squash(t, system(t), filepath.Join(where, "x")))), nil)
	t.Setenv("PATH", tool(t, `case " $* " in *" -version "*) echo "unsquashfs version 4.3 (2014/05/12)"; exit 0 ;; *" -offset "*) exit 1 ;; esac
exec `+real+` "$@"`)+":"+os.Getenv("PATH"))
	root, err := unpackFile(t, sif, filepath.Join(where, "cache"), nil)
	if err != nil {
		t.Fatal(err)
	}
	checkSystem(t, root)
}

const killedVariable = "SEER_TEST_KILLED"

// TestUnpackUntilKilled is the program that TestKilledWhileUnpacking kills.
func TestUnpackUntilKilled(t *testing.T) {
	if file := os.Getenv(killedVariable); file != "" {
		_, err := unpackFile(t, file, filepath.Join(filepath.Dir(file), "cache"), nil)
		t.Fatalf("it has ended: %v", err)
	}
}

// What a killed program leaves is never taken for an image, and what it has started ends with it.
func TestKilledWhileUnpacking(t *testing.T) {
	t.Parallel()
	where := t.TempDir()
	file := testimage.Squash(t, system(t), filepath.Join(where, "image.sqsh"))
	slow := tool(t, `for last; do :; done
while [ "$1" != -dest ]; do shift; done
mkdir -p "$2/etc" && echo half >"$2/etc/motd" && chmod 500 "$2/etc" && echo $$ >"`+where+`/pid" && exec sleep 600`)
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestUnpackUntilKilled$")
	cmd.Env = append(os.Environ(), killedVariable+"="+file, "PATH="+slow+":"+os.Getenv("PATH"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	testkit.EventuallyNil(t, "the program to unpack", func() error {
		data, err := os.ReadFile(filepath.Join(where, "pid"))
		if err == nil {
			_, err = fmt.Sscan(string(data), &pid)
		}
		return err
	})
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	testkit.Eventually(t, "what it has started to end", func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) })
	cache := filepath.Join(where, "cache")
	if all, err := List(cache); err != nil || len(all) != 0 {
		t.Errorf("half an image: %+v, %v", all, err)
	}
	root, err := unpackFile(t, file, cache, nil)
	if err != nil {
		t.Fatal(err)
	}
	checkSystem(t, root)
	if left, _ := os.ReadDir(filepath.Join(cache, "roots")); len(left) != 1 {
		t.Errorf("left: %v", left)
	}
}

func TestUnpackFileOnAFullDisk(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 { // only root can mount a small disk
		return
	}
	dir := system(t)
	testkit.WriteFile(t, filepath.Join(dir, "big"), strings.Repeat("0123456789abcdef", 1<<18)) // 4 MiB, and much less packed
	file := testimage.Squash(t, dir, filepath.Join(t.TempDir(), "image.sqsh"))
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=1m"); err != nil {
		t.Fatal(err)
	}
	defer syscall.Unmount(disk, 0)
	_, err := unpackFile(t, file, disk, nil)
	if !errors.Is(err, state.ErrNoSpace) || !strings.Contains(err.Error(), "no space left to write "+disk) {
		t.Errorf("%v", err)
	}
	if left, _ := os.ReadDir(filepath.Join(disk, "roots")); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}
