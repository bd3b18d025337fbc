package host_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/wasmfile"
)

const shoutManifest = `id: expose-shout
version: 0.1.0
implements: [expose/1]
provides: [shout]
`

// empty is a Wasm module with a manifest and nothing else.
func module(manifest string, sections ...byte) []byte {
	code := append([]byte{0, 'a', 's', 'm', 1, 0, 0, 0}, sections...)
	if manifest == "" {
		return code
	}
	return wasmfile.AppendCustom(code, sdk.ManifestSection, []byte(manifest))
}

// A type () -> (), a function of it, exported as "expose".
var exportsExpose = []byte{1, 4, 1, 0x60, 0, 0, 3, 2, 1, 0, 7, 10, 1, 6, 'e', 'x', 'p', 'o', 's', 'e', 0, 0, 10, 4, 1, 2, 0, 0x0b}

func write(t *testing.T, dir, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// Whatever has the name of a plugin is looked at and left: nobody waits for the writer
// of a pipe, nor reads a device to its end. What is good beside it is found.
func TestOddFilesHoldNobodyUp(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "expose-shout.wasm", module(shoutManifest, exportsExpose...))
	for name, lay := range map[string]func(path string) error{
		"pipe.wasm":   func(path string) error { return unix.Mkfifo(path, 0o600) },
		"device.wasm": func(path string) error { return os.Symlink("/dev/zero", path) },
		"folder.wasm": func(path string) error { return os.Mkdir(path, 0o700) },
		"piped.yaml":  func(path string) error { return unix.Mkfifo(path, 0o600) },
		"endless.yaml": func(path string) error {
			return os.Symlink("/dev/zero", path)
		},
	} {
		if err := lay(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	write(t, dir, "piped.wasm", module("", exportsExpose...))
	write(t, dir, "endless.wasm", module("", exportsExpose...))
	write(t, dir, "large.wasm", nil)
	if err := os.Truncate(filepath.Join(dir, "large.wasm"), 1<<40); err != nil { // it takes no room
		t.Fatal(err)
	}
	h, err := host.New(host.Options{Dirs: []string{dir}, CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		plugins, errs := h.Plugins(context.Background())
		if len(plugins) != 1 || plugins[0].Manifest.ID != "expose-shout" || len(errs) != 6 {
			t.Errorf("plugins %v, errors %v", plugins, errs)
		}
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("still reading")
	}
}

func TestScanFaults(t *testing.T) {
	for name, tc := range map[string]struct {
		wasm  []byte
		yaml  string
		fault host.Fault
		texts []string
	}{
		"not wasm":  {[]byte("hello"), shoutManifest, host.FaultCorrupt, []string{"expose-shout.wasm", "not a Wasm binary"}},
		"component": {[]byte{0, 'a', 's', 'm', 0x0d, 0, 1, 0}, shoutManifest, host.FaultCorrupt, []string{"component"}},
		"truncated": {module("", exportsExpose[:20]...), shoutManifest, host.FaultCorrupt, []string{"truncated"}},
		"no manifest": {module("", exportsExpose...), "", host.FaultManifest,
			[]string{"no manifest", "put expose-shout.yaml beside it"}},
		"bad yaml": {module("", exportsExpose...), "id: [", host.FaultManifest, []string{"expose-shout.yaml:1: "}},
		"unknown key": {module("", exportsExpose...), shoutManifest + "permission: {}\n", host.FaultManifest,
			[]string{"expose-shout.yaml:5: field permission is not a key of a manifest"}},
		"all problems": {module("", exportsExpose...), "id: Bad Id\nversion: one\nimplements: [oracle/1]\nlimits:\n  memory_mb: 99999\n", host.FaultManifest,
			[]string{"yaml:1: id", "yaml:2: version", `yaml:3: implements: unknown contract "oracle/1"`, "provides: missing", "yaml:5: memory_mb: 99999"}},
		"another id": {module("", exportsExpose...), strings.Replace(shoutManifest, "expose-shout", "expose-other", 1), host.FaultManifest,
			[]string{`of "expose-other"`}},
		"mismatch": {module(shoutManifest, exportsExpose...), shoutManifest + "permissions: {folders: true}\n", host.FaultManifest,
			[]string{"something else than the manifest inside"}},
		"version": {module("", exportsExpose...), strings.Replace(shoutManifest, "expose/1", "expose/2", 1), host.FaultVersion,
			[]string{"expose-shout.yaml:3: ", "needs expose/2, this seer speaks expose/1"}},
		"unknown import": {module("", append([]byte{1, 4, 1, 0x60, 0, 0, 2, 12, 1, 4, 's', 'e', 'e', 'r', 3, 'f', 'l', 'y', 0, 0}, 7, 10, 1, 6, 'e', 'x', 'p', 'o', 's', 'e', 0, 0)...),
			shoutManifest, host.FaultImports, []string{`host function "fly" of "seer"`}},
		"no export": {module(""), shoutManifest, host.FaultExports, []string{`does not export the function "expose"`}},
		"no wasm":   {nil, shoutManifest, host.FaultCorrupt, []string{"expose-shout.wasm is missing"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if tc.wasm != nil {
				write(t, dir, "expose-shout.wasm", tc.wasm)
			}
			if tc.yaml != "" {
				write(t, dir, "expose-shout.yaml", []byte(tc.yaml))
			}
			h := open(t, host.Options{Dirs: []string{dir}})
			plugins, errs := h.Plugins(context.Background())
			if len(plugins) != 0 || len(errs) != 1 {
				t.Fatalf("plugins %v, errors %v", plugins, errs)
			}
			wantFault(t, errs[0], tc.fault, append(tc.texts, dir)...)
			// The same is said to who asks for it by name.
			_, err := h.Exposer(context.Background(), "shout")
			if sdk.CodeOf(err) != sdk.NotFound || !strings.Contains(err.Error(), tc.texts[0]) {
				t.Errorf("Exposer: %v", err)
			}
		})
	}
}

func TestManifestInEitherPlace(t *testing.T) {
	for name, files := range map[string]map[string][]byte{
		"inside": {"expose-shout.wasm": module(shoutManifest, exportsExpose...)},
		"beside": {"expose-shout.wasm": module("", exportsExpose...), "expose-shout.yaml": []byte(shoutManifest)},
		"both":   {"expose-shout.wasm": module(shoutManifest, exportsExpose...), "expose-shout.yaml": []byte("# the same\n" + shoutManifest)},
	} {
		dir := t.TempDir()
		for file, data := range files {
			write(t, dir, file, data)
		}
		plugins, errs := open(t, host.Options{Dirs: []string{dir}}).Plugins(context.Background())
		if len(plugins) != 1 || len(errs) != 0 || plugins[0].Manifest.ID != "expose-shout" || !strings.HasPrefix(plugins[0].Digest, "sha256:") {
			t.Errorf("%s: %+v, %v", name, plugins, errs)
		}
	}
}

// A guest in no language at all: the ABI needs no Go. Its expose does nothing, so
// it answers nothing.
func TestHandMadeModule(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "expose-shout.wasm", module(shoutManifest, exportsExpose...))
	_, err := expose(t, open(t, host.Options{Dirs: []string{dir}}), "shout", "")
	wantFault(t, err, host.FaultOutput, "answered nothing")
}

// Bytes that look right from outside and are not.
func TestUncompilable(t *testing.T) {
	dir := t.TempDir()
	bad := append([]byte{}, exportsExpose...)
	bad[len(bad)-1] = 0xff // no such instruction
	write(t, dir, "expose-shout.wasm", module(shoutManifest, bad...))
	_, err := expose(t, open(t, host.Options{Dirs: []string{dir}}), "shout", "")
	wantFault(t, err, host.FaultCorrupt, "cannot be compiled", "expose-shout.wasm")
}

func TestSearchOrder(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	louder := strings.Replace(shoutManifest, "expose-shout", "expose-louder", 1)
	write(t, first, "expose-shout.wasm", module(shoutManifest, exportsExpose...))
	write(t, second, "expose-shout.wasm", module(shoutManifest, exportsExpose...))
	write(t, second, "expose-louder.wasm", module(louder, exportsExpose...))
	plugins, errs := open(t, host.Options{Dirs: []string{first}, Optional: []string{second, filepath.Join(first, "none")}}).Plugins(context.Background())
	if len(plugins) != 1 || plugins[0].File != filepath.Join(first, "expose-shout.wasm") || len(errs) != 2 {
		t.Fatalf("plugins %+v, errors %v", plugins, errs)
	}
	for _, err := range errs {
		wantFault(t, err, host.FaultDuplicate, "not used", plugins[0].File)
	}
}

func TestBrokenPluginIsNotReplacedByALaterOne(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	write(t, first, "expose-shout.wasm", []byte("broken"))
	write(t, second, "expose-shout.wasm", module(shoutManifest, exportsExpose...))
	h := open(t, host.Options{Dirs: []string{first, second}})
	if _, err := h.Exposer(context.Background(), "shout"); err == nil || !strings.Contains(err.Error(), first) {
		t.Errorf("error = %v", err)
	}
}

func TestMissingFolder(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "expose-shout.wasm", module(shoutManifest, exportsExpose...))
	gone := filepath.Join(dir, "gone")
	h := open(t, host.Options{Dirs: []string{gone, dir}})
	_, err := h.Exposer(context.Background(), "shout")
	wantFault(t, err, host.FaultFolder, gone, "SEER_PLUGIN_DIR")
}

// Another program uninstalls a plugin. This one goes on with the others, and puts none of them in its
// place.
func TestFolderThatIsRemovedMeanwhile(t *testing.T) {
	goes, stays, later := filepath.Join(t.TempDir(), "goes"), t.TempDir(), t.TempDir()
	if err := os.Mkdir(goes, 0o700); err != nil {
		t.Fatal(err)
	}
	other := strings.ReplaceAll(shoutManifest, "shout", "whisper")
	write(t, goes, "expose-whisper.wasm", module(other, exportsExpose...))
	write(t, stays, "expose-shout.wasm", module(shoutManifest, exportsExpose...))
	write(t, later, "expose-whisper.wasm", module(other, exportsExpose...))
	h := open(t, host.Options{Dirs: []string{goes, stays, later}})
	if _, err := h.Exposer(t.Context(), "whisper"); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(goes); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Exposer(t.Context(), "shout"); err != nil {
		t.Errorf("another plugin cannot be used: %v", err)
	}
	_, err := h.Exposer(t.Context(), "whisper")
	wantFault(t, err, host.FaultNotFound, "expose-whisper", "removed while this program runs")
}

// An upgrade of this program replaces the plugins beside it. The version before, which runs, goes on
// with those that it has loaded, as long as they are granted.
func TestFileThatIsReplacedMeanwhile(t *testing.T) {
	dir := t.TempDir()
	manifest := shoutManifest + "permissions:\n  commands: [{command: node, reason: to run it}]\n"
	write(t, dir, "expose-shout.wasm", module(manifest, exportsExpose...))
	granted := ""
	h := open(t, host.Options{Dirs: []string{dir}, Access: func(ctx context.Context, p host.Plugin) (host.Grant, error) {
		if p.Digest != granted {
			return host.Grant{}, host.ErrNotGranted
		}
		return host.GrantAll(ctx, p)
	}})
	plugins, errs := h.Plugins(t.Context())
	if len(plugins) != 1 {
		t.Fatal(plugins, errs)
	}
	granted = plugins[0].Digest
	if err := h.Compile(t.Context(), plugins[0]); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "expose-shout.wasm", module(strings.Replace(manifest, "0.1.0", "0.1.10", 1), exportsExpose...))
	if _, err := h.Exposer(t.Context(), "shout"); err != nil {
		t.Errorf("the plugin that runs cannot be used any more: %v", err)
	}
	granted = ""
	_, err := h.Exposer(t.Context(), "shout")
	wantFault(t, err, host.FaultGrant, "nobody has granted")
}

