package loader_test

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"regexp"
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
