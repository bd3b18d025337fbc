package sandboxcmd

import (
	"strings"
	"testing"
)

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
