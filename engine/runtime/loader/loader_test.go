package loader_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/runtime/loader"
)

// TestCommandIsOneSafeLine because some clouds split a command like a shell, and
// limit it.
func TestCommandIsOneSafeLine(t *testing.T) {
	argv := loader.Command("python3")
	if len(argv) != 5 || argv[0] != "python3" {
		t.Fatalf("%d words", len(argv))
	}
	if code := argv[4]; !regexp.MustCompile(`^[A-Za-z0-9+/=(),.;_" ]+$`).MatchString(code) || len(code) > 11<<10 {
		t.Errorf("%d characters, beginning with %.80s", len(code), code)
	}
}

// TestModules: the modules stand in one program in an order in which none needs a later one,
// and no two of them give different things the same name.
func TestModules(t *testing.T) {
	names := loader.Modules()
	if files, err := filepath.Glob("seer_loader/*.py"); err != nil || len(files) != len(names)+1 { // and __init__.py
		t.Errorf("%d modules are joined, of the files %q, %v", len(names), files, err)
	}
	owner := map[string]string{}
	for i, name := range names {
		text, err := os.ReadFile("seer_loader/" + name + ".py")
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^ *from \.(\w*) import`).FindAllStringSubmatch(string(text), -1) {
			if !slices.Contains(names[:i], m[1]) {
				t.Errorf("%s needs %q, which does not stand before it", name, m[1])
			}
		}
		for _, m := range regexp.MustCompile(`(?m)^(?:(?:def|class) (\w+)|([A-Z_]+(?:, [A-Z_]+)*) =)`).FindAllStringSubmatch(string(text), -1) {
			for what := range strings.SplitSeq(m[1]+m[2], ", ") {
				if owner[what] != "" {
					t.Errorf("%s and %s both have a %s", owner[what], name, what)
				}
				owner[what] = name
			}
		}
	}
	if source := loader.Source(); strings.Contains(source, "from .") || owner["Loader"] == "" || owner["PORT_TAKEN"] == "" {
		t.Errorf("the program is not whole: %v", owner)
	}
}

func TestBootEnvNeedsWhatTheLoaderNeeds(t *testing.T) {
	for _, b := range []loader.Boot{{}, {Listen: "unix:/s"}, {Listen: "unix:/s", AdminSHA256: "abc"}} {
		if _, err := loader.BootEnv(b); err == nil {
			t.Errorf("%+v was accepted", b)
		}
	}
}

// TestBare: the loader that a machine gets is the one that people read, line by line, but
// for the texts that explain it.
func TestBare(t *testing.T) {
	code := `
import ast, json, sys
def tree(source):
    found = ast.parse(source)
    for node in ast.walk(found):
        body = getattr(node, "body", None)
        if isinstance(body, list) and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
            body[0].value.value = body[0].value.kind = body[0].end_lineno = body[0].value.end_lineno = None
        for name in ("col_offset", "end_col_offset"):
            if hasattr(node, name):
                setattr(node, name, 0)
    return ast.dump(found, include_attributes=True)
source, bare = json.load(sys.stdin)
assert tree(source) == tree(bare)
assert "#" not in "".join(line for line in bare.splitlines() if '"' not in line and "'" not in line), "a comment is left"
`
	input, err := json.Marshal([]string{loader.Source(), loader.Bare()})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("python3", "-c", code)
	cmd.Stdin = bytes.NewReader(input)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestNumberOfAnswer: an answer to the runtime has the number of its message.
func TestNumberOfAnswer(t *testing.T) {
	code := `
import json, socket, sys
names = {"__name__": "loader"}
exec(sys.stdin.read(), names)
loader = names["Loader"].__new__(names["Loader"])
loader.holder, loader.end, loader.parked_end = names["Holder"](), 0, None
loader.near, runtime = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
for message in {"t": "release", "n": 1 << 63}, {"t": "listen", "n": 7}:
    runtime.send(json.dumps(message).encode())
    loader.hear()
    answer = json.loads(runtime.recv(4096))
    assert answer == {"n": message["n"]}, answer
`
	cmd := exec.Command("python3", "-c", code)
	cmd.Stdin = strings.NewReader(loader.Source())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
