package preflight

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/seer-engine/seer/internal/lazyregexp"
)

// RepoState is what a repository answered.
type RepoState struct {
	Commit  string
	Problem string // why there is none
	Hint    string
}

// GitSettings are what git is given on this computer: nothing of the user's own
// configuration, which the machine that clones would not have.
type GitSettings struct {
	Git   string            // the program; empty = in the PATH
	Env   map[string]string // proxies, certificates
	Token func(name string) string

	here bool // tests of attacks: git runs in the current folder
}

func (s GitSettings) folder(empty string) string {
	if s.here {
		return ""
	}
	return empty
}

var wholeCommit = lazyregexp.New(`^(?:[0-9a-f]{40}|[0-9a-f]{64})$`)

const lsRemoteLimit = time.Minute

// ResolveRepo asks a repository what its ref is now. A whole commit is taken at its
// word, without asking.
func ResolveRepo(ctx context.Context, r Repo, s GitSettings) RepoState {
	if wholeCommit().MatchString(r.Ref) {
		return RepoState{Commit: r.Ref}
	}
	ctx, cancel := context.WithTimeout(ctx, lsRemoteLimit)
	defer cancel()
	git := s.Git
	if git == "" {
		git = "git"
	}
	args := []string{"ls-remote", "--", r.URL, "HEAD"}
	if r.Ref != "" {
		args = append(args, "refs/heads/"+r.Ref, "refs/tags/"+r.Ref, "refs/tags/"+r.Ref+"^{}", r.Ref)
	}
	// Git obeys the settings of a repository that it finds in its folder or above, which may
	// be a stranger's: they name programs.
	empty, err := os.MkdirTemp("", "seer-git")
	if err != nil {
		return RepoState{Problem: "cannot make a folder for git: " + err.Error(), Hint: "look at the folder for temporary files"}
	}
	defer os.RemoveAll(empty)
	cmd := exec.CommandContext(ctx, git, args...)
	cmd.WaitDelay = time.Second
	cmd.Dir, cmd.Env = s.folder(empty), append(r.gitEnv(s), "GIT_CEILING_DIRECTORIES="+filepath.Dir(empty))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		if ctx.Err() != nil {
			return RepoState{Problem: r.URL + " did not answer in time", Hint: "look at the network, or write a whole commit as ref"}
		}
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
			return RepoState{Problem: "there is no git on this computer", Hint: "install it: apt-get install git"}
		}
		return r.Explain(stderr.String())
	}
	return r.pick(string(out))
}

// gitEnv is all that git sees of the environment.
func (r Repo) gitEnv(s GitSettings) []string {
	env := map[string]string{"HOME": "/nonexistent", "PATH": "/usr/local/bin:/usr/bin:/bin", "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}
	token := ""
	if r.Token != "" && s.Token != nil {
		token = s.Token(r.Token)
	}
	maps.Copy(env, s.Env)
	maps.Copy(env, r.Access(token))
	var list []string
	for name, value := range env {
		list = append(list, name+"="+value)
	}
	return list
}

// Access is the environment with which git opens the repository, on any machine. The
// token, empty for none, is given to the repository's own host and to no other; it is
// neither on a command line nor on a disk.
func (r Repo) Access(token string) map[string]string {
	env := map[string]string{"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_ALLOW_PROTOCOL": "file:http:https",
		"GIT_HTTP_LOW_SPEED_LIMIT": "100", "GIT_HTTP_LOW_SPEED_TIME": "45"}
	if token == "" || r.Host() == "" {
		return env
	}
	env["GIT_CONFIG_COUNT"], env["GIT_CONFIG_KEY_0"] = "1", "credential."+r.Host()+".helper"
	env["GIT_CONFIG_VALUE_0"] = `!f() { [ "$1" != get ] || printf 'username=x-access-token\npassword=%s\n' "$SEER_GIT_TOKEN"; }; f`
	env["SEER_GIT_TOKEN"] = token
	return env
}

// pick finds the ref among lines of ls-remote.
func (r Repo) pick(out string) RepoState {
	refs := map[string]string{}
	for line := range strings.Lines(out) {
		if commit, name, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok && wholeCommit().MatchString(commit) {
			refs[name] = commit
		}
	}
	wanted := []string{"HEAD"}
	if r.Ref != "" {
		wanted = []string{"refs/heads/" + r.Ref, "refs/tags/" + r.Ref + "^{}", "refs/tags/" + r.Ref, r.Ref}
	}
	for _, name := range wanted {
		if commit := refs[name]; commit != "" {
			return RepoState{Commit: commit}
		}
	}
	if r.Ref == "" {
		return RepoState{Problem: fmt.Sprintf("the repository %s has no commit yet", r.URL), Hint: "push one, or name a branch with ref"}
	}
	return RepoState{Problem: fmt.Sprintf("the repository %s has no branch or tag `%s`", r.URL, r.Ref), Hint: "look at its spelling; a commit is written with all of its 40 digits"}
}

// Explain turns what git has said into one line.
func (r Repo) Explain(stderr string) RepoState {
	says := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(stderr, w) {
				return true
			}
		}
		return false
	}
	switch {
	case says("could not read Username", "Authentication failed", "could not read Password", "error: 401", "error: 403", "HTTP 403"):
		if r.Token != "" {
			return RepoState{Problem: fmt.Sprintf("the repository %s does not exist, or %s does not open it", r.URL, r.Token),
				Hint: "look at its spelling and at what the token may read"}
		}
		return RepoState{Problem: fmt.Sprintf("the repository %s is private or does not exist", r.URL),
			Hint: "look at its spelling, or put a token that may read it into sandbox.secrets: " + r.tokenName()}
	case says("not found", "does not appear to be a git repository", "does not exist", "not a git repository"):
		return RepoState{Problem: "there is no repository " + r.URL, Hint: "look at its spelling; a private one needs a token in sandbox.secrets: " + r.tokenName()}
	case says("Could not resolve host", "Failed to connect", "Couldn't connect", "Connection refused", "timed out", "unreachable", "Operation too slow", "Could not connect"):
		hint := "look at the network and at HTTPS_PROXY, or write a whole commit as ref"
		if at, err := url.Parse(r.URL); err == nil && loopback(at.Hostname()) {
			hint = "look whether it runs, and list its port in sandbox.host_ports: sandboxes and builds reach no other port of this computer"
		}
		return RepoState{Problem: fmt.Sprintf("%s cannot be reached: %s", r.URL, lastLine(stderr)), Hint: hint}
	}
	return RepoState{Problem: fmt.Sprintf("git cannot read %s: %s", r.URL, lastLine(stderr))}
}

func (r Repo) tokenName() string {
	if strings.HasPrefix(r.URL, "https://github.com/") {
		return gitHubToken
	}
	return gitToken
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimPrefix(strings.TrimSpace(lines[len(lines)-1]), "fatal: ")
}
