package pkginstall_test

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/enginetest/container"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/pkginstall"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/runtime/loader"
	"github.com/seer-engine/seer/internal/testbuild"
	"github.com/seer-engine/seer/sdk"
)

// machine boots the real runtime in a container that has no packages.
func machine(t *testing.T, artifacts testbuild.Artifacts) *client.Client {
	t.Helper()
	token := protocol.NewToken()
	env, err := loader.BootEnv(loader.Boot{Listen: "tcp:0.0.0.0:8717", AdminSHA256: protocol.HashToken(token), Machine: "env-" + token[:12]})
	if err != nil {
		t.Fatal(err)
	}
	c, err := container.Start(t.TempDir(), container.Spec{Argv: loader.Command("python3"), Env: env, Output: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Stop(5 * time.Second) })
	m, err := client.New("http://"+c.Address(8717), token)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := m.Boot(ctx, client.BootOptions{Binary: func(goos, goarch string) (string, error) {
		return filepath.Join(artifacts.Runtime, "seer-runtime-"+goos+"-"+goarch), nil
	}}); err != nil {
		t.Fatal(err)
	}
	return m
}

// index is a package index with one package, made here.
func index(t *testing.T) string {
	t.Helper()
	var wheel bytes.Buffer
	z := zip.NewWriter(&wheel)
	const info = "tinyprobe-1.2.dist-info/"
	for _, f := range [][2]string{
		{"tinyprobe.py", "def answer():\n    return 42\n"},
		{info + "METADATA", "Metadata-Version: 2.1\nName: tinyprobe\nVersion: 1.2\n"},
		{info + "WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"},
		{info + "RECORD", "tinyprobe.py,sha256=bm90IGNoZWNrZWQ,37\n" + info + "METADATA,,\n" + info + "WHEEL,,\n" + info + "RECORD,,\n"},
	} {
		w, err := z.Create(f[0])
		if err == nil {
			_, err = w.Write([]byte(f[1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	const name = "tinyprobe-1.2-py3-none-any.whl"
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/simple/tinyprobe/":
			fmt.Fprintf(w, `<a href="/%s">%s</a>`, name, name)
		case "/" + name:
			_, _ = w.Write(wheel.Bytes())
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(srv.Close)
	return srv.URL + "/simple"
}

func TestInstall(t *testing.T) {
	artifacts, err := testbuild.Build(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	client := machine(t, artifacts)
	config := protocol.Config{Env: map[string]string{"PIP_INDEX_URL": index(t), "PIP_RETRIES": "0"}, Workdir: "/workspace"}
	if err := client.PutConfig(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	t.Run("a layer upon another", func(t *testing.T) { stacked(t, client) })
	var log []string
	install := func(s pkginstall.Spec) (pkginstall.Result, error) {
		log = nil
		return pkginstall.Install(t.Context(), client, s, func(line string) { log = append(log, line) })
	}

	got, err := install(pkginstall.Spec{PythonPackages: []string{"tinyprobe>=1,<2"}, Commands: []string{"tinyprobe=$(python -c 'import tinyprobe; print(tinyprobe.answer())'); echo it says $tinyprobe"}})
	if err != nil {
		t.Fatalf("%v\n%s", err, strings.Join(log, "\n"))
	}
	if !slices.Contains(log, "it says 42") || !slices.ContainsFunc(log, func(l string) bool { return strings.Contains(l, "Successfully installed tinyprobe-1.2") }) {
		t.Errorf("log:\n%s", strings.Join(log, "\n"))
	}
	config.Python = got.Python
	if err := client.PutConfig(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	if h, err := client.Health(t.Context()); err != nil || h.Python != got.Python {
		t.Errorf("services run in %q, %v", h.Python, err)
	}
	list, err := pkginstall.Installed(t.Context(), client)
	at := slices.IndexFunc(list.Packages, func(p event.Package) bool { return p.Name == "tinyprobe" })
	if err != nil || at < 0 || list.Packages[at].Version != "1.2" || len(list.Packages[at].SHA256) != 64 || !strings.HasPrefix(list.Python, "3.") {
		t.Errorf("of %d packages, tinyprobe is number %d of Python %q: %v", len(list.Packages), at, list.Python, err)
	}

	for _, tc := range []struct {
		name string
		spec pkginstall.Spec
		code sdk.Code
		want string
	}{
		{"no such package", pkginstall.Spec{PythonPackages: []string{"no-such-package"}}, sdk.Invalid, "No matching distribution found for no-such-package"},
		{"wrong version", pkginstall.Spec{PythonPackages: []string{"tinyprobe>=2"}}, sdk.Invalid, "tinyprobe>=2"},
		{"not an option", pkginstall.Spec{PythonPackages: []string{"tinyprobe; python_version<'3'"}}, "", ""},
		{"command", pkginstall.Spec{Commands: []string{"true", "echo why; exit 3"}}, sdk.Invalid, "image.commands.1 (echo why; exit 3) failed with exit code 3: why"},
		{"what is there", pkginstall.Spec{SystemPackages: []string{"bash"}}, "", ""},
		{"nothing", pkginstall.Spec{}, "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := install(tc.spec)
			if sdk.CodeOf(err) != tc.code || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v\n%s", err, strings.Join(log, "\n"))
			}
		})
	}
	t.Run("repositories before code", func(t *testing.T) { clonedFirst(t, client) })
	t.Run("a restored home", func(t *testing.T) { restored(t, client, got.Python) })
}

// clonedFirst: what one repository runs finds the others cloned, so that it cannot wait
// for what opens them.
func clonedFirst(t *testing.T, client *client.Client) {
	var commit, said bytes.Buffer
	const script = `git init -q /tmp/origin && cd /tmp/origin && git -c user.name=a -c user.email=a commit -q --allow-empty -m a && git rev-parse HEAD`
	p, err := client.Processes().Run(t.Context(), protocol.ProcessSpec{Argv: []string{"sh", "-c", script}}, nil, &commit, &said)
	if err != nil || p.ExitCode != 0 {
		t.Fatalf("%+v, %v\n%s", p, err, said.String())
	}
	repo := func(name, install string) pkginstall.Repo {
		return pkginstall.Repo{Name: name, URL: "/tmp/origin", Commit: strings.TrimSpace(commit.String()), Install: install}
	}
	spec := pkginstall.Spec{Repos: []pkginstall.Repo{repo("first", "ls -d ../second/.git"), repo("second", "")}}
	if _, err := pkginstall.Install(t.Context(), client, spec, nil); err != nil {
		t.Error(err)
	}
}

// restored lays the environment of another machine over one that has a package, as a
// snapshot does.
func restored(t *testing.T, client *client.Client, python string) {
	sh := func(script string) string {
		t.Helper()
		var out bytes.Buffer
		p, err := client.Processes().Run(t.Context(), protocol.ProcessSpec{Argv: []string{"sh", "-c", script}}, nil, &out, &out)
		if err != nil || p.ExitCode != 0 {
			t.Fatalf("%s: %+v, %v\n%s", script, p, err, out.String())
		}
		return strings.TrimSpace(out.String())
	}
	kept, err := pkginstall.Keep(t.Context(), client)
	if err != nil {
		t.Fatal(err)
	}
	sh(`cd ~/.seer/python && site=$(echo lib/python*/site-packages) && rm bin/python && ln -s /opt/elsewhere/python3 bin/python
printf 'home = /opt/elsewhere\n' >pyvenv.cfg && echo 'import nothing_of_the_kind' >$site/_seer_other.pth
printf '#!/home/else/.seer/python/bin/python\nimport newer; print(newer.here)\n' >bin/newer && chmod +x bin/newer && echo 'here = "yes"' >$site/newer.py
mkdir $site/tinyprobe-9.0.dist-info && printf 'Metadata-Version: 2.1\nName: tinyprobe\nVersion: 9.0\n' >$site/tinyprobe-9.0.dist-info/METADATA
printf 'tinyprobe.py,,\ntinyprobe-9.0.dist-info/RECORD,,\n' >$site/tinyprobe-9.0.dist-info/RECORD && echo 'def answer(): return 9' >$site/tinyprobe.py
mkdir -p lib/python2.7/site-packages/old-1.dist-info`)
	others, err := kept.Return(t.Context())
	if err != nil || !slices.Equal(others, []string{"2.7"}) {
		t.Errorf("other Pythons: %q, %v", others, err)
	}
	said := sh(fmt.Sprintf(`~/.seer/python/bin/newer; cd / && %s -c 'import tinyprobe, importlib.metadata as m; print(tinyprobe.answer(), m.version("tinyprobe"))'
%[1]s -m pip list --format freeze 2>&1 | grep -c -i tinyprobe; ls -d ~/.seer/python/lib/python3*/site-packages/tinyprobe* ~/.seer/python.own 2>/dev/null | wc -l; ls ~/.seer/python/lib/python3*/site-packages/_seer_other.pth 2>/dev/null`, python) + " || true")
	if want := "yes\n9 9.0\n1\n2"; said != want {
		t.Errorf("%q, not %q", said, want)
	}
}
