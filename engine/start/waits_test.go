package start

import (
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/experiment"
)

// The caller's time is stronger than that of the experiment. One without a limit is for the whole
// start, so that the first queue does not keep all others from their turn.
func TestWhichMaxWaitHolds(t *testing.T) {
	t.Parallel()
	const forever = 100 * 365 * 24 * time.Hour
	for _, c := range []struct{ said, file, all, each time.Duration }{
		{},
		{file: time.Hour, all: time.Hour, each: time.Hour},
		{said: time.Minute, all: time.Minute, each: time.Minute},
		{said: time.Minute, file: time.Hour, all: time.Minute, each: time.Minute},
		{said: forever, all: forever},
		{said: forever, file: time.Hour, all: forever, each: time.Hour},
	} {
		exp := &experiment.Experiment{Sandbox: experiment.Sandbox{MaxWait: c.file}}
		if all, each := (CheckOptions{MaxWait: c.said}).waits(exp); all != c.all || each != c.each {
			t.Errorf("%+v: %v, %v", c, all, each)
		}
	}
}
