package callproxy

import "testing"

func TestCrowded(t *testing.T) {
	for _, c := range []struct {
		total, free, n uint64
		want           bool
	}{
		{64 << 30, 10 << 30, 1 << 20, false},
		{64 << 30, 256<<20 + 1<<20, 1 << 20, false},
		{64 << 30, 256<<20 + 1<<20 - 1, 1 << 20, true},
		{1 << 30, 100 << 20, 1 << 20, false}, // a small disk
		{1 << 30, 50 << 20, 1 << 20, true},
		{1 << 30, 0, 0, true},
	} {
		if got := crowded(c.total, c.free, c.n); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
