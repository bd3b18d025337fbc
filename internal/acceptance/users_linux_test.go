package acceptance

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// findings are what a user finds of a neighbour: which of the words in what kind of
// place, and sockets that take a connection.
const findings = `
import os, socket, sys
words = dict(w.split("=", 1) for w in sys.argv[2:])
found = set()
def look(kind, path):
    try:
        with open(path, "rb") as f:
            data = f.read(1 << 24)
    except OSError:
        return
    found.update(kind + " " + name for name, word in words.items() if word.encode() in data)
for folder, _, names in os.walk(sys.argv[1]):
    for name in names:
        path = os.path.join(folder, name)
        if os.path.isfile(path) and not os.path.islink(path):
            look("file", path)
        elif os.path.exists(path) and not os.path.isdir(path):
            try:
                s = socket.socket(socket.AF_UNIX)
                os.chdir(folder)
                s.connect(name)
                found.add("socket")
            except OSError:
                pass
for pid in os.listdir("/proc"):
    if pid.isdigit() and int(pid) != os.getpid():
        look("arguments", "/proc/%s/cmdline" % pid)
        look("environment", "/proc/%s/environ" % pid)
        try:
            os.listdir("/proc/%s/root/" % pid) and os.listdir("/proc/%s/fd" % pid)
            if "seer" in open("/proc/%s/cmdline" % pid).read():
                found.add("process")
        except OSError:
            pass
print("\n".join(sorted(found)))
`

// finds are the findings of a user about what is below a place.
func (p *place) finds(uid uint32, words map[string]string) []string {
	p.t.Helper()
	args := []string{"-c", findings, p.base}
	for name, word := range words {
		args = append(args, name+"="+word)
	}
	cmd := exec.Command("/usr/bin/python3", args...)
	cmd.Dir, cmd.Env = "/", []string{"PATH=/usr/bin:/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	out, err := cmd.Output()
	if err != nil {
		p.t.Fatal(err)
	}
	return strings.Fields(strings.ReplaceAll(strings.TrimSpace(string(out)), " ", ":"))
}

// TestTwoUsers has a careless user, whose home is open and whose umask is 0, and a
// neighbour who looks for what opens the careless one's sandboxes.
func TestTwoUsers(t *testing.T) {
	if os.Geteuid() != 0 {
		return // only root can be two users
	}
	t.Parallel()
	const alice, bob, secret = 65534, 65533, "canary-4f1c09e2"
	p := newPlace(t)
	p.env["XDG_CACHE_HOME"] = filepath.Join(p.home, ".cache")
	p.write("tools.py", "@expose\ndef hello():\n    return 'hello'\n")
	p.write("lab.yaml", "name: test\nsandbox: {timeout: 10m, secrets: [CANARY]}\n")
	if err := os.WriteFile(p.path(".env"), []byte("CANARY="+secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.become(alice)
	for _, dir := range []string{p.base, p.home, p.work} {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, line := range []string{
		`umask 0; "$SEER" up lab.yaml --name lab && "$SEER" serve lab tools.py --name tools --as mcp --out out && "$SEER" call lab tools.hello`,
		`umask 077; "$SEER" up lab.yaml --name strict && "$SEER" exec strict -- sh -c 'echo x > y && cat y'`,
	} {
		if r := p.sh(line); r.code != 0 {
			t.Fatalf("%s ended with %d: %s", line, r.code, r.err)
		}
	}
	words := map[string]string{"secret": secret, "token": p.connectionToken(), "admin": p.adminToken()}
	// The same search by the user whose sandboxes they are finds everything.
	if got := p.finds(alice, words); !slices.Contains(got, "file:token") || !slices.Contains(got, "file:admin") || !slices.Contains(got, "socket") ||
		!slices.Contains(got, "process") || !slices.Contains(got, "file:secret") {
		t.Errorf("the user finds only %q of what is there", got)
	}
	if got := p.finds(bob, words); len(got) > 0 {
		t.Errorf("another user finds %q", got)
	}
}

// connectionToken is that of the only connection file in out.
func (p *place) connectionToken() string {
	p.t.Helper()
	var connection struct {
		Token string `json:"token"`
	}
	if err := json.Unmarshal([]byte(p.read("out/tools.connection.json")), &connection); err != nil || connection.Token == "" {
		p.t.Fatalf("no token: %v", err)
	}
	return connection.Token
}

// adminToken is that of a sandbox, from Seer's own state.
func (p *place) adminToken() string {
	p.t.Helper()
	form := regexp.MustCompile(`"admin_token": ?"([^"]{20,})"`)
	var token string
	err := filepath.WalkDir(p.state(), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".json" {
			return err
		}
		data, err := os.ReadFile(path)
		if found := form.FindSubmatch(data); found != nil {
			token = string(found[1])
		}
		return err
	})
	if token == "" || err != nil {
		p.t.Fatalf("no admin token: %v", err)
	}
	return token
}
