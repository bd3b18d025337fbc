package collect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/seer-engine/seer/internal/attack"
	"github.com/seer-engine/seer/internal/testkit"
)

// gathered copies a tree that make has filled, and tells what was warned of.
func gathered(t *testing.T, defended bool, fill func(dir string)) (to string, err error) {
	t.Helper()
	space := t.TempDir()
	dir := filepath.Join(space, "outputs")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	fill(dir)
	root, err := os.OpenRoot(space)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	to = filepath.Join(t.TempDir(), "to")
	var warned []string
	c := Copier{Warn: func(f string, a ...any) { warned = append(warned, fmt.Sprintf(f, a...)) }, follow: !defended, keep: !defended}
	if _, err := c.Copy(t.Context(), root, "outputs", testkit.OpenRoot(t, to)); err != nil {
		return to, err
	}
	return to, errors.New(strings.Join(append(warned, "collected"), "; "))
}

func run(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		t.Logf("%s %q: %v: %s", name, args, err, said.String())
	}
}

// trap makes dir a repository whose configuration runs a command that makes the file ran.
func trap(t *testing.T, dir, ran string, bare bool) {
	t.Helper()
	args := []string{"init", "-q", dir}
	if bare {
		args = []string{"init", "-q", "--bare", dir}
	}
	run(t, filepath.Dir(dir), "git", args...)
	at := dir
	if bare { // git status needs a work tree
		run(t, dir, "git", "--git-dir="+dir, "config", "core.bare", "false")
		run(t, dir, "git", "--git-dir="+dir, "config", "core.worktree", dir)
		run(t, dir, "git", "--git-dir="+dir, "config", "core.fsmonitor", "touch "+ran+"; false")
		return
	}
	run(t, at, "git", "config", "core.fsmonitor", "touch "+ran+"; false")
}

// status types git status and gives nil if that ran the command.
func status(t *testing.T, dir, ran string, refused error) error {
	t.Helper()
	if err := os.RemoveAll(ran); err != nil {
		t.Fatal(err)
	}
	run(t, dir, "git", "status")
	if _, err := os.Stat(ran); err == nil {
		return nil
	}
	return refused
}

func TestAttacks(t *testing.T) {
	const want = "programs would obey"
	attack.Run(t, []attack.Row{
		{Name: "collected-git-runs-command", Want: want, Try: func(t *testing.T, defended bool) error {
			ran := filepath.Join(t.TempDir(), "ran")
			to, err := gathered(t, defended, func(dir string) { trap(t, dir, ran, false) })
			return status(t, to, ran, err)
		}},
		{Name: "collected-bare-repository-runs-command", Want: want, Try: func(t *testing.T, defended bool) error {
			ran := filepath.Join(t.TempDir(), "ran")
			to, err := gathered(t, defended, func(dir string) {
				bare := filepath.Join(dir, "results")
				trap(t, bare, ran, true)
				to := filepath.Join(bare, "config")
				data, _ := os.ReadFile(to)
				_ = os.WriteFile(to, bytes.ReplaceAll(data, []byte("\tworktree = "+bare+"\n"), []byte("\tworktree = .\n")), 0o644)
			})
			return status(t, filepath.Join(to, "results"), ran, err)
		}},
		{Name: "collected-link-shows-users-file", Want: "not a plain file", Try: func(t *testing.T, defended bool) error {
			secret := filepath.Join(t.TempDir(), "key")
			if err := os.WriteFile(secret, []byte("private"), 0o600); err != nil {
				t.Fatal(err)
			}
			to, err := gathered(t, defended, func(dir string) { _ = os.Symlink(secret, filepath.Join(dir, "result")) })
			if data, _ := os.ReadFile(filepath.Join(to, "result")); string(data) == "private" {
				return nil
			}
			return err
		}},
		{Name: "collected-file-keeps-setuid", Want: "collected", Try: func(t *testing.T, defended bool) error {
			to, err := gathered(t, defended, func(dir string) {
				path := filepath.Join(dir, "sh")
				_ = errors.Join(os.WriteFile(path, []byte("x"), 0o755), os.Chmod(path, 0o755|fs.ModeSetuid|fs.ModeSetgid))
			})
			if info, err := os.Stat(filepath.Join(to, "sh")); err != nil || info.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0 {
				return nil
			}
			return err
		}},
		{Name: "workspace-git-runs-command", Want: want, Try: func(t *testing.T, defended bool) error {
			dir, ran := t.TempDir(), filepath.Join(t.TempDir(), "ran")
			err := worked(t, defended, dir, func() { trap(t, dir, ran, false) })
			return status(t, dir, ran, err)
		}},
		{Name: "workspace-users-git-runs-command", Want: "restored as before", Try: func(t *testing.T, defended bool) error {
			dir, ran := t.TempDir(), filepath.Join(t.TempDir(), "ran")
			run(t, dir, "git", "init", "-q", ".")
			err := worked(t, defended, dir, func() { trap(t, dir, ran, false) })
			if rerr := status(t, dir, ran, err); rerr == nil {
				return nil
			}
			if out, gerr := exec.Command("git", "-C", dir, "rev-parse", "--git-dir").CombinedOutput(); gerr != nil {
				t.Errorf("the user's repository is broken: %s", out)
			}
			return err
		}},
		{Name: "workspace-git-beside-nested-folders", Want: "too many files or folders in each other", Try: besideNested},
		{Name: "workspace-hooks-path-of-users-repository", Want: "restored as before", Try: hooksPath},
	})
}

