package sanitize_test

import (
	"bytes"
	"encoding/json"
	"io"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/seer-engine/seer/engine/sanitize"
	"github.com/seer-engine/seer/internal/testkit"
)

func TestText(t *testing.T) {
	testkit.WantEach(t, sanitize.Text, map[string]string{
		"plain, ünï and 日本\n\ttext":   "plain, ünï and 日本\n\ttext",
		"\x1b]52;c;aGk=\x07":          `\x1b]52;c;aGk=\x07`,
		"\x1b[31mred\x1b[0m":          `\x1b[31mred\x1b[0m`,
		"a\rb\x00\x7f\b":              `a\x0db\x00\x7f\x08`,
		"\u009b31m\u202etxt\u2066":    `\u009b31m\u202etxt\u2066`,
		"half \xff\xfe, whole \ufffd": "half \ufffd\ufffd, whole \ufffd",
		"lab\u200b lab\ufe0f":         `lab\u200b lab\ufe0f`,
		"tag\U000e0041":               `tag\U000e0041`,
		"👩\u200d💻 ❤\ufe0f\u200d🔥":     "👩\u200d💻 ❤\ufe0f\u200d🔥",
		"é\u200d\u200d\u200d\u200d":   "é\u200d\u200d\\u200d\\u200d",
		"\u3164pad\u2800":             " pad ",
		"\u0600\u06dd":                "\u0600\u06dd",
		"a\u2028b":                    `a\u2028b`,
	})
	if got := sanitize.Line("a\nb\tc\r"); got != `a\nb\tc\x0d` {
		t.Errorf("a line is %q", got)
	}
}

func TestJSON(t *testing.T) {
	text := "{\n  \"a\": \"\u009b2J\x7f\u202e\U000e0041 é\u200d\",\r\n\t\"b\": 1}"
	got := sanitize.JSON([]byte(text))
	if want := "{\n  \"a\": \"\\u009b2J\\u007f\\u202e\\udb40\\udc41 é\u200d\", \n\t\"b\": 1}"; string(got) != want {
		t.Errorf("%q, not %q", got, want)
	}
}

func TestStrip(t *testing.T) {
	testkit.WantEach(t, sanitize.Strip, map[string]string{
		"a \x1b[1;32mgreen\x1b[0m line\r\n":            "a green line\r\n",
		"\x1b]0;title\x07text":                         "text",
		"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\":     "link",
		"\x1bP+q544e\x1b\\\x1b_apc\x1b\\\x1b^pm\x1b\\": "",
		"\x1bXsos\u009c\u009d0;title\u009c\u009b2Jx":   "x",
		"\x1b]0;no end\nnext":                          "\nnext",
		"\x1b(B\x1b7saved\x1b8 \u202eleft":             "saved left",
		"\x1b\x1b[2J\x1b":                              "",
		"not \xff text":                                "not \ufffd text",
	})
}

func TestPrinted(t *testing.T) {
	testkit.WantEach(t, sanitize.Printed, map[string]string{
		"10%\r\x1b[K90%\r\n":               "90%",
		"\x1b[31mred":                      "\x1b[31mred\x1b[0m",
		"seer: done\rmodel | \x1b[2Jagain": "model | again",
	})
}

