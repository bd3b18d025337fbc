package engine_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/event/eventtext"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/internal/attack"
	"github.com/seer-engine/seer/internal/testsource"
)

// TestWheelsAreSharedByContent: what one build has downloaded, the next one takes, also
// where a repository's own pip wants it.
func TestWheelsAreSharedByContent(t *testing.T) {
	t.Parallel()
	index := testsource.NewIndex(t, "", testsource.Package{Name: "alpha", Version: "1.0", Needs: []string{"beta"}},
		testsource.Package{Name: "beta", Version: "1.0"}, testsource.Package{Name: "gamma", Version: "1.0"})
	git := testsource.NewGit(t, "")
	git.Commit("lib", map[string]string{"a.txt": "1"})
	b := newBench(t, map[string]string{"PIP_INDEX_URL": index.URL})
	b.up("sandbox: {python_packages: [alpha]}\n")
	if n := len(b.wheels()); index.Fetched() != 2 || n != 2 {
		t.Fatalf("%d files fetched, %d kept", index.Fetched(), n)
	}
	s := b.up("sandbox: {python_packages: [gamma, beta], " + git.Reached() + ", repos: [{url: '" + git.URL + "/lib.git', install: 'pip install alpha'}]}\n")
	if got := shell(t, s, "python -c 'import alpha, beta, gamma; print(alpha.VERSION)'; ls ~/.seer/python/lib/*/site-packages /seer/layer/python/lib/*/site-packages | grep seer_wheels || true"); got != "1.0" || index.Fetched() != 3 {
		t.Errorf("got %s; %d files fetched", got, index.Fetched())
	}
	// A file that was changed on the disk is downloaded again.
	for _, path := range b.wheels() {
		if err := errors.Join(os.Chmod(path, 0o600), os.WriteFile(path, []byte("changed"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	s = b.up("sandbox: {python_packages: [alpha, gamma]}\n")
	if got := shell(t, s, "python -c 'import alpha, gamma; print(alpha.VERSION)'"); got != "1.0" || index.Fetched() != 6 {
		t.Errorf("got %s; %d files fetched", got, index.Fetched())
	}
}

// wheels are the files that builds share.
func (b *bench) wheels() []string {
	shared, err := filepath.Glob(filepath.Join(b.cache, "wheels", "*"))
	own, err2 := filepath.Glob(filepath.Join(b.cache, "wheels-of-indexes", "*", "*"))
	if err := errors.Join(err, err2); err != nil {
		b.t.Fatal(err)
	}
	return append(shared, own...)
}

// TestSettingsOfTheExperimentName: what an experiment says of pip makes layers of its own.
func TestSettingsOfTheExperimentName(t *testing.T) {
	t.Parallel()
	key := func(variables map[string]string, text string) string { return layerKey(newBench(t, variables), text) }
	const packages = "python_packages: [einops], execution_mode: notebook"
	plain := key(nil, "sandbox: {"+packages+"}\n")
	if key(map[string]string{"PIP_PROXY": "http://proxy.example"}, "sandbox: {"+packages+"}\n") != plain {
		t.Error("the user's own proxy makes another layer")
	}
	for _, own := range []string{"PIP_PROXY: 'http://evil.example'", "PIP_TRUSTED_HOST: pypi.org", "PIP_INDEX_URL: 'http://evil.example'"} {
		if key(nil, "sandbox: {"+packages+", env: {"+own+"}}\n") == plain {
			t.Errorf("a layer made with %s would be everybody's", own)
		}
	}
}

// layerKey names the layer that an experiment is shown.
func layerKey(b *bench, text string) string {
	b.t.Helper()
	p, err := b.Plan(b.t.Context(), load(b.t, map[string]string{"seer.yaml": text}), engine.CheckOptions{})
	if err != nil || p.Layer == nil {
		b.t.Fatalf("%+v, %v", p.Layer, err)
	}
	return p.Layer.Key
}

// sameLayer is nil if a stranger's index fills the layer of another experiment, or of the
// user's own settings.
func sameLayer(t *testing.T, defended bool, variables map[string]string, theirs, mine string) error {
	t.Helper()
	key := func(variables map[string]string, index string) string {
		b := newBench(t, variables)
		if !defended {
			b.SwitchOff()
		}
		if index != "" {
			index = ", env: {PIP_INDEX_URL: '" + index + "'}"
		}
		return layerKey(b, "sandbox: {python_packages: [alpha]"+index+"}\n")
	}
	if key(nil, theirs) != key(variables, mine) {
		return errors.New("it is another layer")
	}
	return nil
}

// hostile runs a repository's install command in a build.
func hostile(t *testing.T, b *bench, install, more string) {
	t.Helper()
	git := testsource.NewGit(t, "")
	git.Commit("lib", map[string]string{"a.txt": "1"})
	exp := load(t, map[string]string{"seer.yaml": "sandbox: {python_packages: [alpha], " + git.Reached() + ", repos: [{url: '" + git.URL + "/lib.git', install: '" + install + "'}]" + more + "}\n"})
	s, err := b.Up(t.Context(), exp, engine.UpOptions{Attached: time.Minute, Progress: b.progress})
	if err != nil {
		t.Logf("the start failed: %v", err)
		return
	}
	_ = s.Terminate(context.Background())
}

// poisoned starts an experiment whose install command attacks the store, and tells
// whether a file of it has another content than its name says.
func poisoned(t *testing.T, defended bool, install string) error {
	t.Helper()
	index := testsource.NewIndex(t, "", testsource.Package{Name: "alpha", Version: "1.0"})
	b := newBench(t, map[string]string{"PIP_INDEX_URL": index.URL})
	if !defended {
		b.SwitchOff()
	}
	b.up("sandbox: {python_packages: [alpha]}\n") // somebody else's, before
	if len(b.wheels()) == 0 {
		t.Fatal("there is nothing to poison")
	}
	hostile(t, b, install, "")
	for _, path := range b.wheels() {
		if data, err := os.ReadFile(path); err != nil || strings.Contains(string(data), "evil") {
			return nil
		}
	}
	return fmt.Errorf("every file of the store is what its name says")
}

func TestAttacksBuilds(t *testing.T) {
	attack.Run(t, []attack.Row{
		{Name: "build-rewrites-shared-wheel", Isolation: "bubblewrap", Want: "what its name says", Try: func(t *testing.T, defended bool) error {
			return poisoned(t, defended, "for f in /seer/build/wheels/*; do chmod u+w $f; echo evil > $f; done; true")
		}},
		{Name: "build-adds-wheel-of-other-name", Isolation: "bubblewrap", Want: "what its name says", Try: func(t *testing.T, defended bool) error {
			return poisoned(t, defended, "echo evil > /seer/build/fresh/"+strings.Repeat("5", 64))
		}},
		{Name: "build-reads-wheels-of-private-index", Isolation: "bubblewrap", Want: "sees 0 files", Try: readPrivateWheels},
		{Name: "constraint-changed-before-the-build", Isolation: "bubblewrap", Want: "installed 1.0", Try: changeConstraint},
		{Name: "find-links-changed-before-the-build", Isolation: "bubblewrap", Want: "has changed", Try: changeFindLinks},
		{Name: "find-links-of-experiment-changed", Isolation: "bubblewrap", Want: "has changed", Try: changeOwnFindLinks},
		{Name: "index-with-the-name-of-another", Want: "another layer", Try: func(t *testing.T, defended bool) error {
			return sameLayer(t, defended, nil, "https://evil.example?x@index.example/simple", "https://index.example/simple")
		}},
		{Name: "layer-that-the-users-password-opened", Want: "another layer", Try: func(t *testing.T, defended bool) error {
			return sameLayer(t, defended, map[string]string{"PIP_INDEX_URL": "https://me:password@index.example/simple"}, "https://index.example/simple", "")
		}},
		{Name: "experiment-shows-host-file-to-build", Isolation: "bubblewrap", Want: "may only name files in its own folder", Try: func(t *testing.T, defended bool) error {
			secret := filepath.Join(t.TempDir(), "id_rsa")
			if err := os.WriteFile(secret, []byte("private"), 0o600); err != nil {
				t.Fatal(err)
			}
			b := newBench(t, nil)
			if !defended {
				b.SwitchOff()
			}
			exp := load(t, map[string]string{"seer.yaml": "sandbox: {env: {PIP_FIND_LINKS: '" + secret + "'}, execution_mode: cli}\n"})
			s, err := b.Up(t.Context(), exp, engine.UpOptions{Attached: time.Minute})
			if err == nil {
				_ = s.Terminate(context.Background())
			}
			return err
		}},
	})
}

// changedBefore starts an experiment and calls change when its layer was named, before it
// is built. It is nil if alpha 6.6.6 was installed.
func changedBefore(t *testing.T, b *bench, exp *experiment.Experiment, change func() error) error {
	t.Helper()
	s, err := b.Up(t.Context(), exp, engine.UpOptions{Attached: time.Minute, Progress: func(e engine.Event) {
		if strings.HasPrefix(eventtext.Sentence(e), "building the layer") {
			if err := change(); err != nil {
				t.Error(err)
			}
		}
	}})
	if err != nil {
		return err
	}
	defer s.Terminate(context.Background())
	if got := shell(t, s, "python -c 'import alpha; print(alpha.VERSION)'"); got != "6.6.6" {
		return fmt.Errorf("the build has installed %s", got)
	}
	return nil
}

func attackedBench(t *testing.T, defended bool, variables map[string]string) *bench {
	b := newBench(t, variables)
	if !defended {
		b.SwitchOff()
	}
	return b
}

func changeConstraint(t *testing.T, defended bool) error {
	index := testsource.NewIndex(t, "", testsource.Package{Name: "alpha", Version: "1.0"}, testsource.Package{Name: "alpha", Version: "6.6.6"})
	file := filepath.Join(t.TempDir(), "constraints")
	write := func(text string) error { return os.WriteFile(file, []byte(text), 0o600) }
	if err := write("alpha==1.0\n"); err != nil {
		t.Fatal(err)
	}
	b := attackedBench(t, defended, map[string]string{"PIP_INDEX_URL": index.URL, "PIP_CONSTRAINT": file})
	exp := load(t, map[string]string{"seer.yaml": "sandbox: {python_packages: [alpha]}\n"})
	return changedBefore(t, b, exp, func() error { return write("alpha==6.6.6\n") })
}

// wheelInto puts a package of one version into a folder.
func wheelInto(t *testing.T, folder, version string) error {
	name := "alpha-" + version + "-py3-none-any.whl"
	index := testsource.NewIndex(t, "", testsource.Package{Name: "alpha", Version: version})
	answer, err := http.Get(strings.TrimSuffix(index.URL, "/simple") + "/files/" + name)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	return errors.Join(err, os.WriteFile(filepath.Join(folder, name), data, 0o600))
}

// changeFindLinks adds a package to a folder of the user's.
func changeFindLinks(t *testing.T, defended bool) error {
	links := t.TempDir()
	if err := wheelInto(t, links, "1.0"); err != nil {
		t.Fatal(err)
	}
	b := attackedBench(t, defended, map[string]string{"PIP_FIND_LINKS": links, "PIP_NO_INDEX": "1"})
	exp := load(t, map[string]string{"seer.yaml": "sandbox: {python_packages: [alpha]}\n"})
	return changedBefore(t, b, exp, func() error { return wheelInto(t, links, "6.6.6") })
}

// changeOwnFindLinks is the same for a folder of the experiment's.
func changeOwnFindLinks(t *testing.T, defended bool) error {
	b := attackedBench(t, defended, nil)
	exp := load(t, map[string]string{"seer.yaml": "sandbox: {python_packages: [alpha], env: {PIP_NO_INDEX: '1'}}\n", "links/x/y.txt": ""})
	links := filepath.Join(filepath.Dir(exp.File), "links")
	exp.Sandbox.Env["PIP_FIND_LINKS"] = links
	if err := wheelInto(t, links, "1.0"); err != nil {
		t.Fatal(err)
	}
	return changedBefore(t, b, exp, func() error { return wheelInto(t, links, "6.6.6") })
}

// TestFolderOfLinks: a folder that nobody changes installs, is copied where it is the
// experiment's, and names the layer by what is in it.
func TestFolderOfLinks(t *testing.T) {
	t.Parallel()
	for _, own := range []bool{false, true} {
		exp := load(t, map[string]string{"seer.yaml": "sandbox: {python_packages: [alpha], env: {PIP_NO_INDEX: '1'}}\n", "links/x/y.txt": ""})
		links := filepath.Join(filepath.Dir(exp.File), "links")
		if err := wheelInto(t, links, "1.0"); err != nil {
			t.Fatal(err)
		}
		variables := map[string]string{"PIP_FIND_LINKS": links}
		if own {
			variables, exp.Sandbox.Env["PIP_FIND_LINKS"] = nil, "links"
		}
		b := newBench(t, variables)
		key := func() string {
			p, err := b.Plan(t.Context(), exp, engine.CheckOptions{})
			if err != nil {
				t.Fatal(err)
			}
			return p.Layer.Key
		}
		before := key()
		s := up(t, b.Engine, exp, engine.UpOptions{Attached: time.Minute})
		if got := shell(t, s, "python -c 'import alpha; print(alpha.VERSION)'"); got != "1.0" || key() != before {
			t.Errorf("own %v: got %s from layer %s, before %s", own, got, key(), before)
		}
		if err := wheelInto(t, links, "2.0"); err != nil || key() == before {
			t.Errorf("own %v: %v, or another folder names the same layer", own, err)
		}
		if left, _ := filepath.Glob(filepath.Join(b.cache, "layers", "*partial")); len(left) > 0 {
			t.Errorf("left: %q", left)
		}
	}
}

// readPrivateWheels lists what an index of the user's gave to another build, which the
// user's password had opened.
func readPrivateWheels(t *testing.T, defended bool) error {
	index := testsource.NewIndex(t, "password", testsource.Package{Name: "alpha", Version: "1.0"})
	b := newBench(t, map[string]string{"PIP_INDEX_URL": index.URL})
	if !defended {
		b.SwitchOff()
	}
	b.up("sandbox: {python_packages: [alpha]}\n")
	if n := len(b.wheels()); n != 1 {
		t.Fatalf("%d files are kept", n)
	}
	git := testsource.NewGit(t, "")
	git.Commit("lib", map[string]string{"a.txt": "1"})
	s := b.up("sandbox: {env: {PIP_INDEX_URL: 'https://evil.example/simple'}, " + git.Reached() +
		", repos: [{url: '" + git.URL + "/lib.git', install: 'ls /seer/build/wheels | wc -l > seen'}]}\n")
	if seen := shell(t, s, "cat /workspace/lib/seen"); seen != "1" {
		return fmt.Errorf("the build sees %s files", seen)
	}
	return nil
}

// TestBuildsAddOnlyPlainFiles: links, pipes and files of other names are left out.
func TestBuildsAddOnlyPlainFiles(t *testing.T) {
	t.Parallel()
	index := testsource.NewIndex(t, "", testsource.Package{Name: "alpha", Version: "1.0"})
	b := newBench(t, map[string]string{"PIP_INDEX_URL": index.URL})
	name := func(digit string) string { return "/seer/build/fresh/" + strings.Repeat(digit, 64) }
	hostile(t, b, "ln -s /etc/passwd "+name("1")+"; mkfifo "+name("2")+"; mkdir "+name("3")+"; echo x > /seer/build/fresh/odd; truncate -s 1T "+name("4"), "")
	if got := b.wheels(); len(got) != 1 {
		t.Errorf("the store has %q", got)
	}
	if left, _ := filepath.Glob(filepath.Join(b.cache, "layers", "*partial")); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}
