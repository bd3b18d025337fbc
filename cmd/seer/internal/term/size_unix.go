//go:build unix

package term

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"
)

// FollowSize tells of each new size of this terminal until ctx ends.
func (t *Terminal) FollowSize(ctx context.Context, tell func(rows, cols int)) {
	changed := make(chan os.Signal, 1)
	signal.Notify(changed, syscall.SIGWINCH)
	defer signal.Stop(changed)
	for {
		select {
		case <-ctx.Done():
			return
		case <-changed:
			if cols, rows, err := term.GetSize(int(t.In.Fd())); err == nil {
				tell(rows, cols)
			}
		}
	}
}