// besideNested makes trees that are too deep to look into, and a repository in a folder
// beside them, wherever that comes in the order of the folders.
func besideNested(t *testing.T, defended bool) error {
	dir, ran := t.TempDir(), filepath.Join(t.TempDir(), "ran")
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	g := &Guard{root: root, first: !defended, warn: func(string, ...any) {}}
	if err := g.watch(t.Context(), "outputs"); err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		if err := os.MkdirAll(filepath.Join(dir, fmt.Sprint("a", i), strings.Repeat("d/", 400)), 0o755); err != nil {
			t.Fatal(err)
		}
		trap(t, filepath.Join(dir, fmt.Sprint("b", i)), ran, false)
	}
	err = g.Settle(t.Context())
	if err == nil || len(err.Error()) > 4000 {
		t.Errorf("the error of deep folders is %d long: %.100v", len(fmt.Sprint(err)), err)
	}
	for i := range 4 {
		if status(t, filepath.Join(dir, fmt.Sprint("b", i)), ran, err) == nil {
			return nil
		}
	}
	return err
}

// hooksPath has the user's repository lead to hooks in the workspace, which the agent
// rewrites before the user commits.
func hooksPath(t *testing.T, defended bool) error {
	dir, ran := t.TempDir(), filepath.Join(t.TempDir(), "ran")
	hook := filepath.Join(dir, "tools", "checks", "pre-commit")
	write(t, dir, "tools/checks/pre-commit=#!/bin/sh\n", "a=1")
	run(t, dir, "git", "init", "-q", ".")
	run(t, dir, "git", "config", "core.hooksPath", "tools/checks")
	run(t, dir, "git", "add", "a")
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	var warned []string
	g := &Guard{root: root, names: !defended, warn: func(f string, a ...any) { warned = append(warned, fmt.Sprintf(f, a...)) }}
	if err := errors.Join(os.Chmod(hook, 0o755), g.watch(t.Context(), "outputs"),
		os.WriteFile(hook, []byte("#!/bin/sh\ntouch "+ran+"\n"), 0o755), g.Settle(t.Context())); err != nil {
		t.Fatal(err)
	}
	run(t, dir, "git", "-c", "user.name=u", "-c", "user.email=u@localhost", "commit", "-qm", "x")
	if _, err := os.Stat(ran); err == nil {
		return nil
	}
	return errors.New(strings.Join(warned, "; "))
}

// worked lets an agent work in a folder.
func worked(t *testing.T, defended bool, dir string, agent func()) error {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	var warned []string
	g := &Guard{root: root, warn: func(f string, a ...any) { warned = append(warned, fmt.Sprintf(f, a...)) }}
	err = g.watch(t.Context(), "outputs")
	if err != nil {
		t.Fatal(err)
	}
	agent()
	if defended {
		if err := g.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return errors.New(strings.Join(warned, "; "))
}

// TestCopyIsBounded: nothing is waited for, and what is odd does not keep the rest back.
func TestCopyIsBounded(t *testing.T) {
	long := strings.Repeat("n", 255)
	to, err := gathered(t, true, func(dir string) {
		err := errors.Join(
			syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600),
			os.WriteFile(filepath.Join(dir, "a\nb\x1b[2J"), []byte("x"), 0o644),
			os.WriteFile(filepath.Join(dir, "\xff\xfe"), []byte("x"), 0o644),
			os.WriteFile(filepath.Join(dir, long), []byte("x"), 0o600),
			os.WriteFile(filepath.Join(dir, "sparse"), nil, 0o644),
			os.Truncate(filepath.Join(dir, "sparse"), 1<<40),
		)
		deep := filepath.Join(dir, strings.Repeat("d/", maxDepth+5))
		if err = errors.Join(err, os.MkdirAll(deep, 0o755)); err != nil {
			t.Fatal(err)
		}
	})
	if err == nil || !strings.Contains(err.Error(), "folders above it") {
		t.Errorf("%v", err)
	}
	for _, name := range []string{"a\nb\x1b[2J", "\xff\xfe", long, "sparse"} {
		if info, err := os.Lstat(filepath.Join(to, name)); err != nil || info.Mode() != 0o644 {
			t.Errorf("%q: %v, %v", name, info, err)
		}
	}
	var st syscall.Stat_t
	if err := syscall.Stat(filepath.Join(to, "sparse"), &st); err != nil || st.Size != 1<<40 || st.Blocks > 1<<16 {
		t.Errorf("a sparse file of 1 TiB takes %d blocks: %v", st.Blocks, err)
	}
	if _, err := os.Lstat(filepath.Join(to, "pipe")); err == nil {
		t.Error("the pipe was collected")
	}
}

