package pipconfig_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/build/pipconfig"
	"github.com/seer-engine/seer/engine/errdefs"
	"github.com/seer-engine/seer/engine/preflight"
	"github.com/seer-engine/seer/sdk"
)

// source is what a user has in the environment, beside an experiment in its own folder.
func source(t *testing.T, user map[string]string) pipconfig.Source {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "exp é")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if user != nil { // this computer's own configuration of pip is left out
		user["PIP_CONFIG_FILE"] = write(t, filepath.Join(t.TempDir(), "pip.conf"), "")
	}
	env, err := preflight.ReadEnv(folder, func(name string) (string, bool) { v, ok := user[name]; return v, ok })
	if err != nil {
		t.Fatal(err)
	}
	return pipconfig.Source{Env: env, Getenv: func(string) string { return "" }, Own: map[string]string{}, Folder: folder}
}

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// mounted is where the file or folder of a variable is shown to builds from.
func mounted(t *testing.T, s pipconfig.Settings, mounts []sdk.Mount, name string) string {
	t.Helper()
	i := slices.IndexFunc(mounts, func(m sdk.Mount) bool { return m.Target == s.Env[name] })
	if i < 0 || mounts[i].Writable {
		t.Fatalf("%s is at %s, and shown are %v", name, s.Env[name], mounts)
	}
	return mounts[i].Source
}

// A new password needs no new layer, and is hidden; another server needs one.
func TestIdentityHasNoPasswords(t *testing.T) {
	identity := func(index string) map[string]string {
		s, err := pipconfig.Read(source(t, map[string]string{"PIP_INDEX_URL": index, "PIP_TIMEOUT": "5"}))
		if err != nil {
			t.Fatal(err)
		}
		if s.Env["PIP_INDEX_URL"] != index || s.Env["PIP_TIMEOUT"] != "5" {
			t.Errorf("builds see %v", s.Env)
		}
		if !slices.Contains(s.Hidden, "p%40ss") || !slices.Contains(s.Hidden, "p@ss") || !slices.Equal(s.Secret, []string{"PIP_INDEX_URL"}) {
			t.Errorf("hidden %v, secret %v", s.Hidden, s.Secret)
		}
		return s.Identity
	}
	one := identity("https://me:p%40ss@pypi.example/simple")
	if two := identity("https://you:p%40ss@pypi.example/simple"); !maps.Equal(one, two) {
		t.Errorf("%v is not %v", one, two)
	}
	if other := identity("https://me:p%40ss@other.example/simple"); maps.Equal(one, other) {
		t.Errorf("another server has the identity %v", other)
	}
	if text := strings.Join(slices.Collect(maps.Values(one)), " "); strings.Contains(text, "ss@") {
		t.Errorf("the identity has a password: %s", text)
	}
}

// An experiment's variables win, and never name a layer as the user's do.
func TestExperimentsVariables(t *testing.T) {
	const index = "https://pypi.example/simple"
	users, err := pipconfig.Read(source(t, map[string]string{"PIP_INDEX_URL": index}))
	if err != nil {
		t.Fatal(err)
	}
	from := source(t, map[string]string{"PIP_INDEX_URL": "https://mine.example/simple"})
	from.Own["PIP_INDEX_URL"] = index
	own, err := pipconfig.Read(from)
	if err != nil {
		t.Fatal(err)
	}
	if own.Env["PIP_INDEX_URL"] != index || maps.Equal(own.Identity, users.Identity) || maps.Equal(own.Indexes(), users.Indexes()) {
		t.Errorf("%v, %v, and the user's %v", own.Env, own.Identity, users.Identity)
	}
	from.Own = map[string]string{"PIP_CONSTRAINT": write(t, filepath.Join(t.TempDir(), "secret.txt"), "x")}
	if _, err := pipconfig.Read(from); errdefs.KindOf(err) != errdefs.KindConfig || !strings.Contains(err.Error(), "only name files in its own folder") {
		t.Errorf("a file of this computer: %v", err)
	}
}

// Builds see a copy of a file as it was read, whatever becomes of the file.
func TestBuildsSeeWhatWasRead(t *testing.T) {
	file := write(t, filepath.Join(t.TempDir(), "constraints.txt"), "numpy<3\n")
	s, err := pipconfig.Read(source(t, map[string]string{"PIP_CONSTRAINT": file}))
	if err != nil {
		t.Fatal(err)
	}
	write(t, file, "numpy<2\n")
	private := filepath.Join(t.TempDir(), "private")
	mounts, done, err := s.Show(t.Context(), func() (string, func() error, error) {
		return private, func() error { return os.RemoveAll(private) }, os.Mkdir(private, 0o700)
	})
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(mounted(t, s, mounts, "PIP_CONSTRAINT")); err != nil || string(text) != "numpy<3\n" {
		t.Errorf("builds see %q, %v", text, err)
	}
	if err := done(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(private); !os.IsNotExist(err) {
		t.Errorf("the copy is left: %v", err)
	}
}

// A folder is not copied, so a change of it while packages are installed ends the build.
func TestFolderThatChanges(t *testing.T) {
	wheels := t.TempDir()
	write(t, filepath.Join(wheels, "a.whl"), "a")
	s, err := pipconfig.Read(source(t, map[string]string{"PIP_FIND_LINKS": wheels}))
	if err != nil {
		t.Fatal(err)
	}
	private := func() (string, func() error, error) { return t.TempDir(), func() error { return nil }, nil }
	mounts, done, err := s.Show(t.Context(), private)
	if err != nil || mounted(t, s, mounts, "PIP_FIND_LINKS") != wheels {
		t.Fatalf("%v, %v", mounts, err)
	}
	write(t, filepath.Join(wheels, "b.whl"), "b")
	if err := done(); err == nil || !strings.Contains(err.Error(), "has changed while packages were installed") {
		t.Errorf("after the build: %v", err)
	}
	if _, _, err := s.Show(context.Background(), private); err == nil {
		t.Error("a folder that has changed since it was read is shown")
	}
}

// The user's own servers on this computer are reached by builds; those of an experiment only
// where it lists the port.
func TestServersOfThisComputer(t *testing.T) {
	from := source(t, map[string]string{"PIP_INDEX_URL": "http://127.0.0.1:3141/simple", "HTTPS_PROXY": "http://me:x@localhost:8080"})
	from.Own["PIP_EXTRA_INDEX_URL"] = "http://127.0.0.1:9999/simple"
	s, err := pipconfig.Read(from)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.HostPorts([]int{8000}); !slices.Equal(got, []int{8000, 3141, 8080}) {
		t.Errorf("ports %v", got)
	}
}

// The usual file of pip is read where no variable names one.
func TestUsualFileOfPip(t *testing.T) {
	home := t.TempDir()
	if err := os.MkdirAll(filepath.Join(home, ".config", "pip"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(home, ".config", "pip", "pip.conf"), "[global]\nindex-url = http://localhost:4040/simple\n")
	from := source(t, nil)
	from.Getenv = func(name string) string { return map[string]string{"HOME": home}[name] }
	s, err := pipconfig.Read(from)
	if err != nil {
		t.Fatal(err)
	}
	if s.Env["PIP_CONFIG_FILE"] != pipconfig.Folder+"/pip_config_file" || !slices.Equal(s.HostPorts(nil), []int{4040}) {
		t.Errorf("%v, ports %v", s.Env, s.HostPorts(nil))
	}
}
