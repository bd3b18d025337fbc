package fakerunpod

import (
	"slices"
	"testing"

	"mvdan.cc/sh/v3/syntax"
)

func TestParseArgs(t *testing.T) {
	for args, want := range map[string]program{
		"":                                 {},
		" a  b ":                           {Cmd: []string{"a", "b"}},
		`a 'b "c' d"e 'f"`:                 {Cmd: []string{"a", `b "c`, "de 'f"}},
		`a\ b "c\"d\n" 'e\'`:               {Cmd: []string{"a b", `c"dn`, `e\`}},
		"'' a":                             {Cmd: []string{"", "a"}},
		"a # b\nc#d":                       {Cmd: []string{"a", "c#d"}},
		"it's one":                         {Cmd: []string{"it's", "one"}},
		`$HOME ~ *`:                        {Cmd: []string{"$HOME", "~", "*"}},
		`{"cmd":["a b"]}`:                  {Cmd: []string{"a b"}},
		`{"entrypoint":["e"],"cmd":["c"]}`: {Entrypoint: []string{"e"}, Cmd: []string{"c"}},
		`{a`:                               {Cmd: []string{"{a"}},
	} {
		got := parseArgs(args)
		if !slices.Equal(got.Cmd, want.Cmd) || !slices.Equal(got.Entrypoint, want.Entrypoint) {
			t.Errorf("%q: %q", args, got)
		}
	}
}

// What a shell would quote comes out as it went in.
func FuzzSplitWords(f *testing.F) {
	for _, s := range []string{"a", "it's", `"`, `\`, "a\nb", "$x", "#", "", " ", "é\t"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		_, _ = splitWords(s)
		quoted, err := syntax.Quote(s, syntax.LangPOSIX)
		if err != nil {
			t.Skip() // no shell can say it
		}
		if words, err := splitWords("x " + quoted + " y"); err != nil || !slices.Equal(words, []string{"x", s, "y"}) {
			t.Errorf("%q was quoted as %s and became %q, %v", s, quoted, words, err)
		}
	})
}

func TestCudaAtLeast(t *testing.T) {
	for _, c := range []struct {
		version, least string
		want           bool
	}{
		{"12.8", "12.4", true}, {"12.2", "12.11", false}, {"12.11", "12.2", true}, {"12.4", "12", true}, {"11.8", "12", false}, {"x", "12", false},
	} {
		if cudaAtLeast(c.version, c.least) != c.want {
			t.Errorf("%s at least %s: %v", c.version, c.least, !c.want)
		}
	}
}
