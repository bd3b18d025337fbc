package mcp

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestIndexesAreReadAsNumPyWritesThem(t *testing.T) {
	for given, want := range map[string]string{
		"3": "3", "-1": "-1", "0:10": `{"slice":[0,10,null]}`, "::-1": `{"slice":[null,null,-1]}`, ":": `{"slice":[null,null,null]}`,
		"..., 0": `{"at":["...",0]}`, "[0:3, 1]": `{"at":[{"slice":[0,3,null]},1]}`, "[1, 5]": "[1,5]", "[True, False], 0": `{"at":[[true,false],0]}`,
		"None": "null", "price": `"price"`, `"a, b"`: `"a, b"`, "'0'": `"0"`, "3,": "3", "a:b": `"a:b"`, ":, newaxis": `{"at":[{"slice":[null,null,null]},null]}`,
	} {
		key, err := parseIndex(given)
		got, _ := json.Marshal(key)
		if err != nil || string(got) != want {
			t.Errorf("%s became %s, %v; want %s", given, got, err, want)
		}
	}
	for _, given := range []string{"", "1,,2", "[1", "1]", `"a`, "[1.5]", "[[1]]", `["a"]`, "a, b", strings.Repeat("0,", 100)} {
		if key, err := parseIndex(given); err == nil {
			t.Errorf("%q became %v", given, key)
		}
	}
}

func FuzzParseIndex(f *testing.F) {
	for _, s := range []string{"0:10, ..., [1, 5]", `"a, b"`, "::-1", "None", "[True]", "[0:3]", "]["} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		key, err := parseIndex(s)
		if err != nil {
			return
		}
		if _, err := json.Marshal(key); err != nil {
			t.Errorf("%q became %v, which cannot be sent: %v", s, key, err)
		}
	})
}

func TestBarsOfTqdmAreRead(t *testing.T) {
	for line, want := range map[string]bar{
		" 45%|####5     | 45/100 [00:10<00:12,  4.4it/s]":    {45, 100, "00:10<00:12,  4.4it/s"},
		"epoch 2:  30%|███       | 3.0k/10.0k [00:03<00:07]": {3000, 10000, "epoch 2 00:03<00:07"},
		"Downloading: 100%|██████████| 1.5G/1.5G":            {1.5e9, 1.5e9, "Downloading"},
		"  0%|          | 0/3 [00:00<?, ?it/s, loss=3]":      {0, 3, "00:00<?, ?it/s, loss=3"},
	} {
		if got, ok := parseBar(line); !ok || got != want {
			t.Errorf("%q is %+v, %v", line, got, ok)
		}
	}
	for _, line := range []string{"", "loss 45%", "45it [00:10, 4.4it/s]", "50%|#| 5/0 [", "50%|#| 5..5/10 [x]"} {
		if got, ok := parseBar(line); ok {
			t.Errorf("%q is %+v", line, got)
		}
	}
}

func TestOutputIsWhatATerminalShows(t *testing.T) {
	var s screen
	for _, text := range []string{"first\nsec", "ond\r\n", "\r 10%|#| 1/10 [a]", "\r 20%|#| 2/10 [b]", "\rdone\x1b[K\n", "last"} {
		s.write(text)
	}
	if got := s.text(); got != "first\nsecond\ndone\nlast" {
		t.Errorf("shown %q", got)
	}
	if s.bar == nil || s.bar.N != 2 || s.lastLine() != "last" {
		t.Errorf("bar %+v, last line %q", s.bar, s.lastLine())
	}
	if got := s.told(); got != "first\nsecond\ndone\n" {
		t.Errorf("news %q", got)
	}
	if got := s.told(); got != "" {
		t.Errorf("told twice: %q", got)
	}
}

func TestClientsAreWaitedForAsLongAsTheyWait(t *testing.T) {
	for name, want := range map[string]time.Duration{
		"codex-mcp-client": 45 * time.Second, "claude-code": 4 * time.Minute, "Gemini-CLI-mcp-client": 4 * time.Minute, "opencode": 20 * time.Second, "new": DefaultWait,
	} {
		if got := habitsOfName(name).wait; got != want {
			t.Errorf("%s is waited for %v, want %v", name, got, want)
		}
	}
}

func FuzzScreen(f *testing.F) {
	f.Add("a\r 10%|#| 1/10 [a]\nb", "é\x1b[31m\r\r\n")
	f.Add(strings.Repeat("x", 3*MaxTail), "\n")
	f.Fuzz(func(t *testing.T, a, b string) {
		var s screen
		for range 3 {
			s.write(a)
			s.write(b)
		}
		if len(s.text()) > MaxTail || len(s.news) > 2*MaxTail || len(s.line) > maxLine+len(a)+len(b) || !utf8.ValidString(s.text()+s.lastLine()+s.told()) {
			t.Errorf("tail %d, news %d, line %d bytes, or no text", len(s.text()), len(s.news), len(s.line))
		}
	})
}
