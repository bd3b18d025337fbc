package store

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/internal/testplugin"
)

const lockText = `# our plugins
version: 1
plugins:
  # rents the tiny machines
  provider-tiny:
    reference: registry.example/acme/provider-tiny:1.2 # pinned by ops
    digest: sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
    oci: sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb
    version: 1.2.0
    signer: SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
    permissions: sha256:cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc
    contract: [provider/1]
`

func TestLockKeepsWhatPeopleWrote(t *testing.T) {
	w, dir := newWorld(t), t.TempDir()
	file := filepath.Join(dir, LockFile)
	if err := os.WriteFile(file, []byte(lockText), 0o644); err != nil {
		t.Fatal(err)
	}
	l, err := ReadLock(dir)
	if err != nil {
		t.Fatal(err)
	}
	tiny := l.Plugins["provider-tiny"]
	if tiny.Version != "1.2.0" || tiny.Signer != fingerprintA || !slices.Equal(tiny.Contract, []string{"provider/1"}) {
		t.Errorf("%+v", tiny)
	}
	update := func(change func(*Lock) error) string {
		t.Helper()
		if err := w.UpdateLock(context.Background(), dir, change); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if got := update(func(*Lock) error { return nil }); got != lockText {
		t.Errorf("without a change:\n%s", got)
	}
	got := update(func(l *Lock) error {
		p := l.Plugins["provider-tiny"]
		p.Version, p.Signer, p.OCI = "1.3.0", "", ""
		l.Plugins["provider-tiny"] = p
		p.Reference = "./a b: c.wasm"
		l.Plugins["expose-a"] = p
		return nil
	})
	for _, part := range []string{"# our plugins", "# rents the tiny machines", "# pinned by ops", "version: 1.3.0", "signer: none", `./a b: c.wasm`} {
		if !strings.Contains(got, part) {
			t.Errorf("without %q:\n%s", part, got)
		}
	}
	if strings.Contains(got, "oci:") || strings.Index(got, "expose-a") > strings.Index(got, "provider-tiny:") {
		t.Errorf("oci or order:\n%s", got)
	}
	again, err := ReadLock(dir)
	if err != nil || again.Plugins["expose-a"].Reference != "./a b: c.wasm" {
		t.Errorf("%v, %v", again, err)
	}
	if got := update(func(l *Lock) error { delete(l.Plugins, "provider-tiny"); return nil }); strings.Contains(got, "provider-tiny:") {
		t.Errorf("it is still there:\n%s", got)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("%v, %v", info, err)
	}
}

func TestLockOfExactlyThatFolder(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, LockFile), []byte(lockText), 0o644); err != nil {
		t.Fatal(err)
	}
	below := filepath.Join(dir, "below")
	os.Mkdir(below, 0o700)
	if _, err := ReadLock(below); !errors.Is(err, fs.ErrNotExist) || HasLock(below) || !HasLock(dir) {
		t.Error(err)
	}
}

func TestLockMistakesHaveAPlace(t *testing.T) {
	change := func(old, new string) string { return strings.Replace(lockText, old, new, 1) }
	for text, wants := range map[string][]string{
		"":                                                  {"seer.lock:1: empty"},
		"x":                                                 {"seer.lock:1: not a mapping"},
		change("version: 1\n", "version: 2\n"):              {"seer.lock:2: it is not of version 1", "newer version"},
		change("version: 1\n", ""):                          {"not of version 1"},
		change("plugins:", "plugin:"):                       {"seer.lock:3: seer.lock: unknown key \"plugin\""},
		change("provider-tiny:", "../x:"):                   {"seer.lock:6: plugins: \"../x\" is not the id"},
		change("reference: r", "ref: r"):                    {"seer.lock:6: plugins.provider-tiny: unknown key \"ref\"", "plugins.provider-tiny.reference: \"\" is not where"},
		change("sha256:aaaa", "sha256:AAAA"):                {"seer.lock:7: plugins.provider-tiny.digest"},
		change("sha256:bbbb", "md5:bbbb"):                   {"seer.lock:8: plugins.provider-tiny.oci"},
		change("SHA256:AAAA", "SHA256:!AAA"):                {"seer.lock:10: plugins.provider-tiny.signer"},
		change("sha256:cccc", "cccc"):                       {"seer.lock:11: plugins.provider-tiny.permissions"},
		change("[provider/1]", "[]"):                        {"plugins.provider-tiny.contract: missing"},
		change("[provider/1]", "provider/1"):                {"seer.lock:12: plugins.provider-tiny.contract: not a list"},
		lockText + "plugins: {}\n":                          {"seer.lock:13: seer.lock: the key \"plugins\" is here twice"},
		lockText + "<<<<<<< HEAD\n":                         {"seer.lock:1", "not valid YAML"},
		change("version: 1\n", "version: 1\nplugins: *x\n"): {"seer.lock:3"},
	} {
		_, err := parseLock("seer.lock", []byte(text))
		testkit.WantError(t, err, wants...)
	}
}

