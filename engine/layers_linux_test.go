package engine_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/event/eventtext"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/plugin/host/hosttest"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/trust"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/internal/testsource"
)

// bench is an engine with a cache of its own and the variables of a user.
type bench struct {
	*engine.Engine
	t     *testing.T
	cache string
	mu    sync.Mutex
	said  []string
}

// cacheDir makes a cache with the compiled plugin that finds models in folders: under the
// race detector, an engine takes tens of seconds to compile it.
func cacheDir(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "cache é")
	if err := hosttest.Prepare(filepath.Join(dir, "wasm"), "plugins/fetch-folder"); err != nil {
		t.Fatal(err)
	}
	return dir
}

func newBench(t *testing.T, variables map[string]string) *bench {
	b := &bench{t: t, cache: cacheDir(t)}
	b.Engine = newEngine(t, func(o *engine.Options) {
		o.Trust = trust.All
		o.CacheDir = b.cache
		o.LookupEnv = func(name string) (string, bool) {
			if v, ok := variables[name]; ok {
				return v, true
			}
			if strings.HasPrefix(name, "PIP_") || strings.HasSuffix(strings.ToLower(name), "_proxy") || name == "HOME" {
				return "", false
			}
			return os.LookupEnv(name)
		}
	})
	return b
}

func (b *bench) progress(e engine.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.said = append(b.said, eventtext.Sentence(e))
}

// counted is how many messages begin with a text.
func (b *bench) counted(prefix string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for _, m := range b.said {
		if strings.HasPrefix(m, prefix) {
			n++
		}
	}
	return n
}

func (b *bench) up(text string) *engine.Sandbox {
	b.t.Helper()
	exp := load(b.t, map[string]string{"seer.yaml": text})
	return up(b.t, b.Engine, exp, engine.UpOptions{Attached: time.Minute, Progress: b.progress})
}

// fails gives the error of a start, after which nothing may be left.
func (b *bench) fails(text string) error {
	b.t.Helper()
	exp := load(b.t, map[string]string{"seer.yaml": text})
	s, err := b.Up(b.t.Context(), exp, engine.UpOptions{Attached: time.Minute, Progress: b.progress})
	if err == nil {
		_ = s.Terminate(context.Background())
		b.t.Fatalf("it started: %s", text)
	}
	for _, l := range b.layers() {
		b.t.Errorf("a layer was left: %s", l)
	}
	return err
}

func (b *bench) layers() []string {
	b.t.Helper()
	found, err := filepath.Glob(filepath.Join(b.cache, "layers", "[0-9a-f]*"))
	if err != nil {
		b.t.Fatal(err)
	}
	return found
}

// shell runs a command, which must succeed.
func shell(t *testing.T, s *engine.Sandbox, command string) string {
	t.Helper()
	var out bytes.Buffer
	p, err := s.Exec(t.Context(), protocol.ProcessSpec{Shell: command}, nil, &out, &out)
	if err != nil || p.ExitCode != 0 {
		t.Fatalf("%s: %d, %v\n%s", command, p.ExitCode, err, out.String())
	}
	return strings.TrimSpace(out.String())
}

const password = "pa55-word"

