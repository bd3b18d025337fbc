package preflight_test

import (
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/preflight"
	"github.com/seer-engine/seer/internal/testsource"
)

func TestParseRepo(t *testing.T) {
	for text, want := range map[string]string{
		"org/repo":                     "repo https://github.com/org/repo",
		"org/repo.git":                 "repo https://github.com/org/repo",
		"https://example.org/a/b.git/": "b https://example.org/a/b.git/",
		"http://127.0.0.1:8080/x":      "x http://127.0.0.1:8080/x",
		"file:///home/a%20b/lib":       "lib file:///home/a%20b/lib",
		"git@github.com:org/repo.git":  "!Seer does not clone by ssh",
		"ssh://git@host/x":             "!Seer does not clone by ssh",
		"https://u:pw@example.org/x":   "!would stay in the clone",
		"./lib":                        "!not the URL",
		"../lib":                       "!not the URL",
		"file://lib":                   "!absolute path",
		"ext::sh -c touch% /tmp/x":     "!not the URL",
		"--upload-pack=x/y":            "!not the URL",
		"https://example.org/":         "!names no repository",
		"https://":                     "!names no repository",
		"https://example.org/a/..":     "!name of a folder",
		"https://example.org/a/-x":     "!name of a folder",
		"https://example.org/a/b c":    "b c https://example.org/a/b%20c",
		"https://example.org/répo.git": "répo https://example.org/r%C3%A9po.git",
		"https://example.org/a/b%20c":  "b c https://example.org/a/b%20c",
		"file:///tmp/f/lib é":          "lib é file:///tmp/f/lib é",
		"file:///f/lib%20%C3%A9/":      "lib é file:///f/lib%20%C3%A9/",
		"https://example.org/a/b%2Fc":  "!name of a folder",
		"https://example.org/a/b%0A":   "!name of a folder",
		"https://example.org/a/b?c=d":  "!name of a folder",
		"org/répo":                     "!GitHub has no repository of that name",
		"my org/repo":                  "!GitHub has no repository of that name",
		"https://exa mple.org/%zz":     "!not the URL",
		"lib":                          "!not the URL",
		"":                             "!not the URL",
	} {
		r, problem, hint := preflight.ParseRepo(experiment.Repo{URL: text})
		got := r.Name + " " + r.URL
		if problem != "" {
			got = "!" + problem
		}
		if got != want && (want[0] != '!' || got[0] != '!' || !strings.Contains(got+hint, want[1:])) {
			t.Errorf("%q: %s; %s", text, got, hint)
		}
	}
	for ref, good := range map[string]bool{"main": true, "v1.2": true, "feature/x": true, "refs/pull/1/head": true, "-x": false, "a..b": false, "a b": false, "x^{}": false, "": true} {
		if _, problem, _ := preflight.ParseRepo(experiment.Repo{URL: "o/r", Ref: ref}); (problem == "") != good {
			t.Errorf("ref %q: %s", ref, problem)
		}
	}
}

func FuzzParseRepo(f *testing.F) {
	for _, s := range []string{"org/repo", "https://h/x.git", "file:///x", "git@h:x", "a/../b"} {
		f.Add(s, "main")
	}
	f.Fuzz(func(t *testing.T, url, ref string) {
		r, problem, _ := preflight.ParseRepo(experiment.Repo{URL: url, Ref: ref})
		if problem != "" {
			return
		}
		if r.Name == "" || strings.ContainsAny(r.Name, "/\x00") || r.Name[0] == '.' || r.Name[0] == '-' || strings.HasPrefix(r.URL, "-") || strings.HasPrefix(r.Ref, "-") {
			t.Errorf("%q, %q: %+v", url, ref, r)
		}
	})
}

func TestReposOfAnExperiment(t *testing.T) {
	l := newLab(t)
	l.env(map[string]string{"GITHUB_TOKEN": "t1", "GIT_TOKEN": "t2", "GIT_TOKEN_GIT_EXAMPLE_ORG_8443": "t3"})
	for text, want := range map[string]string{
		"[org/lib, 'https://example.org/x/Lib.git']": "sandbox.repos.1: two repositories are called `Lib`, and both would be /workspace/Lib; the other is sandbox.repos.0",
		"['https://u:secret-word@example.org/x']":    "sandbox.repos.0: a URL with a password would stay in the clone: `https://example.org/x`",
	} {
		err := l.check("sandbox: {repos: " + text + "}").Err()
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret-word") {
			t.Errorf("%s: %v", text, err)
		}
	}
	if err := l.check("sandbox: {provider: cloud, repos: ['file:///lib']}").Err(); err == nil || !strings.Contains(err.Error(), "cannot see /lib of this computer") {
		t.Error(err)
	}
	if err := l.check("sandbox: {secrets: [GIT_TOKEN], repos: ['https://a.org/x', 'https://b.org/y']}").Err(); err == nil || !strings.Contains(err.Error(), "GIT_TOKEN_GITLAB_COM") {
		t.Error(err)
	}
	exp, err := experiment.Parse([]byte("sandbox: {secrets: [GITHUB_TOKEN, GIT_TOKEN_GIT_EXAMPLE_ORG_8443, GIT_TOKEN], repos: [o/a, 'https://git.example.org:8443/b', 'https://b.org/c', 'http://b.org/d', 'file:///e']}"), "e.yaml", experiment.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var tokens []string
	for _, r := range preflight.Repos(exp) {
		tokens = append(tokens, r.Token)
	}
	if got := strings.Join(tokens, ","); got != "GITHUB_TOKEN,GIT_TOKEN_GIT_EXAMPLE_ORG_8443,,," {
		t.Errorf("tokens %s", got)
	}
}