func TestLockOfTwoProcesses(t *testing.T) {
	w, dir := newWorld(t), t.TempDir()
	l, err := parseLock(LockFile, []byte(lockText))
	if err != nil {
		t.Fatal(err)
	}
	ids := []string{"a", "b", "c", "d", "e", "f"}
	var wg sync.WaitGroup
	for _, id := range ids {
		s := w.open(nil)
		wg.Go(func() {
			err := s.UpdateLock(context.Background(), dir, func(mine *Lock) error {
				mine.Plugins[id] = l.Plugins["provider-tiny"]
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got, err := ReadLock(dir); err != nil || len(got.Plugins) != len(ids) {
		t.Errorf("%v, %v", got, err)
	}
}

func TestUseGivesExactlyWhatIsLocked(t *testing.T) {
	ctx, w := context.Background(), newWorld(t)
	old, mode := w.put(testplugin.Tiny(t, "1.0.0", "/m")), w.put(expose(t))
	newer := w.put(testplugin.Tiny(t, "2.0.0", "/m"))
	w.grant(newer)
	l := &Lock{Dir: "/project", Plugins: map[string]Locked{"provider-tiny": LockedOf(old), "expose-tiny": LockedOf(mode)}}
	dirs, err := w.Use(l)
	if err != nil || !slices.Equal(dirs, []string{mode.Dir, old.Dir}) {
		t.Fatal(dirs, err)
	}
	// A signature that has come since does no harm; a locked one must be there.
	signed := l.Plugins["provider-tiny"]
	signed.Signer = fingerprintA
	for name, wrong := range map[string]struct {
		id   string
		p    Locked
		want string
	}{
		"not stored": {"provider-tiny", Locked{Digest: "sha256:" + strings.Repeat("0", 64), Version: "1.0.0"}, "it is not installed"},
		"signer":     {"provider-tiny", signed, "signed by " + fingerprintA + ", and it is not signed"},
		"id":         {"provider-other", LockedOf(old), "is of provider-tiny"},
		"version":    {"provider-tiny", with(old, func(p *Locked) { p.Version = "1.0.1" }), "the lock says version 1.0.1"},
		"hash":       {"provider-tiny", with(old, func(p *Locked) { p.Permissions = "sha256:" + strings.Repeat("1", 64) }), "the lock says permissions"},
		"contract":   {"provider-tiny", with(old, func(p *Locked) { p.Contract = []string{"fetcher/1"} }), "the lock says contract fetcher/1"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := w.Use(&Lock{Dir: "/project", Plugins: map[string]Locked{wrong.id: wrong.p, "expose-zero": {Digest: "sha256:" + strings.Repeat("2", 64)}}})
			testkit.WantError(t, err, "/project/seer.lock", wrong.want, "expose-zero", "install what it names")
			var all *LockError
			if !errors.As(err, &all) || len(all.Problems) != 2 {
				t.Error(err)
			}
		})
	}
	if _, err := w.Put(ctx, testplugin.Tiny(t, "1.0.0", "/m"), old.Origin, fingerprintB); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Use(l); err != nil {
		t.Errorf("after it was signed: %v", err)
	}
}

func with(in Installed, change func(*Locked)) Locked {
	p := LockedOf(in)
	change(&p)
	return p
}

func FuzzLock(f *testing.F) {
	f.Add([]byte(lockText))
	f.Add([]byte("version: 1\nplugins: {a: &x {contract: [*x]}}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := parseLock("seer.lock", data)
		if err != nil {
			return
		}
		text, err := l.encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := parseLock("seer.lock", text)
		if err != nil || !reflect.DeepEqual(l.Plugins, again.Plugins) {
			t.Fatalf("%v\n%+v\n%+v\n%s", err, l.Plugins, again.Plugins, text)
		}
		if second, err := again.encode(); err != nil || string(second) != string(text) {
			t.Fatalf("it changes each time: %v\n%s\n%s", err, text, second)
		}
	})
}

// A project that somebody cloned may hold anything by the name of a lock.
func TestALockIsAPlainFile(t *testing.T) {
	for name, lay := range map[string]func(path string) error{
		"pipe":   func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"device": func(path string) error { return os.Symlink("/dev/zero", path) },
		"folder": func(path string) error { return os.Mkdir(path, 0o700) },
	} {
		dir := t.TempDir()
		if err := lay(filepath.Join(dir, LockFile)); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() {
			_, err := ReadLock(dir)
			done <- err
		}()
		select {
		case err := <-done:
			if err == nil || !strings.Contains(err.Error(), "not a plain file") {
				t.Errorf("%s: %v", name, err)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s: still reading", name)
		}
	}
}
