package term

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestBarsOfTqdmAreRead(t *testing.T) {
	for line, want := range map[string]Bar{
		" 45%|####5     | 45/100 [00:10<00:12,  4.4it/s]":    {45, 100, "00:10<00:12,  4.4it/s"},
		"epoch 2:  30%|███       | 3.0k/10.0k [00:03<00:07]": {3000, 10000, "epoch 2 00:03<00:07"},
		"Downloading: 100%|██████████| 1.5G/1.5G":            {1.5e9, 1.5e9, "Downloading"},
		"  0%|          | 0/3 [00:00<?, ?it/s, loss=3]":      {0, 3, "00:00<?, ?it/s, loss=3"},
	} {
		if got, ok := ParseBar(line); !ok || got != want {
			t.Errorf("%q is %+v, %v", line, got, ok)
		}
	}
	for _, line := range []string{"", "loss 45%", "45it [00:10, 4.4it/s]", "50%|#| 5/0 [", "50%|#| 5..5/10 [x]"} {
		if got, ok := ParseBar(line); ok {
			t.Errorf("%q is %+v", line, got)
		}
	}
}

func TestOutputIsWhatATerminalShows(t *testing.T) {
	var s Screen
	for _, text := range []string{"first\nsec", "ond\r\n", "\r 10%|#| 1/10 [a]", "\r 20%|#| 2/10 [b]", "\rdone\x1b[K\n", "last"} {
		s.Write(text)
	}
	if got := s.Text(); got != "first\nsecond\ndone\nlast" {
		t.Errorf("shown %q", got)
	}
	if s.bar == nil || s.bar.N != 2 || s.LastLine() != "last" {
		t.Errorf("bar %+v, last line %q", s.bar, s.LastLine())
	}
	if got := s.DrainOutput(); got != "first\nsecond\ndone\n" {
		t.Errorf("news %q", got)
	}
	if got := s.DrainOutput(); got != "" {
		t.Errorf("told twice: %q", got)
	}
}

func FuzzScreen(f *testing.F) {
	f.Add("a\r 10%|#| 1/10 [a]\nb", "é\x1b[31m\r\r\n")
	f.Add(strings.Repeat("x", 3*MaxTail), "\n")
	f.Fuzz(func(t *testing.T, a, b string) {
		var s Screen
		for range 3 {
			s.Write(a)
			s.Write(b)
		}
		if len(s.Text()) > MaxTail || len(s.news) > 2*MaxTail || len(s.line) > maxLine+len(a)+len(b) || !utf8.ValidString(s.Text()+s.LastLine()+s.DrainOutput()) {
			t.Errorf("tail %d, news %d, line %d bytes, or no text", len(s.Text()), len(s.news), len(s.line))
		}
	})
}

func TestWhatIsForATerminalIsLeftOut(t *testing.T) {
	var s Screen
	s.Write("\x1b[1;31mred\x1b[0m \x1b]52;c;aGk=\n\x1b]0;title\x07\u202ex\x1b\n\x1bPno end")
	if got, last := s.Text(), s.LastLine(); got != "red \nx\n" || last != "x" {
		t.Errorf("it is %q, and at last %q", got, last)
	}
}
