package guestapi

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for text, want := range map[string]float64{
		"": 0, "3": 3, "1.5": 1.5, "-1": 0, "NaN": 0, "Inf": maxWait, "1e300": maxWait, "soon": 0,
		now.Add(90 * time.Second).Format(http.TimeFormat): 90, now.Add(-time.Hour).Format(http.TimeFormat): 0,
		now.AddDate(9, 0, 0).Format(http.TimeFormat): maxWait,
	} {
		if got := RetryAfter(Header{"Retry-After": {text}}, now); got != want {
			t.Errorf("%q: %v, not %v", text, got, want)
		}
	}
}

func FuzzProblem(f *testing.F) {
	for _, seed := range []string{`{"error":{"code":"x","message":"y"}}`, `{"errors":[["a"]]}`, "\xff\x00 text", `{"error":{"error":{"error":{"error":{"error":{}}}}}}`, `null`} {
		f.Add([]byte(seed), "1")
	}
	f.Fuzz(func(t *testing.T, body []byte, after string) {
		said, _ := parseProblem(body)
		if strings.ContainsAny(said, "\n\r\x00\x1b") || len([]rune(said)) > maxLine+1 {
			t.Errorf("%q is not one short line", said)
		}
		if s := RetryAfter(Header{"Retry-After": {after}}, time.Unix(0, 0)); !(s >= 0 && s <= maxWait) {
			t.Errorf("%q: %v", after, s)
		}
	})
}