func TestResolveRepo(t *testing.T) {
	open, closed := testsource.NewGit(t, ""), testsource.NewGit(t, "the-token")
	first := open.Commit("lib", map[string]string{"a": "1"})
	open.Run(open.Work("lib"), "tag", "-a", "v1", "-m", "one")
	open.Run(open.Work("lib"), "push", "-q", "origin", "v1")
	second := open.Commit("lib", map[string]string{"a": "2"})
	secret := closed.Commit("private", map[string]string{"a": "1"})
	open.Run(open.Dir, "init", "-q", "--bare", "empty.git")
	token := func(value string) preflight.GitSettings {
		return preflight.GitSettings{Token: func(string) string { return value }}
	}
	for _, tc := range []struct {
		name, url, ref, token, commit, problem, hint string
	}{
		{"default", open.URL + "/lib.git", "", "", second, "", ""},
		{"branch", open.URL + "/lib.git", "main", "", second, "", ""},
		{"tag", open.URL + "/lib.git", "v1", "", first, "", ""},
		{"folder", "file://" + open.Dir + "/lib.git", "main", "", second, "", ""},
		{"commit", "http://127.0.0.1:1/lib.git", first, "", first, "", ""},
		{"no ref", open.URL + "/lib.git", "nope", "", "", "has no branch or tag `nope`", "40 digits"},
		{"empty", open.URL + "/empty.git", "", "", "", "has no commit yet", ""},
		{"no repository", open.URL + "/none.git", "", "", "", "there is no repository", "GIT_TOKEN"},
		{"no folder", "file:///no/such/folder", "", "", "", "there is no repository", ""},
		{"no server", "http://127.0.0.1:1/lib.git", "", "", "", "cannot be reached", "host_ports"},
		{"private", closed.URL + "/private.git", "", "", "", "is private or does not exist", "GIT_TOKEN"},
		{"private with its token", closed.URL + "/private.git", "", "the-token", secret, "", ""},
		{"private with another", closed.URL + "/private.git", "", "wrong", "", "GIT_TOKEN does not open it", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, problem, _ := preflight.ParseRepo(experiment.Repo{URL: tc.url, Ref: tc.ref})
			if problem != "" {
				t.Fatal(problem)
			}
			if tc.token != "" {
				r.Token = "GIT_TOKEN"
			}
			got := preflight.ResolveRepo(t.Context(), r, token(tc.token))
			if got.Commit != tc.commit || !strings.Contains(got.Problem, tc.problem) || (got.Problem == "") != (tc.problem == "") || !strings.Contains(got.Hint, tc.hint) {
				t.Errorf("got %+v", got)
			}
			if strings.Contains(got.Problem, "\n") || tc.token != "" && strings.Contains(got.Problem+got.Hint, tc.token) {
				t.Errorf("got %+v", got)
			}
		})
	}
	none := preflight.ResolveRepo(t.Context(), preflight.Repo{URL: open.URL + "/lib.git"}, preflight.GitSettings{Git: "/no/git"})
	if none.Problem != "there is no git on this computer" {
		t.Errorf("got %+v", none)
	}
}

// The token goes to the repository's own host only, also when that one leads elsewhere.
func TestTokenStaysWithItsHost(t *testing.T) {
	r := preflight.Repo{URL: "https://example.org/x.git", Token: "GIT_TOKEN"}
	env := r.Access("the-token")
	if env["GIT_CONFIG_KEY_0"] != "credential.https://example.org.helper" || strings.Contains(env["GIT_CONFIG_VALUE_0"], "the-token") {
		t.Errorf("got %v", env)
	}
	for _, url := range []string{"http://example.org/x", "file:///x"} {
		if env := (preflight.Repo{URL: url}).Access("the-token"); env["SEER_GIT_TOKEN"] != "" {
			t.Errorf("%s is given a token: %v", url, env)
		}
	}
}