func TestLayerOfPackages(t *testing.T) {
	t.Parallel()
	index := testsource.NewIndex(t, password,
		testsource.Package{Name: "alpha", Version: "1.0", Needs: []string{"beta"}, Script: "alpha-says", Data: "share/jupyter/alpha.txt"},
		testsource.Package{Name: "beta", Version: "2.0"}, testsource.Package{Name: "gamma", Version: "3.0"}, testsource.Package{Name: "beta", Version: "2.1"})
	b := newBench(t, map[string]string{"PIP_INDEX_URL": index.URL})
	at, err := url.Parse(index.URL)
	if err != nil {
		t.Fatal(err)
	}
	// The build reaches the index, because the user's own settings name it; the sandbox does
	// because the experiment lists its port.
	text := "sandbox: {python_packages: ['alpha', 'beta<2.1'], network: open, host_ports: [" + at.Port() + "]}\n"
	exp := load(t, map[string]string{"seer.yaml": text})
	p, err := b.Plan(t.Context(), exp, engine.CheckOptions{})
	if err != nil || p.Layer == nil || p.Layer.Cached {
		t.Fatalf("plan before: %+v, %v", p.Layer, err)
	}

	first := b.up(text)
	if got := shell(t, first, "python -c 'import alpha, beta; print(alpha.VERSION, beta.VERSION)'; alpha-says; command -v python; cat ~/.seer/python/share/jupyter/alpha.txt"); got != "1.0 2.0\n1.0\n/home/seer/.seer/python/bin/python\ndata of alpha" {
		t.Errorf("got %s", got)
	}
	if got := shell(t, first, "touch /seer/layer/x 2>&1 || echo no; env; ls /seer"); !strings.Contains(got, "no\n") || strings.Contains(got, password) || strings.Contains(got, "build") {
		t.Errorf("the layer can be changed, or the sandbox sees what built it: %s", got)
	}
	for _, m := range b.said {
		if strings.Contains(m, password) {
			t.Errorf("the log has a password: %s", m)
		}
	}

	if n := b.counted("2 Python packages: 2 packages installed in "); n != 1 {
		t.Errorf("%d lines say what was installed", n)
	}
	if kept, _ := filepath.Glob(filepath.Join(b.cache, "logs", "sb-*.log")); len(kept) != 1 {
		t.Errorf("kept of what was said: %q", kept)
	} else if said, err := os.ReadFile(kept[0]); err != nil || !bytes.Contains(said, []byte("Successfully installed alpha-1.0")) || bytes.Contains(said, []byte(password)) {
		t.Errorf("%v, what is kept has a password or lacks something: %s", err, said)
	}

	files := index.Fetched()
	second := b.up(text)
	if n := b.counted("building the layer"); n != 1 || index.Fetched() != files || len(b.layers()) != 1 {
		t.Errorf("built %d times, %d more files, layers %v", n, index.Fetched()-files, b.layers())
	}
	// An agent installs further ones, also over what the layer has, into its own.
	install := "PIP_INDEX_URL=" + index.URL + " pip install -q gamma 'beta>2' && PIP_INDEX_URL=" + index.URL + " python -m pip install -q -U beta"
	shell(t, second, install)
	if got := shell(t, second, "python -c 'import alpha, beta, gamma; print(alpha.VERSION, beta.VERSION, gamma.VERSION)'"); got != "1.0 2.1 3.0" {
		t.Errorf("after pip install: %s", got)
	}
	if got := shell(t, first, "python -c 'import beta; print(beta.VERSION)'"); got != "2.0" {
		t.Errorf("another sandbox has beta %s", got)
	}
	if p, err = b.Plan(t.Context(), exp, engine.CheckOptions{}); err != nil || !p.Layer.Cached || !slices.ContainsFunc(p.Lines(), func(l string) bool { return strings.Contains(l, "built already") }) {
		t.Errorf("plan after: %+v, %v", p.Layer, err)
	}
}

func TestLayerThatFails(t *testing.T) {
	t.Parallel()
	index := testsource.NewIndex(t, "",
		testsource.Package{Name: "left", Version: "1.0", Needs: []string{"base==1.0"}}, testsource.Package{Name: "right", Version: "1.0", Needs: []string{"base==2.0"}},
		testsource.Package{Name: "base", Version: "1.0"}, testsource.Package{Name: "base", Version: "2.0"}, testsource.Package{Name: "broken", Version: "1.0", Broken: true})
	b := newBench(t, map[string]string{"PIP_INDEX_URL": index.URL, "PIP_RETRIES": "0"})
	for _, tc := range []struct{ name, packages, want string }{
		{"where", "[left, No_such.package]", "seer.yaml:1: sandbox.python_packages.1: installing"},
		{"missing", "[no-such-package]", "No matching distribution found for no-such-package"},
		{"conflict", "[left, right]", "ResolutionImpossible"},
		{"build", "[broken]", "the compiler is missing"},
		{"nothing there", "[left, 'base>=3']", "base>=3"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := b.fails("sandbox: {python_packages: " + tc.packages + "}\n")
			if engine.KindOf(err) != engine.KindConfig || !strings.Contains(err.Error()+strings.Join(b.said, "\n"), tc.want) || !strings.Contains(err.Error(), "installing Python packages failed") {
				t.Errorf("%s: %v", engine.KindOf(err), err)
			}
		})
	}
}

