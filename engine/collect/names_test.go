package collect

import (
	"strings"
	"testing"
)

func TestObeyed(t *testing.T) {
	t.Parallel()
	for _, name := range []string{".git", ".GIT", ".Git", ".git.", ".git ", ".git . ", ".g\u200cit", "\ufeff.git", ".gi\u0074", ".git::$INDEX_ALLOCATION", "GIT~1", "git~2", "HEAD", "head",
		".v\u017fcode", ".envrc", ".ENVRC", "sitecustomize.py", "SiteCustomize.PY", ".Rprofile", "jupyter_notebook_config.py", "jupyter_server_config.json", "ipython_config.py", ".env", "\ufe0f.hg",
		"readline.py", "readline", "Readline.PY", "rlcompleter.pyc", "readline.cpython-310-x86_64-linux-gnu.so", "sitecustomize", ".Renviron", ".iex.exs", "latexmkrc", "mise.local.toml", ".mise.dev.toml", "ansible.cfg", ".husky", ".githooks", ".jvmopts"} {
		if !Obeyed(name) {
			t.Errorf("%q is not known", name)
		}
		safe := Safe(name)
		if Obeyed(safe) || safe == name {
			t.Errorf("%q is kept as %q", name, safe)
		}
	}
	for _, name := range []string{"git", ".gitignore", ".gitattributes", "result.txt", "HEADER", "headline", "Makefile", "package.json", "é", "\xff.git\xff", "a\nb", ".env.example", "CLAUDE.md", "readline.md", "readline_test.py", "my.readline.py", "mise.md", ".", "..", ""} {
		if Obeyed(name) || Safe(name) != name {
			t.Errorf("%q is kept as %q", name, Safe(name))
		}
	}
}

// TestSafeNamesStayDifferent: a file that is called like one that was renamed is another.
func TestSafeNamesStayDifferent(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, name := range []string{".git", ".GIT", ".git.collected", ".git.collected.collected", "HEAD", "HEAD.collected", "x.collected"} {
		if other, twice := seen[Safe(name)]; twice {
			t.Errorf("%q and %q are both kept as %q", name, other, Safe(name))
		}
		seen[Safe(name)] = name
	}
	if long := Safe(".git" + strings.Repeat(" ", 251)); len(long) > 255 || Obeyed(long) {
		t.Errorf("%q", long)
	}
}