// written is what a Writer makes of a text that comes in pieces of one size.
func written(t testing.TB, text []byte, size int) string {
	t.Helper()
	var out bytes.Buffer
	w := sanitize.NewWriter(&out)
	for rest := text; len(rest) > 0; rest = rest[min(size, len(rest)):] {
		if n, err := w.Write(rest[:min(size, len(rest))]); err != nil || n != min(size, len(rest)) {
			t.Fatal(n, err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestWriter(t *testing.T) {
	for text, want := range map[string]string{
		"50%|██  | 1/2\r\x1b[A\x1b[Kdone\b\a\n":           "50%|██  | 1/2\rdone\n",
		"\x1b[32;1mgreen\x1b[m":                           "\x1b[1;32mgreen\x1b[0m",
		"\x1b[38;5;196mx\x1b[39m\x1b[38;2;1;2;3my\x1b[0m": "\x1b[38;5;196mx\x1b[0m\x1b[38;2;1;2;3my\x1b[0m",
		"\x1b[38:2::9:8:7m\x1b[4:3mx\x1b[m":               "\x1b[38;2;9;8;7m\x1b[0;4;38;2;9;8;7mx\x1b[0m",
		"\x1b[8mhidden\x1b[5mblinks\x1b[8m":               "hiddenblinks",
		"\x1b[31;41mred on red\x1b[0m":                    "\x1b[31mred on red\x1b[0m",
		"\x1b[38;5;16;40mblack on black\x1b[0m":           "\x1b[38;5;16mblack on black\x1b[0m",
		"\x1b[97;48;2;250;250;250mwhite on white\x1b[0m":  "\x1b[38;5;15mwhite on white\x1b[0m",
		"\x1b[58;5;8munderline\x1b[>4;2m\x1b[?4m\x1b[1 m": "underline",
		"\x1b]0;title\x07 \x1b]52;c;aGk=\x1b\\ \x1bP+q":   `\x1b]0;title \x1b]52;c;aGk=\x1b\ \x1bP+q`,
		"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\":        `\x1b]8;;http://x\x1b\link\x1b]8;;\x1b\`,
		"\x1b[6n\x1b[?1049h\x1b[2J\x1bc \u009b2J é\x00\n": `\x1bc \u009b2J é\x00` + "\n",
		"\x1b[" + strings.Repeat("1;", 40) + "1m":         `\x1b[` + strings.Repeat("1;", 40) + "1m",
		"\x1b[3\n1m, \x1b\x1b[31mred":                     `\x1b[3` + "\n1m, " + `\x1b` + "\x1b[31mred\x1b[0m",
		"C1 \x9b31m, half \xe2\x82":                       "C1 \ufffd31m, half \ufffd\ufffd",
		"\u202eleft\u2066 zero\u200bwidth \U000e0041":     `\u202eleft\u2066 zero\u200bwidth \U000e0041`,
		"an end \x1b[": `an end \x1b[`,
	} {
		if got := written(t, []byte(text), len(text)); got != want {
			t.Errorf("%q became\n%q, not\n%q", text, got, want)
		}
	}
}

// A style that a program leaves on ends with each Write, and is there again in the next.
func TestWriterLeavesNoColours(t *testing.T) {
	var out bytes.Buffer
	w := sanitize.NewWriter(&out)
	for _, piece := range []string{"\x1b[31ma", "b", "\x1b[0mc"} {
		if _, err := io.WriteString(w, piece); err != nil {
			t.Fatal(err)
		}
	}
	if want := "\x1b[31ma\x1b[0m\x1b[31mb\x1b[0m\x1b[31m\x1b[0mc"; out.String() != want {
		t.Errorf("%q", out.String())
	}
}

func TestWriterHoldsLittle(t *testing.T) {
	for _, begin := range []string{"\x1b]0;", "\x1bP", "\x1b[", "\x1b[1", "\x1b_"} {
		var out bytes.Buffer
		w := sanitize.NewWriter(&out)
		given := 0
		for _, piece := range append([]string{begin}, strings.Split(strings.Repeat("1", 4096), "")...) {
			n, _ := io.WriteString(w, piece)
			if given += n; given-out.Len() > 64 {
				t.Fatalf("%q: %d bytes wait", begin, given-out.Len())
			}
		}
	}
}

func TestMessagesHaveNoReturn(t *testing.T) {
	var out bytes.Buffer
	if _, err := io.WriteString(sanitize.NewMessageWriter(&out), "seer: failed\rall is well\n"); err != nil {
		t.Fatal(err)
	}
	if want := "seer: failed\\x0dall is well\n"; out.String() != want {
		t.Errorf("%q", out.String())
	}
}

// ours are the only escape sequences that are written.
var ours = regexp.MustCompile(`\x1b\[(?:0|(?:0;)?(?:1|2|3|4|7|9|[34][0-7]|[34]8;5;\d{1,3}|[34]8;2;\d{1,3};\d{1,3};\d{1,3})(?:;(?:1|2|3|4|7|9|[34][0-7]|[34]8;5;\d{1,3}|[34]8;2;\d{1,3};\d{1,3};\d{1,3}))*)m`)

// wrong is what a terminal would obey, or a reader not see, in a sanitized text.
func wrong(text, keep string) string {
	if !utf8.ValidString(text) {
		return "invalid UTF-8"
	}
	before := rune(0)
	for _, r := range text {
		joiner := before >= utf8.RuneSelf && strings.ContainsRune("\u200c\u200d\ufe0e\ufe0f", r)
		switch {
		case strings.ContainsRune(keep, r), joiner, unicode.Is(unicode.Prepended_Concatenation_Mark, r):
		case unicode.IsControl(r), unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Variation_Selector, unicode.Bidi_Control, unicode.Other_Default_Ignorable_Code_Point):
			return "a character like " + string(r)
		}
		before = r
	}
	return ""
}

func FuzzWriter(f *testing.F) {
	for _, text := range []string{
		"text", "\x1b[31mred\x1b[8;5mhidden\x1b[2J", "\x1b]52;c;aGk=\x07\x9b2J\u009b2J", "\x1b[38:2::1:2:3;48;5;0m", "é\u200d\U000e0041\x1b", "\b\a\r\n\t\xff",
	} {
		f.Add([]byte(text), uint8(3))
	}
	f.Fuzz(func(t *testing.T, data []byte, size uint8) {
		whole, pieces := written(t, data, len(data)), written(t, data, max(1, int(size)))
		for _, out := range []string{whole, pieces} {
			if why := wrong(ours.ReplaceAllString(out, ""), "\n\t\r"); why != "" {
				t.Errorf("%q became %q: %s", data, out, why)
			}
			if strings.LastIndex(out, "\x1b") != strings.LastIndex(out, "\x1b[0m") {
				t.Errorf("%q leaves its colours: %q", data, out)
			}
		}
		if a, b := ours.ReplaceAllString(whole, ""), ours.ReplaceAllString(pieces, ""); a != b {
			t.Errorf("%q became %q whole, and %q in pieces of %d", data, a, b, size)
		}
		if wrong(string(data), "\n\t\r") == "" && sanitize.Strip(string(data)) == string(data) && whole != string(data) {
			t.Errorf("%q has nothing wrong and became %q", data, whole)
		}
	})
}

func FuzzText(f *testing.F) {
	f.Add("text\n\x1b[31m\u202e\U000e0041\r\xff")
	f.Add(`{"a": "b\u0000"}`)
	f.Fuzz(func(t *testing.T, text string) {
		for name, c := range map[string]struct{ out, keep string }{
			"Text": {sanitize.Text(text), "\n\t"}, "Line": {sanitize.Line(text), ""}, "Strip": {sanitize.Strip(text), "\n\t\r"},
			"JSON": {string(sanitize.JSON([]byte(text))), "\n\t"}, "Printed": {ours.ReplaceAllString(sanitize.Printed(text), ""), "\t"},
		} {
			if why := wrong(c.out, c.keep); why != "" {
				t.Errorf("%s(%q) is %q: %s", name, text, c.out, why)
			}
		}
		if once := sanitize.Text(text); sanitize.Text(once) != once {
			t.Errorf("%q is sanitized twice", text)
		}
		var before, after any
		if json.Unmarshal([]byte(text), &before) == nil {
			if err := json.Unmarshal(sanitize.JSON([]byte(text)), &after); err != nil || !reflect.DeepEqual(before, after) {
				t.Errorf("the document %q became another one: %v", text, err)
			}
		}
	})
}

// BenchmarkWriter compares with io.Copy, which copies each piece once.
func BenchmarkWriter(b *testing.B) {
	for name, line := range map[string]string{
		"ascii":   strings.Repeat("a line of a log, as programs print it ", 2) + "\n",
		"unicode": strings.Repeat("ünïcödé und 日本語のテキスト ", 3) + "\n",
		"colours": "\x1b[32m" + strings.Repeat("green ", 12) + "\x1b[0m\n",
		"hostile": strings.Repeat("\x1b[\x1b]\u202e", 10) + "\n",
	} {
		data := []byte(strings.Repeat(line, (1<<20)/len(line)))
		for kind, to := range map[string]func() io.Writer{
			"copy": func() io.Writer { return &sink{} }, "sanitize": func() io.Writer { return sanitize.NewWriter(&sink{}) },
		} {
			b.Run(name+"/"+kind, func(b *testing.B) {
				b.SetBytes(int64(len(data)))
				for b.Loop() {
					if _, err := io.CopyBuffer(struct{ io.Writer }{to()}, struct{ io.Reader }{bytes.NewReader(data)}, make([]byte, 32<<10)); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// sink copies, as a pipe or a file does.
type sink struct{ buffer [64 << 10]byte }

func (s *sink) Write(p []byte) (int, error) { return len(p), s.copy(p) }

func (s *sink) copy(p []byte) error {
	for len(p) > 0 {
		p = p[copy(s.buffer[:], p):]
	}
	return nil
}
