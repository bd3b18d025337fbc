package testsource

import (
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// Git is a git server.
type Git struct {
	URL string // of the server; a repository is at URL/NAME.git
	Dir string // where the repositories are

	t       testing.TB
	token   string
	clones  atomic.Int64
	refused atomic.Int64
}

// NewGit serves repositories with git's own program. With a token it wants it as the
// password of anybody.
func NewGit(t testing.TB, token string) *Git {
	g := &Git{Dir: t.TempDir(), t: t, token: token}
	out, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		t.Fatal("git is needed for tests: apt-get install git: ", err)
	}
	backend := &cgi.Handler{
		Path:   filepath.Join(strings.TrimSpace(string(out)), "git-http-backend"),
		Env:    []string{"GIT_PROJECT_ROOT=" + g.Dir, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_GLOBAL=/dev/null", "REMOTE_USER=t"},
		Stderr: io.Discard,
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, password, _ := r.BasicAuth(); g.token != "" && password != g.token {
			g.refused.Add(1)
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if strings.HasSuffix(r.URL.Path, "/git-upload-pack") && r.Method == http.MethodPost {
			g.clones.Add(1)
		}
		backend.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	g.URL = srv.URL
	return g
}

// Packs is how often something was fetched or listed beyond the first answer.
func (g *Git) Packs() int { return int(g.clones.Load()) }

// Refused is how many requests came without the token.
func (g *Git) Refused() int { return int(g.refused.Load()) }

// Commit makes a repository, or a further commit in it, with these files, and gives the
// commit's name.
func (g *Git) Commit(name string, files map[string]string) string {
	g.t.Helper()
	bare, work := filepath.Join(g.Dir, name+".git"), filepath.Join(g.Dir, "work", name)
	if _, err := os.Stat(bare); err != nil {
		g.Run(g.Dir, "init", "-q", "--bare", "-b", "main", bare)
		g.Run(g.Dir, "init", "-q", "-b", "main", work)
		g.Run(work, "remote", "add", "origin", bare)
	}
	for file, text := range files {
		path := filepath.Join(work, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			g.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			g.t.Fatal(err)
		}
	}
	g.Run(work, "add", "-A")
	g.Run(work, "commit", "-q", "--allow-empty", "-m", "work")
	g.Run(work, "push", "-q", "origin", "HEAD")
	return strings.TrimSpace(g.Run(work, "rev-parse", "HEAD"))
}

// Work is the folder from which a repository is filled.
func (g *Git) Work(name string) string { return filepath.Join(g.Dir, "work", name) }

// Run runs git there, without anybody's configuration.
func (g *Git) Run(dir string, args ...string) string {
	g.t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "protocol.file.allow=always"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		g.t.Fatalf("git %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// Reached is the field of a sandbox that lets it and its builds reach the server, which is
// on this computer.
func (g *Git) Reached() string {
	at, err := url.Parse(g.URL)
	if err != nil {
		g.t.Fatal(err)
	}
	return "host_ports: [" + at.Port() + "]"
}
