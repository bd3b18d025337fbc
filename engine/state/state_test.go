package state_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seer-engine/seer/engine/state"
)

func lookup(env map[string]string) func(string) string {
	return func(name string) string { return env[name] }
}

// shortDir is a folder whose path is short enough for sockets.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "seer-t")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func TestOpenFollowsXDG(t *testing.T) {
	home, short := t.TempDir(), shortDir(t)
	s, err := state.Open(state.Options{Getenv: lookup(map[string]string{"HOME": home, "XDG_CACHE_HOME": home + "/c ö", "XDG_RUNTIME_DIR": short})})
	if err != nil {
		t.Fatal(err)
	}
	for got, want := range map[string]string{
		s.StateDir(): home + "/.local/state/seer", s.CacheDir(): home + "/c ö/seer", s.RuntimeDir(): short + "/seer",
	} {
		if got != want {
			t.Errorf("%s instead of %s", got, want)
		}
		if info, err := os.Stat(want); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v %v", want, info, err)
		}
	}
	if dir, err := s.Dir("machines"); err != nil || dir != home+"/.local/state/seer/machines" {
		t.Errorf("%s, %v", dir, err)
	}
}

func TestOpenNeedsToKnowWhere(t *testing.T) {
	if _, err := state.Open(state.Options{}); err == nil || !strings.Contains(err.Error(), "XDG_STATE_HOME") {
		t.Errorf("no environment: %v", err)
	}
	env := lookup(map[string]string{"HOME": t.TempDir(), "XDG_STATE_HOME": "relative"})
	if _, err := state.Open(state.Options{Getenv: env}); err == nil || !strings.Contains(err.Error(), "not an absolute path") {
		t.Errorf("a relative folder: %v", err)
	}
}

func TestOpenTakesPermissionsOfOthersAway(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "open")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := state.Open(state.Options{StateDir: dir, CacheDir: t.TempDir(), RuntimeDir: filepath.Join(shortDir(t), "r")}); err != nil {
		t.Fatal(err)
	}
	if info, _ := os.Stat(dir); info.Mode().Perm() != 0o700 {
		t.Errorf("mode %v", info.Mode())
	}
}

