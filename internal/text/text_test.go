package text_test

import (
	"testing"

	"github.com/seer-engine/seer/internal/text"
)

func TestText(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1500: "1.5 kB", 2_000_000: "2.0 MB", 3e18: "3000.0 PB"} {
		if got := text.Bytes(n); got != want {
			t.Errorf("%d bytes: %s, not %s", n, got, want)
		}
	}
	if one, two := text.Plural(1, "file"), text.Plural(2, "file"); one != "1 file" || two != "2 files" {
		t.Errorf("%s, %s", one, two)
	}
}

func TestDuration(t *testing.T) {
	for want, seconds := range map[string]float64{
		"0 s": -1, "1 s": 0.2, "59 s": 59, "2 min": 120, "2 min 30 s": 149.5, "12 min": 750, "1 h": 3610, "1 h 1 min": 3660,
	} {
		if got := text.Duration(seconds); got != want {
			t.Errorf("%v s: %q, want %q", seconds, got, want)
		}
	}
}

func TestWait(t *testing.T) {
	for want, wait := range map[string]struct {
		seconds float64
		queue   string
	}{
		"": {}, "3 jobs wait": {0, "3 jobs wait"}, "~12 min": {720, ""}, "~12 min (3 jobs wait)": {720, "3 jobs wait"},
	} {
		if got := text.Wait(wait.seconds, wait.queue); got != want {
			t.Errorf("%+v: %q, want %q", wait, got, want)
		}
	}
}