// Two starts at once make one layer; one that is given up leaves none.
func TestLayerIsMadeOnce(t *testing.T) {
	t.Parallel()
	index := testsource.NewIndex(t, "", testsource.Package{Name: "slow", Version: "1.0"})
	at, err := url.Parse(index.URL)
	if err != nil {
		t.Fatal(err)
	}
	forward := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: at.Scheme, Host: at.Host})
	asked, released := make(chan struct{}), make(chan struct{})
	first := sync.OnceFunc(func() { close(asked) })
	held := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/files/") { // which nobody gets before both wait for one layer
			first()
			select {
			case <-released:
			case <-r.Context().Done():
				return
			}
		}
		forward.ServeHTTP(w, r)
	}))
	defer held.Close()
	b := newBench(t, map[string]string{"PIP_INDEX_URL": held.URL + at.Path})
	exp := load(t, map[string]string{"seer.yaml": "sandbox: {python_packages: [slow]}\n"})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	given := make(chan error, 1)
	go func() {
		_, err := b.Up(ctx, exp, engine.UpOptions{Attached: time.Minute})
		given <- err
	}()
	select {
	case <-asked:
	case err := <-given:
		t.Fatalf("it asked for no package: %v", err)
	}
	cancel()
	if err := <-given; engine.KindOf(err) != engine.KindCancelled {
		t.Errorf("given up: %v", err)
	}
	if l := b.layers(); len(l) != 0 {
		t.Errorf("left: %v", l)
	}
	release := sync.OnceFunc(func() { close(released) })
	defer release()
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			s, err := b.Up(t.Context(), exp, engine.UpOptions{Attached: time.Minute, Progress: b.progress})
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Terminate(context.Background())
			if p, err := s.Exec(t.Context(), protocol.ProcessSpec{Shell: "python -c 'import slow'"}, nil, nil, nil); err != nil || p.ExitCode != 0 {
				t.Errorf("slow: %v, %v", p, err)
			}
		})
	}
	testkit.Eventually(t, "one of them waits for the other", func() bool { return b.counted("another start is building") > 0 })
	release()
	both.Wait()
	if b.counted("building the layer") != 1 || len(b.layers()) != 1 {
		t.Errorf("built %d times: %v", b.counted("building the layer"), b.layers())
	}
}

func TestWhatKilledBuildsLeave(t *testing.T) {
	b := newBench(t, nil)
	left := filepath.Join(b.cache, "layers", strings.Repeat("a", 64)+".partial")
	if err := os.MkdirAll(filepath.Join(left, "python", "lib"), 0o700); err != nil {
		t.Fatal(err)
	}
	report, err := b.GC(t.Context())
	if err != nil || len(report.Cleaned) != 1 || !strings.Contains(report.Cleaned[0].Why, "broken off") {
		t.Fatalf("%+v, %v", report, err)
	}
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("gc leaves it: %v", err)
	}
}

// Without isolation there are no mounts, and everything is on the machine itself.
func TestPackagesWithoutIsolation(t *testing.T) {
	t.Parallel()
	index := testsource.NewIndex(t, "", testsource.Package{Name: "alpha", Version: "1.0", Script: "alpha-says"})
	git := testsource.NewGit(t, "")
	git.Commit("lib", map[string]string{"a.txt": "one"})
	b := newBench(t, map[string]string{"PIP_INDEX_URL": index.URL})
	s := b.up("sandbox: {python_packages: [alpha], isolation: none, repos: [{url: '" + git.URL + "/lib.git', install: 'alpha-says > made'}]}\n")
	if got := shell(t, s, "python -c 'import alpha; print(alpha.VERSION)'; cat lib/a.txt lib/made; pip --version >/dev/null"); got != "1.0\none1.0" {
		t.Errorf("got %s", got)
	}
	if l := b.layers(); len(l) != 0 {
		t.Errorf("layers: %v", l)
	}
}

func TestPythonVersion(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	exp := load(t, map[string]string{"seer.yaml": "sandbox: {python_version: '3.99'}\n"})
	_, err := b.Up(t.Context(), exp, engine.UpOptions{})
	var mistakes experiment.Errors
	if engine.KindOf(err) != engine.KindConfig || !strings.Contains(err.Error(), "this computer has no Python 3.99; it has 3.") || !strings.Contains(err.Error(), "image.base: python:3.99") {
		t.Errorf("%T %v", mistakes, err)
	}
	python, err := b.Python()
	if err != nil {
		t.Fatal(err)
	}
	minor := python.Version[:strings.LastIndex(python.Version, ".")]
	s := b.up("sandbox: {python_version: '" + minor + "'}\n")
	if got := shell(t, s, "python3 -c 'import sys; print(sys.version.split()[0])'"); got != python.Version {
		t.Errorf("got %s, want %s", got, python.Version)
	}
}
