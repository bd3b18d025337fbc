package engine_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/internal/testsource"
)

const setup = "from setuptools import setup; setup(name='lib', version='1', py_modules=['lib'])\n"

// Clones are whole repositories, of the commit that the ref was, made once.
func TestRepos(t *testing.T) {
	t.Parallel()
	git := testsource.NewGit(t, "")
	git.Commit("sub", map[string]string{"deep.txt": "deep"})
	git.Commit("lib", map[string]string{"lib.py": "VALUE = 1\n", "setup.py": setup})
	git.Run(git.Work("lib"), "submodule", "--quiet", "add", git.URL+"/sub.git", "sub")
	first := git.Commit("lib", nil)
	folder := filepath.Join(t.TempDir(), "own work é", "here é")
	git.Run(git.Dir, "clone", "-q", git.URL+"/sub.git", folder)
	git.Commit("ein répo", map[string]string{"deep.txt": "er\n"})
	b := newBench(t, nil)
	text := "sandbox: {network: none, " + git.Reached() + ", repos: [{url: '" + git.URL + "/lib.git', ref: main, install: 'echo in $PWD > made; python setup.py -q develop --no-deps 2>/dev/null'}, 'file://" + folder + "', {url: '" + git.URL + "/ein répo.git', install: 'cat deep.txt > made'}]}\n"

	s := b.up(text)
	got := shell(t, s, "cat lib/sub/deep.txt 'here é/deep.txt' 'ein répo/made' lib/made; cd /; python -c 'import lib; print(lib.VALUE, lib.__file__)'; cd /workspace/lib; git rev-parse HEAD; git rev-parse --abbrev-ref HEAD; git remote get-url origin; echo x > new && git add new && git -c user.name=a -c user.email=b commit -qm x && echo written")
	want := "deepdeeper\nin /workspace/lib\n1 /workspace/lib/lib.py\n" + first + "\nmain\n" + git.URL + "/lib.git\nwritten"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	packs := git.Packs()
	b.up(text)
	if n := git.Packs() - packs; b.counted("building the layer") != 1 || n > 2 { // each asks what its ref is
		t.Errorf("built %d times, %d more requests", b.counted("building the layer"), n)
	}
	git.Commit("lib", map[string]string{"lib.py": "VALUE = 2\n"})
	if got := shell(t, b.up(text), "python -c 'import lib; print(lib.VALUE)'"); got != "2" || b.counted("building the layer") != 2 {
		t.Errorf("after a push: %s", got)
	}
}

func TestPrivateRepo(t *testing.T) {
	t.Parallel()
	const token = "tok-7f3a9c"
	git := testsource.NewGit(t, token)
	git.Commit("private", map[string]string{"a.txt": "mine"})
	b := newBench(t, map[string]string{"GIT_TOKEN": token})
	text := "sandbox: {secrets: [GIT_TOKEN], " + git.Reached() + ", repos: [{url: '" + git.URL + "/private.git', install: 'env > env.txt'}]}\n"
	s := b.up(text)
	if got := shell(t, s, "cat private/a.txt; grep -ral 'tok[-]7f3a9c' /workspace /seer/layer ~ /tmp /proc/*/environ /proc/*/cmdline 2>/dev/null ;env | grep GIT_ || true"); got != "mine" {
		t.Errorf("the token stays: %s", got)
	}
	for _, m := range b.said {
		if strings.Contains(m, token) {
			t.Errorf("the log has the token: %s", m)
		}
	}
	other := newBench(t, nil)
	if err := other.fails("sandbox: {" + git.Reached() + ", repos: ['" + git.URL + "/private.git']}\n"); !strings.Contains(err.Error(), "sandbox.repos.0: the repository "+git.URL+"/private.git is private or does not exist") {
		t.Error(err)
	}
}

func TestReposThatFail(t *testing.T) {
	t.Parallel()
	git := testsource.NewGit(t, "")
	git.Commit("lib", map[string]string{"a.txt": "1"})
	b := newBench(t, nil)
	for _, tc := range []struct{ name, repo, want string }{
		{"none", "'" + git.URL + "/none.git'", "sandbox.repos.0: there is no repository " + git.URL + "/none.git"},
		{"no ref", "{url: '" + git.URL + "/lib.git', ref: v9}", "sandbox.repos.0: the repository " + git.URL + "/lib.git has no branch or tag `v9`"},
		{"no commit", "{url: '" + git.URL + "/lib.git', ref: '0123456789012345678901234567890123456789'}", "sandbox.repos.0: "},
		{"install", "{url: '" + git.URL + "/lib.git', install: 'echo before >&2; echo the reason >&2; exit 7'}", "the install command of lib (echo before >&2; echo the reason >&2; exit 7) failed with exit code 7: before\nthe reason"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := b.fails("sandbox: {" + git.Reached() + ", repos: [" + tc.repo + "]}\n")
			if engine.KindOf(err) != engine.KindConfig || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: %v", engine.KindOf(err), err)
			}
		})
	}
	if left, _ := os.ReadDir(filepath.Join(b.cache, "layers")); len(left) > 1 { // locks
		t.Errorf("left: %v", left)
	}
}
