package workspace

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
	"unicode/utf8"
)

// sources are beginnings of Python files, some of which Python refuses.
func sources() []string {
	return []string{
		"", "x = 1", `"doc"`, `'doc'`, "'''doc'''", `"""doc"""`, "\ufeff'''with a mark'''", "#!/usr/bin/python\n\n# -*- coding: utf-8 -*-\n\n'''after comments'''\nimport os",
		"'''it's \"quoted\" \\''' still'''", `"""ends with a quote\""""`, `r"\d+ raw"`, `R'''\n'''`, `u"old"`, `U'x'`, `b"bytes"`, `f"formatted"`, `rb"x"`, `br''`, `fr"x"`, `Rb'x'`,
		`"one " "two" 'three'`, "'a' \\\n 'b'", "('in '\n 'parentheses') # c\n", "(('twice'))", "('a', )", "('a'\n", "('open'", "'a' + 'b'", "'a'.upper()", "'a' % 1", "'a', 'b'", "'a'; x = 1", "'a';", "'a' if x else 'b'",
		"'a'\n'b'", "  'indented'", "\n\n\f'form feed'", "\\\n'continued'", "'line\\\ncontinued'", "'not closed", "'''not closed", "'broken\nline'", "\"\"", "''''''", "'' 'x'",
		`"\t\x41\u00e9\U0001f600\101\0\777\\\'\"\a\q\d"`, `"\x4"`, `"\u12"`, `"\U00110000"`, `"\400"`, "'''\\\nfirst'''", "'''\n    First.\n\n      More.\n\tTab.\n    '''", "'''One.\n    Two.\n      Three.\n    '''",
		"'''  Leading.\n  x'''", "'''a\tb\n\tc\td'''", "'''a\r\nb\r\n  c'''", "'''a\rb'''", "'a' # comment", "'a' # comment\n'b'", "'''é ü 漢字 🎉\n   é'''", "class A: 'x'", "'''a''' '''b'''", "r'a\\'b'", "('a') 'b'", "('a' 'b')('c')", "('a').x", "('a'\n# c\n'b')",
		"'a'\\\n", "# only a comment", "'a' 5", "u'x' b'y'", "ur'x'", "'a' u'b' r'\\n'", "'''\\u0041\n  x\n\n\n'''", "'''   '''", "'a'==1", "\t'tab'", "'a'\t;", "'a' \n\n",
	}
}

// Python itself says what is right.
func TestDocstringsAreWhatPythonTakes(t *testing.T) {
	program := `
import ast, json, sys, warnings
warnings.simplefilter("ignore")
def doc(s):
    try:
        return ast.get_docstring(ast.parse(s.encode())) or ""
    except SyntaxError:
        return None
json.dump([doc(s) for s in json.load(sys.stdin)], sys.stdout)
`
	in, err := json.Marshal(sources())
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("python3", "-c", program)
	cmd.Stdin = bytes.NewReader(in)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var want []*string
	if err := json.Unmarshal(out, &want); err != nil {
		t.Fatal(err)
	}
	valid := 0
	for i, s := range sources() {
		if want[i] == nil {
			docstring(s) // of what Python refuses anything may be told
			continue
		}
		valid++
		if got := docstring(s); got != strings.TrimSpace(*want[i]) {
			t.Errorf("%q: got %q, Python says %q", s, got, *want[i])
		}
	}
	if valid < 60 {
		t.Errorf("only %d sources are valid", valid)
	}
}

func FuzzDocstring(f *testing.F) {
	for _, s := range sources() {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got := docstring(s); !utf8.ValidString(got) || strings.TrimSpace(got) != got {
			t.Errorf("%q gave %q", s, got)
		}
	})
}

func FuzzSkill(f *testing.F) {
	f.Add("---\nname: a-b\ndescription: d\n---\nbody")
	f.Add("\ufeff---\r\nname: a\r\ndescription: |\r\n  x\r\n---")
	f.Fuzz(func(t *testing.T, text string) {
		var s Skill
		if s.parse(text) == nil && (!skillName().MatchString(s.Name) || s.Description == "" || strings.ContainsAny(s.Name, "/.\\ ")) {
			t.Errorf("%q is the skill %+v", text, s)
		}
	})
}
