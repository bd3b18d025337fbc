package scaffold_test

import (
	"bytes"
	"context"
	"errors"
	"go/format"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/seer-engine/seer/engine/plugin/scaffold"
	"github.com/seer-engine/seer/sdk"
)

// carried is the SDK as make puts it beside the program, made once for all tests.
func carried(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(shared.dir, "sdk")
	shared.once.Do(func() {
		cmd := exec.Command("../../../scripts/build-sdk", dir)
		if out, err := cmd.CombinedOutput(); err != nil {
			shared.err = &scaffold.CompileError{Dir: "the SDK", Text: err.Error() + "\n" + string(out)}
		}
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return dir
}

func create(t *testing.T, o scaffold.Options) scaffold.Created {
	t.Helper()
	o.SDK = carried(t)
	c, err := scaffold.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// offline takes everything from the environment that would help a build: the network, and
// flags; but without the paths of folders that are new each time, the toolchain need not
// compile everything again.
func offline(t *testing.T) {
	t.Helper()
	for name, value := range map[string]string{"GOPROXY": "off", "GOFLAGS": "-mod=mod -trimpath", "GOWORK": "off", "GOTOOLCHAIN": "local", "GONOSUMDB": "*"} {
		t.Setenv(name, value)
	}
}

// Each kind is made, formatted as gofmt would, passes go vet and its own tests, is built
// twice to the same bytes, and is what the host takes.
func TestEachKind(t *testing.T) {
	offline(t)
	for kind, id := range map[sdk.Kind]string{sdk.KindProvider: "provider-my-cloud", sdk.KindFetcher: "fetch-my-cloud", sdk.KindExpose: "expose-my-cloud"} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "ein é Ordner [1]", "plug*in")
			c := create(t, scaffold.Options{Kind: kind, Name: "my-cloud", Dir: dir})
			if c.ID != id || c.Dir != dir || !slices.Contains(c.Files, "plugin.yaml") {
				t.Errorf("%+v", c)
			}
			if kind == sdk.KindProvider && short(t, dir, "mycloud/mycloud.go") > 120 {
				t.Error("the provider is no longer short")
			}
			formatted(t, dir, c.Files)
			run(t, dir, "go", "vet", "./...")
			run(t, dir, "go", "test", "-short", "./...")
			same(t, dir, id)
		})
	}
}