func TestRuntimeDirThatSomebodyPreparedIsRefused(t *testing.T) {
	base := shortDir(t)
	own := filepath.Join(base, "own")
	if err := os.Mkdir(own, 0o700); err != nil {
		t.Fatal(err)
	}
	prepare := map[string]func(path string) error{
		"link":     func(p string) error { return os.Symlink(own, p) },
		"file":     func(p string) error { return os.WriteFile(p, nil, 0o600) },
		"open":     func(p string) error { return errors.Join(os.Mkdir(p, 0o700), os.Chmod(p, 0o777)) },
		"dangling": func(p string) error { return os.Symlink(filepath.Join(base, "nowhere"), p) },
	}
	if os.Geteuid() == 0 {
		prepare["foreign"] = func(p string) error { return errors.Join(os.Mkdir(p, 0o700), os.Chown(p, 65534, 65534)) }
	}
	for name, make := range prepare {
		path := filepath.Join(base, name)
		if err := make(path); err != nil {
			t.Fatal(err)
		}
		if _, err := state.Open(state.Options{StateDir: t.TempDir(), CacheDir: t.TempDir(), RuntimeDir: path}); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	if os.Geteuid() == 0 {
		foreign := t.TempDir()
		if err := os.Chown(foreign, 65534, 65534); err != nil {
			t.Fatal(err)
		}
		if _, err := state.Open(state.Options{StateDir: foreign, CacheDir: t.TempDir(), RuntimeDir: filepath.Join(base, "r")}); err == nil {
			t.Error("a state folder of somebody else was accepted")
		}
	}
	long := filepath.Join(base, strings.Repeat("x", 80))
	if _, err := state.Open(state.Options{StateDir: t.TempDir(), CacheDir: t.TempDir(), RuntimeDir: long}); err == nil || !strings.Contains(err.Error(), "shorter") {
		t.Errorf("a long one: %v", err)
	}
}

func TestWriteFileReplacesAsAWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	long, short := []byte(strings.Repeat("a", 1<<16)), []byte(strings.Repeat("b", 100))
	if err := state.WriteFile(path, long, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		for ctx.Err() == nil {
			if got, err := os.ReadFile(path); err != nil || len(got) != len(long) && len(got) != len(short) {
				t.Errorf("read %d bytes, %v", len(got), err)
				return
			}
		}
	})
	for i := range 50 {
		if err := state.WriteFile(path, [][]byte{short, long}[i%2], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	wg.Wait()
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestSweep(t *testing.T) {
	dir := t.TempDir()
	old := time.Now().Add(-2 * time.Hour)
	for _, name := range []string{".tmp-old", ".tmp-new", "old"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "old") {
			if err := os.Chtimes(filepath.Join(dir, name), old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := state.Sweep(dir); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*old")); len(left) != 1 || filepath.Base(left[0]) != "old" {
		t.Errorf("left %v", left)
	}
	if _, err := os.Stat(filepath.Join(dir, ".tmp-new")); err != nil {
		t.Errorf("it removed a write that may be going on: %v", err)
	}
}

func TestSweepLinks(t *testing.T) {
	dir := t.TempDir()
	for name, target := range map[string]string{"new": filepath.Join(dir, "nothing"), "good": dir} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	old := filepath.Join(dir, "old")
	if err := os.Symlink(filepath.Join(dir, "nothing"), old); err != nil {
		t.Fatal(err)
	}
	before := unix.NsecToTimespec(time.Now().Add(-2 * time.Hour).UnixNano())
	if err := unix.UtimesNanoAt(unix.AT_FDCWD, old, []unix.Timespec{before, before}, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		t.Fatal(err)
	}
	if err := state.SweepLinks(dir); err != nil {
		t.Fatal(err)
	}
	var left []string
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if !slices.Equal(left, []string{"good", "new"}) {
		t.Errorf("left %v", left)
	}
}

func TestSweepTakesWhatKilledProgramsLeft(t *testing.T) {
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range []string{"m1." + strconv.Itoa(gone.Process.Pid), "m2." + strconv.Itoa(os.Getpid())} {
		if err := os.Symlink(filepath.Join(dir, "nothing"), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := state.SweepLinks(dir); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 || left[0].Name() != "m2."+strconv.Itoa(os.Getpid()) {
		t.Errorf("links left: %v", left)
	}

	locks := t.TempDir()
	for _, name := range []string{"free", "held", "needed"} {
		if err := os.WriteFile(filepath.Join(locks, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	held, err := state.Acquire(t.Context(), filepath.Join(locks, "held"))
	if err != nil {
		t.Fatal(err)
	}
	defer held.Release()
	if err := state.SweepLocks(locks, func(name string) bool { return name == "needed" }); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(locks); len(left) != 2 || left[0].Name() != "held" || left[1].Name() != "needed" {
		t.Errorf("locks left: %v", left)
	}
}

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, err := state.Acquire(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	if _, held, err := state.TryAcquire(path); !held || err != nil {
		t.Errorf("held %v, %v", held, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
	defer cancel()
	if _, err := state.Acquire(ctx, path); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a wait that ends: %v", err)
	}
	first.Release()
	if second, held, err := state.TryAcquire(path); held || err != nil {
		t.Errorf("held %v, %v", held, err)
	} else {
		second.Remove()
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is still there: %v", err)
	}
}

func TestLockExcludesEvenWhenItsFileIsRemoved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	var (
		wg     sync.WaitGroup
		inside int
		mu     sync.Mutex
	)
	for range 20 {
		wg.Go(func() {
			lock, err := state.Acquire(context.Background(), path)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			if inside++; inside != 1 {
				t.Error("two are inside")
			}
			mu.Unlock()
			mu.Lock()
			inside--
			mu.Unlock()
			lock.Remove()
		})
	}
	wg.Wait()
}

func TestLockEndsWithItsHolder(t *testing.T) {
	path := os.Getenv("SEER_TEST_LOCK")
	if path != "" {
		if _, err := state.Acquire(context.Background(), path); err != nil {
			t.Fatal(err)
		}
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
	path = filepath.Join(t.TempDir(), "lock")
	cmd := exec.Command(os.Args[0], "-test.run=^TestLockEndsWithItsHolder$")
	cmd.Env = append(os.Environ(), "SEER_TEST_LOCK="+path)
	_ = cmd.Run() // it kills itself
	if _, held, err := state.TryAcquire(path); held || err != nil {
		t.Errorf("held %v, %v", held, err)
	}
}
