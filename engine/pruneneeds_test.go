package engine

import (
	"testing"
	"time"
)

// What a running sandbox may have begun with, and what saved processes may need, stays.
func TestNeededByTime(t *testing.T) {
	t.Parallel()
	day := func(n int) time.Time { return time.Unix(int64(n)*86400, 0) }
	for _, tc := range []struct {
		name         string
		since, until time.Time
		last, made   time.Time
		needed       bool
	}{
		{"nothing runs", time.Time{}, time.Time{}, day(1), day(1), false},
		{"used before the sandbox began", day(5), time.Time{}, day(4), day(1), false},
		{"used when it began", day(5), time.Time{}, day(5), day(1), true},
		{"made after the processes were saved", time.Time{}, day(5), day(7), day(6), false},
		{"there when they were saved", time.Time{}, day(5), day(7), day(5), true},
		{"nobody knows when it was made", time.Time{}, day(5), day(7), time.Time{}, true},
	} {
		n := needs{since: tc.since, until: tc.until}
		if got := n.time(kept{last: tc.last, made: tc.made}); got != tc.needed {
			t.Errorf("%s: %v", tc.name, got)
		}
	}
}
