package preflight

import (
	"fmt"
	"net"
	"net/url"
	"path"
	"strings"
	"unicode"

	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/internal/lazyregexp"
	"github.com/seer-engine/seer/sdk"
)

// Repo is a repository as a machine clones it.
type Repo struct {
	Name    string `json:"name"` // its folder in /workspace
	URL     string `json:"url"`
	Ref     string `json:"ref,omitempty"`    // as the user wrote it
	Commit  string `json:"commit,omitempty"` // what Ref is now
	Install string `json:"install,omitempty"`
	Token   string `json:"token,omitempty"`  // name of the secret that may open it
	Folder  string `json:"folder,omitempty"` // where it is on this computer, for file://
}

// host is the address that a token belongs to: scheme, name and port.
func (r Repo) host() string {
	u, err := url.Parse(r.URL)
	if err != nil || u.Host == "" {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// Host is where a token may be sent: https://HOST[:PORT], or http:// on this computer
// itself. It is empty where there is no such place.
func (r Repo) Host() string {
	u, err := url.Parse(r.URL)
	switch {
	case err != nil || u.Host == "" || u.Scheme == "file":
		return ""
	case u.Scheme == "https" || loopback(u.Hostname()):
		return r.host()
	}
	return ""
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

var (
	shortRepo = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+$`)
	scpRepo   = lazyregexp.New(`^[A-Za-z0-9._-]+@[A-Za-z0-9.-]+:`)
	likeShort = lazyregexp.New(`^[^-./~:?#@][^/:?#@]*/[^/:?#@]+$`)
	badRef    = lazyregexp.New(`^[-/.]|[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|/$|\.lock$`)
)

// ParseRepo reads a repository of an experiment. Where it cannot be one, problem says
// why and hint what to do.
func ParseRepo(from experiment.Repo) (r Repo, problem, hint string) {
	const forms = "write org/repo, https://HOST/PATH or file:///FOLDER"
	r = Repo{URL: from.URL, Ref: from.Ref, Install: from.Install}
	if shortRepo().MatchString(r.URL) && !strings.HasPrefix(r.URL, ".") {
		r.URL = "https://github.com/" + strings.TrimSuffix(r.URL, ".git")
	}
	if scpRepo().MatchString(r.URL) || strings.HasPrefix(r.URL, "ssh://") {
		return r, "Seer does not clone by ssh, because the sandbox does not have your key", "write its https:// URL; for a private one put a token into sandbox.secrets (GITHUB_TOKEN or GIT_TOKEN)"
	}
	u, err := url.Parse(r.URL)
	if err != nil || strings.ContainsAny(r.URL, "\t\n\x00") {
		return r, "this is not the URL of a repository", forms
	}
	if likeShort().MatchString(r.URL) {
		return r, "GitHub has no repository of that name: names may have only A-Z, a-z, 0-9 and `.`, `_`, `-`", "look at its spelling, or write the URL of another server"
	}
	switch u.Scheme {
	case "http", "https":
		if u.User != nil {
			return r, "a URL with a password would stay in the clone", "write it without, and put a token into sandbox.secrets (GITHUB_TOKEN or GIT_TOKEN)"
		}
		if strings.ContainsFunc(r.URL, func(c rune) bool { return c == ' ' || c > unicode.MaxASCII }) {
			r.URL = u.String() // as a server is asked for it
		}
	case "file":
		if r.Folder = path.Clean(u.Path); u.Host != "" || !path.IsAbs(u.Path) {
			return r, "a folder of this computer is written with its absolute path", "write file:///FOLDER"
		}
	default:
		return r, "this is not the URL of a repository", forms
	}
	if strings.Trim(u.Path, "/") == "" {
		return r, "it names no repository", forms
	}
	if r.Name = from.Name(); r.Name == "" {
		return r, fmt.Sprintf("`%s` cannot be the name of a folder in /workspace", path.Base(u.Path)), "rename the repository: letters, digits, spaces, `.`, `_`, `+` and `-`, with a letter, a digit or `_` first"
	}
	if badRef().MatchString(r.Ref) {
		return r, fmt.Sprintf("`%s` cannot be a branch, tag or commit", r.Ref), "write it as git does: main, v1.2, or a whole commit"
	}
	return r, "", ""
}

// Names of the secrets that open private repositories.
const (
	gitHubToken = "GITHUB_TOKEN"
	gitToken    = "GIT_TOKEN"
)

var notInName = lazyregexp.New(`[^A-Z0-9]+`)

// tokenOf is the secret of a host's own: GIT_TOKEN_GITLAB_COM.
func tokenOf(host string) string {
	_, name, _ := strings.Cut(host, "://")
	return gitToken + "_" + notInName().ReplaceAllString(strings.ToUpper(name), "_")
}

// Repos reads the repositories of an experiment that can be read, each with the secret
// that it may be opened with. Those that cannot have no URL.
func Repos(exp *experiment.Experiment) []Repo {
	repos := make([]Repo, len(exp.Sandbox.Repos))
	named, others := map[string]bool{}, map[string]bool{}
	for _, name := range exp.Sandbox.Secrets {
		named[name] = true
	}
	for i, from := range exp.Sandbox.Repos {
		r, problem, _ := ParseRepo(from)
		if problem != "" {
			continue
		}
		repos[i] = r
		if h := r.Host(); h != "" && h != "https://github.com" {
			others[h] = true
		}
	}
	for i := range repos {
		switch h := repos[i].Host(); {
		case h == "":
		case named[tokenOf(h)]:
			repos[i].Token = tokenOf(h)
		case h == "https://github.com" && named[gitHubToken]:
			repos[i].Token = gitHubToken
		case h != "https://github.com" && named[gitToken] && len(others) == 1:
			repos[i].Token = gitToken
		}
	}
	return repos
}

// repos checks what is to be cloned.
func (c *check) repos() {
	repos, first, others := Repos(c.exp), map[string]int{}, map[string]bool{}
	for i, from := range c.exp.Sandbox.Repos {
		at := fmt.Sprintf("sandbox.repos.%d", i)
		r, problem, hint := ParseRepo(from)
		if problem != "" {
			c.fail(at, fmt.Sprintf("%s: `%s`", problem, redacted(from.URL)), hint)
			continue
		}
		if n, again := first[strings.ToLower(r.Name)]; again {
			c.fail(at, fmt.Sprintf("two repositories are called `%s`, and both would be /workspace/%s; the other is sandbox.repos.%d", r.Name, r.Name, n),
				"keep one, or clone the other with image.commands")
			continue
		}
		first[strings.ToLower(r.Name)] = i
		if h := r.Host(); h != "" && h != "https://github.com" {
			others[h] = true
		}
		c.folderOf(at, r)
		if i >= len(c.facts.Repos) {
			continue
		}
		if found := c.facts.Repos[i]; found.Problem != "" {
			c.fail(at, found.Problem, found.Hint)
		} else {
			repos[i].Commit = found.Commit
			c.report.Repos = append(c.report.Repos, repos[i])
		}
	}
	for i, name := range c.exp.Sandbox.Secrets {
		if name == gitToken && len(others) > 1 {
			c.fail(fmt.Sprintf("sandbox.secrets.%d", i), "the repositories are on several hosts, and GIT_TOKEN belongs to one of them only",
				"name it after its host, as in GIT_TOKEN_GITLAB_COM")
		}
	}
}

// folderOf checks a repository of this computer: a rented machine cannot see it.
func (c *check) folderOf(at string, r Repo) {
	if r.Folder == "" {
		return
	}
	for _, p := range c.candidates {
		if !p.Has(sdk.FeatureHostMounts) {
			c.fail(at, fmt.Sprintf("provider `%s` cannot see %s of this computer", p.Name, r.Folder), "put it on a server, or copy the folder with local_dirs")
			return
		}
	}
}

// redacted is a URL without its password.
func redacted(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.User == nil {
		return text
	}
	u.User = nil
	return u.String()
}