func TestNotFound(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "expose-shout.wasm", module(shoutManifest, exportsExpose...))
	h := open(t, host.Options{Dirs: []string{dir}})
	_, err := h.Exposer(context.Background(), "librarian")
	wantFault(t, err, host.FaultNotFound, `expose mode "librarian"`, "there are: shout")
	_, err = h.Provider(context.Background(), "modal")
	wantFault(t, err, host.FaultNotFound, `provider "modal"`, "none of that kind in "+dir)
	if !errors.Is(err, &sdk.Error{Code: sdk.NotFound}) {
		t.Error("not_found is not in the chain")
	}
}

// A plugin put there while the host runs is found; one that changed is read anew.
func TestChangesAreSeen(t *testing.T) {
	dir := t.TempDir()
	h := open(t, host.Options{Dirs: []string{dir}})
	if _, err := h.Exposer(context.Background(), "shout"); err == nil {
		t.Fatal("found before it was there")
	}
	write(t, dir, "expose-shout.wasm", module(shoutManifest, exportsExpose...))
	if _, err := h.Exposer(context.Background(), "shout"); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "expose-shout.wasm", module(strings.Replace(shoutManifest, "[shout]", "[whisper]", 1), exportsExpose...))
	if _, err := h.Exposer(context.Background(), "whisper"); err != nil {
		t.Fatal(err)
	}
}