// TestCopyWhileSomebodyRaces: what was left running swaps a folder for a link and a file
// for a pipe, and lets a file grow. Nothing of the user's is collected, and it ends.
func TestCopyWhileSomebodyRaces(t *testing.T) {
	secret := t.TempDir()
	if err := os.WriteFile(filepath.Join(secret, "key"), []byte("private"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan struct{})
	to := ""
	for range 20 {
		var err error
		to, err = gathered(t, true, func(dir string) {
			if ctx, cancel = context.WithCancel(t.Context()); os.MkdirAll(filepath.Join(dir, "real"), 0o755) != nil {
				t.Fatal("no folder")
			}
			stopped = make(chan struct{})
			go race(ctx, dir, secret, stopped)
		})
		cancel()
		<-stopped
		if err != nil && strings.Contains(err.Error(), "private") {
			t.Error(err)
		}
		_ = filepath.WalkDir(to, func(path string, d fs.DirEntry, err error) error {
			if data, _ := os.ReadFile(path); err == nil && d.Type().IsRegular() && bytes.Contains(data, []byte("private")) {
				t.Errorf("%s has the user's", path)
			}
			return nil
		})
	}
	cancel()
}

func race(ctx context.Context, dir, secret string, stopped chan<- struct{}) {
	defer close(stopped)
	growing, err := os.Create(filepath.Join(dir, "growing"))
	if err != nil {
		return
	}
	defer growing.Close()
	for ctx.Err() == nil {
		_, _ = growing.Write(make([]byte, 1<<12))
		at, key := filepath.Join(dir, "swap"), filepath.Join(dir, "real", "key")
		_ = os.Symlink(secret, at)
		_ = os.Remove(at)
		_ = os.Mkdir(at, 0o755)
		_ = os.Remove(at)
		_ = os.WriteFile(key, nil, 0o600)
		_ = os.Remove(key)
		_ = os.Symlink(filepath.Join(secret, "key"), key)
		_ = os.Remove(key)
		_ = syscall.Mkfifo(key, 0o600)
		_ = os.Remove(key)
	}
}

// TestCopyStops: endless folders are not collected endlessly.
func TestCopyStops(t *testing.T) {
	space := t.TempDir()
	for i := range 10 {
		path := filepath.Join(space, "outputs", fmt.Sprint(i))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(space)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	c := Copier{limits: true, most: 5, deep: 1}
	if n, err := c.Copy(t.Context(), root, "outputs", testkit.OpenRoot(t, filepath.Join(t.TempDir(), "to"))); n != 5 || err == nil || !strings.Contains(err.Error(), "more than 5 files") {
		t.Errorf("%d files, %v", n, err)
	}
}

// TestCopyCountsFailures: of many files that cannot be collected, some are named and the others counted.
func TestCopyCountsFailures(t *testing.T) {
	t.Parallel()
	space, to := t.TempDir(), t.TempDir()
	for i := range 23 {
		name := fmt.Sprint(i)
		path := filepath.Join(space, "outputs", name)
		err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o644),
			os.MkdirAll(filepath.Join(to, name, "in the way"), 0o755))
		if err != nil {
			t.Fatal(err)
		}
	}
	c := Copier{}
	_, err := c.Copy(t.Context(), testkit.OpenRoot(t, space), "outputs", testkit.OpenRoot(t, to))
	if err == nil || strings.Count(err.Error(), "was not collected") != 20 || !strings.HasSuffix(err.Error(), "\n3 more could not be collected") {
		t.Errorf("%v", err)
	}
}
