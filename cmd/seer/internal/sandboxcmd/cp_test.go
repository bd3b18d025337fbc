package sandboxcmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/engine"
)

// What keeps a file of this computer from being read is no fault of the machine.
func TestFileThatCannotBeRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := os.Stat(filepath.Join(file, "below"))
	if err = cli.ProviderError(readError(err)); engine.KindOf(err) != engine.KindConfig || err.Error() != filepath.Join(file, "below")+" cannot be read: not a directory" {
		t.Errorf("%s: %v", engine.KindOf(err), err)
	}
}

func TestParsePlace(t *testing.T) {
	for text, want := range map[string][2]string{
		"lab:/a/b":       {"lab", "/a/b"},
		"lab:a":          {"lab", "/workspace/a"},
		"lab:":           {"lab", "/workspace/"},
		"lab:a/":         {"lab", "/workspace/a/"},
		"lab:/":          {"lab", "/"},
		"lab:../../etc":  {"lab", "/etc"},
		"sb-4k.x_1:/a:b": {"sb-4k.x_1", "/a:b"},
		"./a:b":          {"", "./a:b"},
		"/a:b":           {"", "/a:b"},
		"-":              {"", "-"},
		":x":             {"", ":x"},
		"a b:c":          {"", "a b:c"},
		"plain":          {"", "plain"},
	} {
		if got := parsePlace(text); got.sandbox != want[0] || got.path != want[1] {
			t.Errorf("%q is %q in %q", text, got.path, got.sandbox)
		}
	}
}

func FuzzParsePlace(f *testing.F) {
	for _, seed := range []string{"lab:/a", "lab:", "-", "a:b:c", "./x:y", "\x00:"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p := parsePlace(text)
		if p.sandbox == "" && p.path != text {
			t.Errorf("%q is no place in a sandbox and became %q", text, p.path)
		}
		if p.sandbox != "" && !strings.HasPrefix(p.path, "/") {
			t.Errorf("%q is not absolute in the sandbox: %q", text, p.path)
		}
	})
}