// The cache.

func cacheFiles(t *testing.T, cache string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(cache, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && !strings.HasSuffix(path, ".lock") {
			files = append(files, path)
		}
		return err
	})
	if err != nil || len(files) == 0 {
		t.Fatalf("cache files %v, %v", files, err)
	}
	return files
}

func TestCacheIsPrivateAndSurvivesDamage(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "expose-shout.wasm", module(shoutManifest, exportsExpose...)) // quick to compile
	cache := filepath.Join(t.TempDir(), "cache")
	call := func() {
		t.Helper()
		h, err := host.New(host.Options{Dirs: []string{dir}, CacheDir: cache})
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close(context.Background())
		_, err = expose(t, h, "shout", "")
		wantFault(t, err, host.FaultOutput, "answered nothing") // it ran
	}
	call()
	if info, err := os.Stat(cache); err != nil || info.Mode().Perm() != 0o700 {
		t.Fatalf("cache folder: %v, %v", info.Mode(), err)
	}
	damage := map[string]func([]byte) []byte{
		"truncated": func(b []byte) []byte { return b[:len(b)/2] },
		"flipped":   func(b []byte) []byte { b[len(b)/3] ^= 0xff; return b },
		"header":    func(b []byte) []byte { b[20] ^= 0xff; return b },
		"emptied":   func([]byte) []byte { return nil },
	}
	for name, harm := range damage {
		t.Run(name, func(t *testing.T) {
			for _, file := range cacheFiles(t, cache) {
				b, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if len(b) > 50 { // not the seal
					b = harm(b)
				}
				if err := os.WriteFile(file, b, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			call()
		})
	}
}

func TestCacheOfSomebodyElse(t *testing.T) {
	cache := filepath.Join(t.TempDir(), "cache")
	if err := os.Symlink(t.TempDir(), cache); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write(t, dir, "expose-shout.wasm", module(shoutManifest, exportsExpose...))
	h := open(t, host.Options{Dirs: []string{dir}, CacheDir: cache})
	_, err := expose(t, h, "shout", "")
	wantFault(t, err, host.FaultCache, cache, "not a link")
}

func TestListingRunsNothing(t *testing.T) {
	dir := guests(t, "rogue")
	cache := filepath.Join(t.TempDir(), "cache")
	h := open(t, host.Options{Dirs: []string{dir}, CacheDir: cache})
	start := time.Now()
	if plugins, errs := h.Plugins(context.Background()); len(plugins) != 1 || len(errs) != 0 {
		t.Fatalf("%v, %v", plugins, errs)
	}
	if _, err := h.Exposer(context.Background(), "rogue"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(cache); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the cache was touched: %v", err)
	}
	t.Logf("listed in %v", time.Since(start))
}
