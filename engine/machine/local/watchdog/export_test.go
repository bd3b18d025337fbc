package watchdog

import (
	"context"
	"io"
	"time"
)

// MainWith is [Main] that looks once in a while and gives a machine up after that many
// looks without an answer; 0 = never.
func MainWith(dir string, ready io.Writer, look time.Duration, silent int) int {
	l := limits{grace: 10 * time.Second, saving: time.Minute, look: look, silent: silent, answer: 5 * look}
	if silent == 0 {
		l.silent = 1 << 30
	}
	w := newWatchdog(dir, l)
	if w.run(context.Background(), ready) != nil {
		return 1
	}
	return 0
}