// A program that was killed while it made a plugin in a folder of the user is no reason to refuse
// that folder; a file of the user is one, and then nothing is removed.
func TestNewAfterAKill(t *testing.T) {
	dir := t.TempDir()
	left := filepath.Join(dir, ".new-plugin-123", "go.mod")
	if err := os.MkdirAll(filepath.Dir(left), 0o755); err != nil {
		t.Fatal(err)
	}
	replace(t, left, "module left")
	replace(t, filepath.Join(dir, "notes"), "of the user")
	o := scaffold.Options{Kind: sdk.KindExpose, Name: "x", Dir: dir, SDK: carried(t)}
	if _, err := scaffold.New(t.Context(), o); !errors.Is(err, fs.ErrExist) || len(read(t, dir, ".new-plugin-123/go.mod")) == 0 {
		t.Errorf("with a file of the user: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "notes")); err != nil {
		t.Fatal(err)
	}
	create(t, o)
	if _, err := os.Lstat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
}

func short(t *testing.T, dir, file string) int { return bytes.Count(read(t, dir, file), []byte("\n")) }

func read(t *testing.T, dir, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func formatted(t *testing.T, dir string, files []string) {
	t.Helper()
	for _, file := range files {
		text := read(t, dir, file)
		if bytes.Contains(text, []byte("<%")) || bytes.Contains(text, []byte("<no value>")) {
			t.Errorf("%s is not filled in:\n%s", file, text)
		}
		switch filepath.Ext(file) {
		case ".go":
			if want, err := format.Source(text); err != nil || !bytes.Equal(want, text) {
				t.Errorf("%s is not as gofmt would have it (%v):\n%s", file, err, want)
			}
		case ".yaml":
			if err := yaml.Unmarshal(text, new(any)); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
}

func run(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

// same builds the plugin where it is and in a copy.
func same(t *testing.T, dir, id string) {
	t.Helper()
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	if err := os.CopyFS(elsewhere, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	var digests []string
	for _, dir := range []string{dir, elsewhere} {
		var said bytes.Buffer
		r, err := scaffold.Build(t.Context(), scaffold.BuildOptions{Dir: dir, Output: &said})
		if err != nil {
			t.Fatalf("%v\n%s", err, &said)
		}
		if r.Manifest.ID != id || r.Lang != scaffold.Go || r.Wasm != filepath.Join(dir, "dist", id+".wasm") || r.Size < 1<<20 || r.Size > 20<<20 {
			t.Errorf("%+v", r)
		}
		digests = append(digests, r.Digest)
	}
	if digests[0] != digests[1] {
		t.Errorf("the same sources in two folders give %s", digests)
	}
}

func TestRefused(t *testing.T) {
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "mine"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	good := scaffold.Options{Kind: sdk.KindExpose, Name: "x", SDK: carried(t)}
	for name, tc := range map[string]struct {
		change func(*scaffold.Options)
		text   string
	}{
		"kind":        {func(o *scaffold.Options) { o.Kind = "thing" }, `no kind of plugin "thing"; use provider`},
		"language":    {func(o *scaffold.Options) { o.Lang = "cobol" }, `"cobol"; use go or assemblyscript`},
		"no name":     {func(o *scaffold.Options) { o.Name = "" }, "cannot be the name of a plugin"},
		"capitals":    {func(o *scaffold.Options) { o.Name = "Tiny" }, "small letters"},
		"path":        {func(o *scaffold.Options) { o.Name = "../x" }, "small letters"},
		"two hyphens": {func(o *scaffold.Options) { o.Name = "a--b" }, "small letters"},
		"long":        {func(o *scaffold.Options) { o.Name = strings.Repeat("a", 41) }, "at most 40"},
		"a word":      {func(o *scaffold.Options) { o.Name = "func" }, "means something else"},
		"a package":   {func(o *scaffold.Options) { o.Name = "expose-sdk" }, "means something else"},
		"not empty":   {func(o *scaffold.Options) { o.Dir = full }, "is not empty; say where"},
		"a file":      {func(o *scaffold.Options) { o.Dir = filepath.Join(full, "mine") }, "not a directory"},
		"no SDK":      {func(o *scaffold.Options) { o.SDK = full }, "make sdk"},
	} {
		t.Run(name, func(t *testing.T) {
			o := good
			o.Dir = filepath.Join(t.TempDir(), "new")
			tc.change(&o)
			if _, err := scaffold.New(t.Context(), o); err == nil || !strings.Contains(err.Error(), tc.text) {
				t.Errorf("error %v, want one with %q", err, tc.text)
			}
			if found, err := os.ReadDir(filepath.Join(filepath.Dir(o.Dir))); err != nil || o.Dir != full && filepath.Dir(o.Dir) != full && len(found) != 0 {
				t.Errorf("left behind: %v, %v", found, err)
			}
		})
	}
	if found, err := os.ReadDir(full); err != nil || len(found) != 1 {
		t.Errorf("the user's folder has %v, %v", found, err)
	}
}

// What goes wrong half-way leaves nothing, and an empty folder of the user's stays.
func TestNothingHalfWritten(t *testing.T) {
	home := t.TempDir()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	empty := filepath.Join(home, "empty")
	if err := os.Mkdir(empty, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{empty, filepath.Join(home, "new")} {
		_, err := scaffold.New(ended, scaffold.Options{Kind: sdk.KindExpose, Name: "x", Dir: dir, SDK: carried(t)})
		if err == nil {
			t.Error("a cancelled New succeeded")
		}
	}
	if left := tree(t, home); !slices.Equal(left, []string{"empty"}) {
		t.Errorf("left behind: %v", left)
	}
	c := create(t, scaffold.Options{Kind: sdk.KindExpose, Name: "expose-x", Dir: empty})
	if c.ID != "expose-x" || !slices.Contains(tree(t, empty), "plugin.yaml") {
		t.Errorf("%+v", c)
	}
	for _, path := range tree(t, empty) {
		if strings.HasPrefix(filepath.Base(path), ".new-plugin-") {
			t.Errorf("left behind: %s", path)
		}
	}
}

func tree(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, _ fs.DirEntry, err error) error {
		if path != "." {
			out = append(out, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// What the SDK offers to Go 1.24 must be there in Go 1.24: go vet compares with go.mod.
func TestSDKIsOfItsGoVersion(t *testing.T) {
	offline(t)
	t.Setenv("GOFLAGS", "")
	run(t, filepath.Join(carried(t), "go", "seer"), "go", "vet", "./...")
}
