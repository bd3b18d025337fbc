package retry

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestBackoffGrowsToItsMaximum(t *testing.T) {
	b := Backoff{Min: 20 * time.Millisecond, Max: time.Second}
	for range 2 {
		for _, want := range []time.Duration{20, 40, 80, 160, 320, 640, 1000, 1000} {
			want *= time.Millisecond
			if got := b.Next(); got > want || got < want/2 {
				t.Errorf("the pause is %v, want %v or up to half of it less", got, want)
			}
		}
		b.Reset()
	}
}

func TestSleepEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	if err := Sleep(ctx, 0); err != nil {
		t.Error(err)
	}
	cancel()
	if err := Sleep(ctx, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
	if err := (&Backoff{Min: time.Hour, Max: time.Hour}).Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
}
