// Command install-runsc does what `seer doctor --fix` does for gVisor, for scripts/setup:
// install-runsc DIR builds DIR/runsc.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/seer-engine/seer/engine/isolation"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: install-runsc DIR")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := isolation.InstallGVisor(ctx, os.Args[1], os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "install-runsc:", err)
		os.Exit(1)
	}
}
