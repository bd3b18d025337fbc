package protocol

import (
	"testing"
	"time"
)

// TestEndOfALease is the same for a machine whose clock is another one.
func TestEndOfALease(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000, 0)
	for _, c := range []struct{ end, machine, want int64 }{
		{1_000_060, 1_000_000, 1_000_060}, {900_060, 900_000, 1_000_060}, {1_100_060, 1_100_000, 1_000_060},
		{1_000_060, 0, 1_000_060}, // an older runtime
	} {
		if got := (Lease{EndUnix: c.end, NowUnix: c.machine}).Ends(now); got.Unix() != c.want {
			t.Errorf("%+v: %d", c, got.Unix())
		}
	}
}
