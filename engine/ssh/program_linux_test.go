package ssh_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/ssh"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/internal/sshtest"
	"github.com/seer-engine/seer/internal/testkit"
)

func programs(t *testing.T, home string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(home, ".cache/seer/host/*"))
	if err != nil {
		t.Fatal(err)
	}
	hidden, err := filepath.Glob(filepath.Join(home, ".cache/seer/host/.*"))
	if err != nil {
		t.Fatal(err)
	}
	return append(found, hidden...)
}

// Many bring the program at once, and several processes would: it comes once, whole.
func TestProgram(t *testing.T) {
	t.Parallel()
	l := sshtest.New(t)
	box := l.Start("box", "", "")
	clients := []*ssh.Client{client(t, l), client(t, l), client(t, l)}
	var all sync.WaitGroup
	paths := make([]string, 9)
	for i := range paths {
		all.Go(func() {
			path, err := clients[i%3].Program(t.Context(), "box")
			if err != nil {
				t.Error(err)
			}
			paths[i] = path
		})
	}
	all.Wait()
	have := programs(t, box.Home)
	if len(have) != 1 || have[0] != paths[0] {
		t.Fatalf("%q; told were %q", have, paths)
	}
	digest, err := state.Digest(paths[0])
	if err != nil || !strings.HasSuffix(paths[0], "/seer-runtime-"+digest) {
		t.Errorf("%s has the digest %s, %v", paths[0], digest, err)
	}
	before, err := os.Stat(paths[0])
	if err != nil || before.Mode().Perm() != 0o700 {
		t.Fatalf("%v, %v", before, err)
	}

	// Another process finds it there, and removes what nobody has used for long.
	dir := filepath.Dir(paths[0])
	for name, age := range map[string]int{"seer-runtime-old": 31, "seer-runtime-used": 29, "other": 99} {
		at := time.Now().AddDate(0, 0, -age)
		if err := os.Chtimes(testkit.WriteFile(t, filepath.Join(dir, name), "x"), at, at); err != nil {
			t.Fatal(err)
		}
	}
	if path, err := client(t, l).Program(t.Context(), "box"); err != nil || path != paths[0] {
		t.Errorf("%s, %v", path, err)
	}
	after, err := os.Stat(paths[0])
	if err != nil || !os.SameFile(before, after) {
		t.Error("it was brought again")
	}
	if left := programs(t, box.Home); len(left) != 3 || strings.Contains(strings.Join(left, " "), "seer-runtime-old") {
		t.Errorf("%q is left", left)
	}

	// Somebody removes it while it is known to be there.
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	_, err = clients[1].Run(t.Context(), "box", ssh.Command{Argv: []string{ssh.ProgramArg, "provider", "facts"}, Stdin: strings.NewReader("{}")})
	wantKind(t, err, ssh.Lost, "has been removed; try again")
	r, err := clients[0].Run(t.Context(), "box", ssh.Command{Argv: []string{ssh.ProgramArg, "provider", "facts"}})
	if err != nil || r.Code != 0 || !strings.HasPrefix(string(r.Stdout), `{"ok":{`) {
		t.Errorf("%q %q %v", r.Stdout, r.Stderr, err)
	}
}

// Who gives up does not stop what is under way.
func TestProgramComesWhileNobodyWaits(t *testing.T) {
	t.Parallel()
	l := sshtest.New(t)
	box := l.Start("box", "", "")
	c := client(t, l)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Program(ctx, "box"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	testkit.Eventually(t, "the program on the host", func() bool { return len(programs(t, box.Home)) > 0 })
	if path, err := c.Program(t.Context(), "box"); err != nil || !strings.HasPrefix(path, box.Home) || box.Connections() != 1 {
		t.Errorf("%s, %v, after %d logins", path, err, box.Connections())
	}
}

// A home that cannot be written to: another folder is taken.
func TestProgramWithoutAHome(t *testing.T) {
	t.Parallel()
	l := sshtest.New(t)
	box := l.Start("box", "", "")
	testkit.WriteFile(t, filepath.Join(box.Home, ".cache"), "a file is in the way")
	path, err := client(t, l).Program(t.Context(), "box")
	if err != nil || !strings.HasPrefix(path, "/var/tmp/seer-") {
		t.Errorf("%s, %v", path, err)
	}
	if err == nil {
		t.Cleanup(func() {
			_ = os.Remove(path)
			_ = os.Remove(filepath.Dir(path))
			_ = os.Remove(filepath.Dir(filepath.Dir(path)))
		})
	}
}

func TestProgramIsMissingHere(t *testing.T) {
	t.Parallel()
	l := sshtest.New(t)
	l.Start("box", "", "")
	_, err := client(t, l, func(o *ssh.Options) { o.Artifacts = t.TempDir() }).Program(t.Context(), "box")
	wantKind(t, err, ssh.Unusable, "there are no programs in")
	other := t.TempDir()
	testkit.WriteFile(t, filepath.Join(other, "seer-runtime-darwin-arm64"), "x")
	_, err = client(t, l, func(o *ssh.Options) { o.Artifacts = other }).Program(t.Context(), "box")
	wantKind(t, err, ssh.Unusable, "Seer has no program for Linux")
}
