// Command session uses a whole sandbox from Go: commands, files, a notebook, snapshots,
// forks and the way back to it. docs/embedding.md explains it. After `make build`, in
// Seer's folder:
//
//	go run ./examples/session -isolation gvisor    # or bubblewrap, which has no forks
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/event/eventtext"
	"github.com/seer-engine/seer/engine/experiment"
)

const text = `
name: session
sandbox:
  execution_mode: notebook
  provider: local
  network: none
  timeout: 30m
workspace:
  init: answer = 42               # a cell of every kernel, before anybody uses it
`

func main() {
	bin := flag.String("bin", "bin", "the folder with Seer's runtime and plugins")
	isolation := flag.String("isolation", "auto", "bubblewrap or gvisor; auto takes the best there is")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *bin, *isolation); err != nil {
		fmt.Fprintf(os.Stderr, "session: %s: %v\n", engine.KindOf(err), err)
		os.Exit(1)
	}
}

func run(ctx context.Context, bin, isolation string) (err error) {
	e, err := engine.New(engine.Options{
		ArtifactsDir: filepath.Join(bin, "runtime"),
		PluginDirs:   []string{filepath.Join(bin, "plugins")},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	exp, err := experiment.Parse([]byte(text), "session.yaml", experiment.LoadOptions{Set: []string{"sandbox.isolation=" + isolation}})
	if err != nil {
		return err
	}
	lab, err := e.Up(ctx, exp, engine.UpOptions{Attached: time.Minute, Progress: tell})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end(ctx, lab)) }()
	if err := use(ctx, lab); err != nil {
		return err
	}
	session, err := work(ctx, lab)
	if err != nil {
		return err
	}
	if err := again(ctx, e, exp, lab); err != nil {
		return err
	}
	if err := forks(ctx, e, lab, session); err != nil {
		return err
	}
	if err := bring(ctx, lab); err != nil {
		return err
	}
	return back(ctx, e, lab)
}

// tell shows progress as the program seer does.
func tell(e engine.Event) {
	if e.Kind() != event.KindCopied { // which is for a bar that moves
		fmt.Fprintf(os.Stderr, "%s: %s\n", e.Stage(), eventtext.Sentence(e))
	}
}

// end ends a sandbox also when ctx, for which everything else was done, is over.
func end(ctx context.Context, s *engine.Sandbox) error {
	return errors.Join(s.Terminate(context.WithoutCancel(ctx)), s.Close())
}
